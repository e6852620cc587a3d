//go:build unix

package lockfile

import (
	"os"
	"syscall"
)

// Lock locks a file for this process until the file is closed or the process ends.
func Lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
