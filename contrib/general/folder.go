package general

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// folder is the working folder. os.Root keeps each operation in it.
type folder struct {
	root      *os.Root
	maxSearch time.Duration // of one search
}

var errNoPath = errors.New("the path leads out of the working folder: use a path below it, without \"..\"")

// clean returns a path in the form of package fs.
func clean(name string) (string, error) {
	if name == "" {
		return ".", nil
	}
	if strings.ContainsAny(name, "\x00") || path.IsAbs(name) || !fs.ValidPath(path.Clean(name)) {
		return "", fmt.Errorf("%q: %w", name, errNoPath)
	}
	return path.Clean(name), nil
}

// stat returns what is at a path. Links are followed within the folder.
func (f *folder) stat(name string) (p string, info fs.FileInfo, err error) {
	if p, err = clean(name); err != nil {
		return "", nil, err
	}
	info, err = f.root.Stat(p)
	return p, info, reason(name, err)
}

// maxFile limits the files that are read, in bytes.
const maxFile = 4 << 20

// text returns the text of a file.
func (f *folder) text(name string) (string, error) {
	p, err := clean(name)
	if err != nil {
		return "", err
	}
	data, err := f.read(p)
	switch {
	case err != nil:
		return "", reason(name, err)
	case isBinary(data):
		return "", fmt.Errorf("%q is not text", name)
	}
	return data, nil
}

var (
	errFolder    = errors.New("is a folder, not a file")
	errNotFile   = errors.New("is not a regular file")
	errLargeFile = fmt.Errorf("has more than %d bytes", maxFile)
)

// read returns the content of a regular file. It does not wait, even if the path is a pipe.
func (f *folder) read(p string) (string, error) {
	file, err := f.root.OpenFile(p, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", errFolder
	case !info.Mode().IsRegular():
		return "", errNotFile
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errLargeFile
	}
	return string(data), err
}

// reason returns an error for the model: without the place of the folder on disk.
func reason(name string, err error) error {
	for e, ok := errors.AsType[*fs.PathError](err); ok; e, ok = errors.AsType[*fs.PathError](err) {
		err = e.Err
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errFolder), errors.Is(err, errNotFile), errors.Is(err, errLargeFile):
		return fmt.Errorf("%q %w", name, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("there is no %q", name)
	case strings.Contains(err.Error(), "escapes"): // os.Root has no exported error for it
		return fmt.Errorf("%q: %w", name, errNoPath)
	}
	return fmt.Errorf("%q: %w", name, err)
}

// shown returns a path for the lines of a result. One with which a file could forge lines or notes is quoted: it has
// characters that do not print, or begins like a quoted path, an indentation or a note.
func shown(p string) string {
	switch {
	case !utf8.ValidString(p), strings.ContainsFunc(p, func(r rune) bool { return !strconv.IsPrint(r) }),
		strings.HasPrefix(p, `"`), strings.HasPrefix(p, " "), strings.HasPrefix(p, "[cut: "), strings.HasPrefix(p, "[incomplete: "):
		return strconv.Quote(p)
	}
	return p
}

// walk calls visit for at most limit files and folders below a path, in lexical order. It omits hidden ones and
// folders that cannot be read, and does not follow links. It reports whether there are more.
func (f *folder) walk(p string, limit int, visit func(p string, d fs.DirEntry) error) (more bool, err error) {
	n := 0
	err = fs.WalkDir(f.root.FS(), p, func(at string, d fs.DirEntry, err error) error {
		switch {
		case at == p:
			return err
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case err != nil:
			return fs.SkipDir
		case n == limit:
			more = true
			return fs.SkipAll
		}
		n++
		return visit(at, d)
	})
	return more, err
}
