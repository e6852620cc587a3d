//go:build unix

package cassettes

import (
	"os"
	"syscall"
)

// lock takes a file for this process alone, until it is closed or the process ends.
func lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
