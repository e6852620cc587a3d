//go:build unix

package cassettes_test

import (
	"syscall"
	"testing"
)

// A new cassette has the permissions that the umask allows.
func TestReplaceUmask(t *testing.T) {
	was := syscall.Umask(0o077)
	defer syscall.Umask(was)
	TestReplace(t)
}
