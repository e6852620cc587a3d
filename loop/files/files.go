// Package files keeps the files that an agent works on: in a value, in memory, or
// on disk below one directory.
//
// A path is slash-separated, and counts from the top of the files, with or without a
// slash before it: "/notes/a.md" and "notes/a.md" are one file, "/" and "." are the
// top. A path with an element "..", a backslash or a NUL is refused, whatever it
// leads to, and so is one of more than MaxPath bytes. Files hold text: what is not UTF-8 is neither written nor read.
//
// Each error is an *Error whose cause is one of this package's, or fs.ErrNotExist,
// or what the system said. It never tells where on disk the files are.
package files

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Backend is where files are kept. Its methods may be called by many goroutines at
// once, and each call is done at once as far as the others see.
type Backend interface {
	// List returns what is directly in a directory, sorted by name.
	List(dir string) ([]Entry, error)
	// Read returns the text of a file.
	Read(name string) (string, error)
	// Write makes the text that of the file, which is made where it is missing, with
	// the directories that it takes.
	Write(name, text string) error
	// Edit gives the file the text that change makes of the one it has. An error of
	// change leaves it as it is, and is the Cause of Edit's.
	Edit(name string, change func(text string) (string, error)) error
	// Mkdir makes a directory, and those above it. One that is there is left as it is.
	Mkdir(dir string) error
}

// Entry is a file or a directory.
type Entry struct {
	Name string
	Dir  bool
	Size int64 // in bytes; 0 for a directory
}

// MaxFile is how many bytes a file may have, and MaxPath how many a path may.
const (
	MaxFile = 16 << 20
	MaxPath = 1024
)

// The causes of an Error.
var (
	ErrPath     = errors.New("the path is not one of these files: it has an element \"..\", a backslash or a NUL")
	ErrLongPath = fmt.Errorf("the path has more than %d bytes", MaxPath)
	ErrIsDir    = errors.New("it is a directory, not a file")
	ErrNotDir   = errors.New("it is, or leads through, what is no directory")
	ErrNotFile  = errors.New("it is neither a file nor a directory, or a link in place of one")
	ErrNotText  = errors.New("it is not text: not UTF-8")
	ErrTooLarge = fmt.Errorf("it has more than %d bytes", MaxFile)
)

// Error says what could not be done, and with which path.
type Error struct {
	Op   string // list, read, write, edit or mkdir
	Path string // as it was given
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

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fail makes err the Error of an operation; nil stays nil.
func fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{op, name, err}
}

// clean returns the path without what says nothing, as package fs has it: "." for
// the top.
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

// cleanFile is clean for what is to be a file.
func cleanFile(name string) (string, error) {
	p, err := clean(name)
	if err == nil && p == "." {
		err = ErrIsDir
	}
	return p, err
}

// fit reports why a text is not one that a file can hold.
func fit(text string) error {
	switch {
	case len(text) > MaxFile:
		return ErrTooLarge
	case !utf8.ValidString(text):
		return ErrNotText
	}
	return nil
}
