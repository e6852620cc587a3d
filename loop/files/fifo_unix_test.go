//go:build unix

package files_test

import "syscall"

func mkfifo(name string) error { return syscall.Mkfifo(name, 0o666) }
