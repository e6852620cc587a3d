//go:build !unix

package general

// nonblock opens a pipe without waiting for its other end.
const nonblock = 0
