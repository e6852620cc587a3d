// Package atomicfile replaces files so that a reader, or a program that starts after a crash, sees
// the old or the new content.
package atomicfile

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Private is the mode of a file that only its owner may use.
const Private fs.FileMode = 0o600

// Replace writes a new file with a mode and renames it to path when it is on disk. Mode 0 means that
// of the old file, or the default mode if there is none. Replace follows symbolic links. The
// function naming returns the name of the new file, which must not exist; see [RandomName]. After
// an error the file at path is the old or the new one. A path that is not a regular file, such as
// a pipe, is written to directly.
func Replace(path string, mode fs.FileMode, naming func(path string) (string, error), write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil {
		if mode = cmp.Or(mode, info.Mode()); !info.Mode().IsRegular() {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			return errors.Join(write(f), f.Close())
		}
	}
	path = Target(path)
	name, err := naming(path)
	if err != nil {
		return err
	}
	f, err := temporary(name, mode)
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return syncFolder(filepath.Dir(path))
}

// RandomName returns a new name in the folder of path.
func RandomName(path string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	return f.Name(), errors.Join(f.Close(), os.Remove(f.Name()))
}

// temporary creates a file. Mode 0 means the default mode, which depends on the umask.
func temporary(name string, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, cmp.Or(mode.Perm(), 0o666))
	if err != nil || mode == 0 {
		return f, err
	}
	if err := f.Chmod(mode); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(name))
	}
	return f, nil
}

const maxLinks = 40 // in a chain of symbolic links

// Target follows symbolic links. The target need not exist.
func Target(path string) string {
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				break
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return path
}

// ExistingFolder returns the folder or its nearest existing parent.
func ExistingFolder(folder string) string {
	for {
		above := filepath.Dir(folder)
		if _, err := os.Stat(folder); err == nil || above == folder {
			return folder
		}
		folder = above
	}
}

// SyncFolders writes the entries of a folder and of its parents up to upTo to disk.
func SyncFolders(folder, upTo string) error {
	for {
		if err := syncFolder(folder); err != nil || folder == upTo {
			return err
		}
		folder = filepath.Dir(folder)
	}
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = d.Sync() // not all systems can sync a folder
	return d.Close()
}
