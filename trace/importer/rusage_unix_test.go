//go:build unix

package importer_test

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of this process so far, the garbage collector
// included.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
