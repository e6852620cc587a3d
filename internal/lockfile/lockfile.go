// Package lockfile takes files for one process alone.
package lockfile
