//go:build !unix

package files_test

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
