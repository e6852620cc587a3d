// Package files stores the files that an agent works on: in a value, in memory, or on disk
// below one directory.
//
// A path is slash-separated and relative to the root, with or without a leading slash:
// "/notes/a.md" and "notes/a.md" are the same file, "/" and "." are the root. A path is
// rejected if it has an element "..", a backslash or a NUL, or is longer than [MaxPath] bytes.
// Files hold text: content that is not UTF-8 is neither written nor read.
//
// Each error is an [*Error] that wraps an error of this package, [fs.ErrNotExist] or a system
// error. It never contains the location of the files on disk.
package files

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// Backend stores files. Its methods are safe for use by many goroutines, and each call is
// atomic.
type Backend interface {
	// List returns the entries of a directory, sorted by name.
	List(dir string) ([]Entry, error)
	// Read returns the text of a file.
	Read(name string) (string, error)
	// Write replaces the text of a file. It creates the file and its parent directories if
	// they are missing.
	Write(name, text string) error
	// Edit replaces the text of a file with the result of change. If change returns an error,
	// the file stays as it is and the error of Edit wraps that error.
	Edit(name string, change func(text string) (string, error)) error
	// Mkdir creates a directory and its parents. An existing directory stays as it is.
	Mkdir(dir string) error
}

// Entry is a file or a directory in a listing.
type Entry struct {
	Name string
	Dir  bool
	Size int64 // in bytes; 0 for a directory
}

// MaxFile is the maximum size of a file in bytes, MaxPath that of a path.
const (
	MaxFile = 16 << 20
	MaxPath = 1024
)

// Errors that an [Error] wraps.
var (
	ErrPath     = errors.New("the path is not one of these files: it has an element \"..\", a backslash or a NUL")
	ErrLongPath = fmt.Errorf("the path has more than %d bytes", MaxPath)
	ErrIsDir    = errors.New("a directory, not a file")
	ErrNotDir   = errors.New("not a directory")
	ErrNotFile  = errors.New("neither a file nor a directory, or a link in place of one")
	ErrNotText  = errors.New("not text: not UTF-8")
	ErrTooLarge = fmt.Errorf("more than %d bytes", MaxFile)
)

// Error is a failed operation with its path.
type Error struct {
	Op   string // list, read, write, edit or mkdir
	Path string // as the caller gave it
	Err  error
}

// Error implements error.
func (e *Error) Error() string {
	name := e.Path
	if len(name) > MaxPath {
		name = strings.ToValidUTF8(name[:MaxPath], "") + "…"
	}
	return fmt.Sprintf("cannot %s %q: %v", e.Op, name, e.Err)
}

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// store is a Backend whose paths are clean and whose texts fit.
type store interface {
	list(p string) ([]Entry, error) // in any order
	read(p string) (string, error)
	write(p, text string) error
	mkdir(p string) error
}

// do runs an operation on a clean path under a lock. Its error is an Error.
func do(mu sync.Locker, op, name string, clean func(string) (string, error), f func(p string) error) error {
	mu.Lock()
	defer mu.Unlock()
	p, err := clean(name)
	if err == nil {
		err = f(p)
	}
	if err != nil {
		return &Error{op, name, err}
	}
	return nil
}

func list(mu sync.Locker, s store, dir string) (entries []Entry, err error) {
	err = do(mu, "list", dir, clean, func(p string) (err error) {
		entries, err = s.list(p)
		return err
	})
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name < entries[j].Name })
	return entries, err
}

func read(mu sync.Locker, s store, name string) (text string, err error) {
	err = do(mu, "read", name, cleanFile, func(p string) (err error) {
		text, err = s.read(p)
		return err
	})
	return text, err
}

func write(mu sync.Locker, s store, name, text string) error {
	return do(mu, "write", name, cleanFile, func(p string) error { return put(s, p, text) })
}

func put(s store, p, text string) error {
	if err := fit(text); err != nil {
		return err
	}
	return s.write(p, text)
}

func edit(mu sync.Locker, s store, name string, change func(text string) (string, error)) error {
	return do(mu, "edit", name, cleanFile, func(p string) error {
		text, err := s.read(p)
		if err == nil {
			text, err = change(text)
		}
		if err == nil {
			err = put(s, p, text)
		}
		return err
	})
}

// clean returns the path in the form of package fs: "." is the root.
func clean(name string) (string, error) {
	if len(name) > MaxPath {
		return "", ErrLongPath
	}
	if strings.ContainsAny(name, "\\\x00") || slices.Contains(strings.Split(name, "/"), "..") || !utf8.ValidString(name) {
		return "", ErrPath
	}
	if name = strings.TrimLeft(path.Clean(name), "/"); name == "" {
		return ".", nil
	}
	return name, nil
}

// cleanFile is clean for the path of a file.
func cleanFile(name string) (string, error) {
	p, err := clean(name)
	if err == nil && p == "." {
		err = ErrIsDir
	}
	return p, err
}

// fit returns an error if a file cannot hold the text.
func fit(text string) error {
	switch {
	case len(text) > MaxFile:
		return ErrTooLarge
	case !utf8.ValidString(text):
		return ErrNotText
	}
	return nil
}
