package lockfile

import (
	"os"

	"golang.org/x/sys/windows"
)

// Lock takes a file for this process alone, until it is closed or the process ends. The
// byte that is locked is far behind the end of any file, since others could not read one
// that is in it.
func Lock(f *os.File) error {
	const most = ^uint32(0)
	at := &windows.Overlapped{Offset: most, OffsetHigh: most >> 1}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
}
