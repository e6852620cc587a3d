// Package atomicfile writes files for users. It replaces a file so that a reader, or a program that
// starts after a crash, sees the old or the new content.
package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Private is the mode of a file that only its owner may use.
const Private fs.FileMode = 0o600

// Replace writes a new file with a mode and renames it to path when it is on disk. Mode 0 means that
// of the old file, or the default mode if there is none. Replace follows symbolic links. The
// function naming returns the name of the new file, which must not exist; see [RandomName]. After
// an error the file at path is the old or the new one. It returns an error, without calling write, if
// path is not a regular file.
func Replace(path string, mode fs.FileMode, naming func(path string) (string, error), write func(io.Writer) error) error {
	old, err := check(path)
	if err != nil {
		return err
	}
	path = Target(path)
	name, err := naming(path)
	if err != nil {
		return err
	}
	f, err := temporary(name, cmp.Or(mode, old))
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

// Check returns an error if path exists and is not a regular file, such as a folder, a pipe or a
// device. It follows symbolic links. A command calls it before its work.
func Check(path string) error {
	_, err := check(path)
	return err
}

// check returns the mode of the file, or 0 if there is none.
func check(path string) (fs.FileMode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, nil //nolint:nilerr // writing reports it
	}
	return info.Mode(), regular("write", path, info)
}

// CheckInput returns an error for a file that stat finds and that is neither a regular file nor a folder,
// such as a named pipe: opening it may never end.
func CheckInput(path string, stat func(string) (fs.FileInfo, error)) error {
	info, err := stat(path)
	if err != nil || info.IsDir() {
		return nil //nolint:nilerr // reading reports it
	}
	return regular("read", path, info)
}

func regular(op, path string, info fs.FileInfo) error {
	kind := "not a regular file"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		kind = "a folder"
	case mode&fs.ModeSymlink != 0:
		kind = "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	}
	instead := "a regular file or a new one"
	if op == "read" {
		instead = "a regular file"
	}
	return &fs.PathError{Op: op, Path: path, Err: fmt.Errorf("it is %s: name %s", kind, instead)}
}

// Open opens a regular file for reading and writing. It does not follow a symbolic link at the end
// of path. The flag is 0, [os.O_CREATE], [os.O_APPEND] or both. The mode is that of a new file; 0
// means the default mode.
func Open(path string, flag int, mode fs.FileMode) (*os.File, error) {
	for range maxTries { // other processes may create and remove the file meanwhile
		info, err := os.Lstat(path)
		if err != nil && (!errors.Is(err, fs.ErrNotExist) || flag&os.O_CREATE == 0) {
			return nil, err
		}
		if err != nil {
			f, err := os.OpenFile(path, os.O_RDWR|os.O_EXCL|flag, cmp.Or(mode, 0o666))
			if !errors.Is(err, fs.ErrExist) {
				return f, err
			}
			continue
		}
		if err := regular("open", path, info); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(path, os.O_RDWR|flag&^os.O_CREATE, 0)
		if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		if opened, err := f.Stat(); err == nil && os.SameFile(opened, info) {
			return f, nil
		}
		_ = f.Close() // nothing was written
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("another program replaces the file again and again")}
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

const (
	maxLinks = 40 // in a chain of symbolic links
	maxTries = 40 // to open a file that other processes replace
)

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

// Create writes a new file below root, and the folders of its name. A reader sees the whole file or none, and no
// link leads out of root. The error is [fs.ErrExist] if there is a file, a folder or a link of this name.
func Create(root *os.Root, name string, text []byte) error {
	if _, err := root.Lstat(name); err == nil {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	folder := path.Dir(filepath.ToSlash(name))
	if err := root.MkdirAll(folder, 0o777); errors.Is(err, fs.ErrExist) {
		return &fs.PathError{Op: "create", Path: name, Err: fmt.Errorf("%s is not a folder", folder)}
	} else if err != nil {
		return err
	}
	temporary, f, err := createTemporary(root, name)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = root.Link(temporary, name) // which replaces nothing
		if _, missing := root.Lstat(name); err != nil && missing != nil {
			if err = root.Rename(temporary, name); err == nil { // a file system without links
				return syncFolder(filepath.Join(root.Name(), folder))
			}
		}
	}
	err = errors.Join(err, root.Remove(temporary))
	if err == nil {
		err = syncFolder(filepath.Join(root.Name(), folder))
	}
	return err
}

// createTemporary creates a file next to name, under the first free name.
func createTemporary(root *os.Root, name string) (temporary string, f *os.File, err error) {
	for i := range maxTries {
		temporary = fmt.Sprintf("%s.%d.tmp", name, i)
		f, err = root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return temporary, f, err
}
