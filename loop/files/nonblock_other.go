//go:build !unix

package files

// nonblock is nothing where opening a pipe does not wait.
const nonblock = 0
