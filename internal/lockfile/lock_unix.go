//go:build unix

package lockfile

import (
	"errors"
	"os"
	"syscall"
)

// Lock locks a file for this process until the file is closed or the process ends.
func Lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// Wait locks a file as Lock does, after it waits for other processes. The file must not be closed
// in the meantime.
func Wait(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
