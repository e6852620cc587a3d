package lockfile

import (
	"os"

	"golang.org/x/sys/windows"
)

// Lock locks a file for this process until the file is closed or the process ends. It locks
// a byte after the end of any file, because other processes cannot read a locked byte.
func Lock(f *os.File) error { return lock(f, windows.LOCKFILE_FAIL_IMMEDIATELY) }

// Wait locks a file as Lock does, after it waits for other processes. The file must not be closed
// in the meantime.
func Wait(f *os.File) error { return lock(f, 0) }

func lock(f *os.File, flags uint32) error {
	const most = ^uint32(0)
	at := &windows.Overlapped{Offset: most, OffsetHigh: most >> 1}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|flags, 0, 1, 0, at)
}
