//go:build unix

package files

import "syscall"

// nonblock makes the system open a pipe without blocking.
const nonblock = syscall.O_NONBLOCK
