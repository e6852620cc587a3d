//go:build !unix && !windows

package lockfile

import "os"

// Lock does nothing: this system cannot lock files.
func Lock(*os.File) error { return nil }

// Wait does nothing, as Lock.
func Wait(*os.File) error { return nil }
