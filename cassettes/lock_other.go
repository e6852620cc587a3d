//go:build !unix

package cassettes

import "os"

// lock does nothing where the standard library cannot lock files: there, two
// recordings at once of one cassette are not refused.
func lock(*os.File) error { return nil }
