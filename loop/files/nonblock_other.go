//go:build !unix

package files

// nonblock is 0 on systems where opening a pipe does not block.
const nonblock = 0
