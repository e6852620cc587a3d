package files

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"sync"
	"syscall"
)

// Disk is a [Backend] below one directory of a disk. No operation leaves that directory,
// neither by a path nor by a link, even if another program creates the link during the
// operation. Links are followed as long as they stay below the directory. A file is never
// written through a link.
//
// A write replaces a file atomically with a new inode: readers see the old text or the new
// text, and hard links keep the old text. List omits entries that are neither files nor
// directories, and links that are broken or lead outside. Disk cannot prevent changes by other
// programs below the directory, such as mounts.
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
func (d *Disk) List(dir string) ([]Entry, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p, err := clean(dir)
	if err != nil {
		return nil, fail("list", dir, err)
	}
	f, info, err := d.open(p)
	if err != nil {
		return nil, fail("list", dir, err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	if !info.IsDir() {
		return nil, fail("list", dir, ErrNotDir)
	}
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, fail("list", dir, told(err))
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
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
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

// Read implements Backend.
func (d *Disk) Read(name string) (string, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p, err := cleanFile(name)
	if err != nil {
		return "", fail("read", name, err)
	}
	text, err := d.read(p)
	return text, fail("read", name, err)
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
	if err := fit(string(data)); err != nil {
		return "", err
	}
	return string(data), nil
}

// Write implements Backend.
func (d *Disk) Write(name, text string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, err := cleanFile(name)
	if err == nil {
		err = d.put(p, text)
	}
	return fail("write", name, err)
}

func (d *Disk) put(p, text string) error {
	if err := fit(text); err != nil {
		return err
	}
	if err := d.root.MkdirAll(path.Dir(p), 0o777); err != nil {
		return told(err)
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

// Edit implements Backend.
func (d *Disk) Edit(name string, change func(text string) (string, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, err := cleanFile(name)
	if err != nil {
		return fail("edit", name, err)
	}
	text, err := d.read(p)
	if err == nil {
		text, err = change(text)
	}
	if err == nil {
		err = d.put(p, text)
	}
	return fail("edit", name, err)
}

// Mkdir implements Backend.
func (d *Disk) Mkdir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, err := clean(dir)
	if err == nil {
		err = told(d.root.MkdirAll(p, 0o777))
	}
	return fail("mkdir", dir, err)
}
