// Package lockfile locks files for exclusive use by one process.
package lockfile
