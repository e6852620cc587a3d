//go:build unix

package cassettes_test

import (
	"syscall"
	"testing"
)

// Who keeps new files from others keeps cassettes from them.
func TestReplaceUmask(t *testing.T) {
	was := syscall.Umask(0o077)
	defer syscall.Umask(was)
	TestReplace(t)
}
