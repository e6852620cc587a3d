package files

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"sync"
	"syscall"
)

// Disk is a [Backend] below one directory of a disk. No operation leaves that directory,
// neither by a path nor by a link, even if another program creates the link during the
// operation. Links are followed as long as they stay below the directory, but a file is never
// written through a link.
//
// A write replaces a file atomically with a new inode, so hard links keep the old text. List
// omits entries that are neither files nor directories, and links that are broken or lead
// outside. Disk cannot prevent changes by other programs below the directory, such as mounts.
type Disk struct {
	root *os.Root
	mu   sync.RWMutex
	n    int // for names of temporary files
}

// OpenDisk opens a directory. The caller must close the Disk after use.
func OpenDisk(dir string) (*Disk, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("files: opening the directory that files are kept in: %w", err)
	}
	return &Disk{root: root}, nil
}

// Close releases the directory; the files stay.
func (d *Disk) Close() error { return d.root.Close() }

// List implements Backend.
func (d *Disk) List(dir string) ([]Entry, error) { return list(d.mu.RLocker(), d, dir) }

// Read implements Backend.
func (d *Disk) Read(name string) (string, error) { return read(d.mu.RLocker(), d, name) }

// Write implements Backend.
func (d *Disk) Write(name, text string) error { return write(&d.mu, d, name, text) }

// Edit implements Backend.
func (d *Disk) Edit(name string, change func(text string) (string, error)) error {
	return edit(&d.mu, d, name, change)
}

// Mkdir implements Backend.
func (d *Disk) Mkdir(dir string) error { return do(&d.mu, "mkdir", dir, clean, d.mkdir) }

func (d *Disk) mkdir(p string) error { return told(d.root.MkdirAll(p, 0o777)) }

func (d *Disk) list(p string) ([]Entry, error) {
	f, info, err := d.open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if !info.IsDir() {
		return nil, ErrNotDir
	}
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, told(err)
	}
	var list []Entry
	for _, name := range names {
		info, err := d.root.Stat(path.Join(p, name))
		switch {
		case err != nil:
		case info.IsDir():
			list = append(list, Entry{Name: name, Dir: true})
		case info.Mode().IsRegular():
			list = append(list, Entry{Name: name, Size: info.Size()})
		}
	}
	return list, nil
}

// open opens a path without blocking, even if the path is a pipe.
func (d *Disk) open(p string) (*os.File, fs.FileInfo, error) {
	f, err := d.root.OpenFile(p, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, told(err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(told(err), f.Close())
	}
	return f, info, nil
}

// told returns the error of the system without the path.
func told(err error) error {
	for e, ok := errors.AsType[*fs.PathError](err); ok; e, ok = errors.AsType[*fs.PathError](err) {
		err = e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fs.ErrNotExist
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return ErrNotDir
	case errors.Is(err, syscall.EISDIR):
		return ErrIsDir
	}
	return err
}

func (d *Disk) read(p string) (string, error) {
	f, info, err := d.open(p)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	switch {
	case info.IsDir():
		return "", ErrIsDir
	case !info.Mode().IsRegular():
		return "", ErrNotFile
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return "", told(err)
	}
	text := string(data)
	if err := fit(text); err != nil {
		return "", err
	}
	return text, nil
}

func (d *Disk) write(p, text string) error {
	if err := d.mkdir(path.Dir(p)); err != nil {
		return err
	}
	dir, err := d.root.OpenRoot(path.Dir(p)) // pin the directory: the path may change its target
	if err != nil {
		return told(err)
	}
	defer dir.Close() //nolint:errcheck // it was only looked into
	base := path.Base(p)
	mode := fs.FileMode(0)
	switch old, err := dir.Lstat(base); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return told(err)
	case old.IsDir():
		return ErrIsDir
	case !old.Mode().IsRegular():
		return ErrNotFile
	default:
		mode = old.Mode().Perm()
	}
	temp, err := d.temp(dir, text, mode)
	if err == nil {
		err = dir.Rename(temp, base)
	}
	if err != nil && temp != "" {
		err = errors.Join(told(err), dir.Remove(temp))
	}
	return err
}

// temp writes text to a new file with a temporary name. If mode is not 0, the file gets these
// permissions. The name is empty if the file was not created.
func (d *Disk) temp(dir *os.Root, text string, mode fs.FileMode) (name string, err error) {
	var f *os.File
	for {
		d.n++
		name = ".looptape-" + strconv.Itoa(d.n) + ".tmp"
		f, err = dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, cmp.Or(mode, 0o666)) // never readable by more users than the old file
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", told(err)
		}
	}
	_, err = f.WriteString(text)
	if mode != 0 && err == nil {
		err = f.Chmod(mode)
	}
	return name, errors.Join(err, f.Close())
}
