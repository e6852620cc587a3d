package tape

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/looptape/looptape/internal/lockfile"
)

// Replace puts a text in the place of a file at once: there is the old one or the new
// one, whatever breaks off. A file keeps its mode, and where a symbolic link stands, what
// it leads to is replaced. What is no regular file, such as a pipe, is written to. The
// error is ErrLocked if a recording of the file is going on.
func Replace(path string, text []byte) error {
	write := func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	}
	j, err := os.OpenFile(JournalPath(path), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return replace(path, randomName, write)
	}
	if err != nil {
		return err
	}
	if lockfile.Lock(j) == nil {
		err = replace(path, randomName, write)
	} else {
		err = fmt.Errorf("%s: %w", path, ErrLocked)
	}
	return errors.Join(err, j.Close())
}

// replace is Replace for who knows that no other recording is going on, with what names
// the file that takes the place of another.
func replace(path string, naming func(path string) (string, error), write func(io.Writer) error) error {
	var mode fs.FileMode // of the old file
	if info, err := os.Stat(path); err == nil {
		if mode = info.Mode(); !mode.IsRegular() {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			return errors.Join(write(f), f.Close())
		}
	}
	path = target(path)
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

// randomName is the name of no file, beside another one.
func randomName(path string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	return f.Name(), errors.Join(f.Close(), os.Remove(f.Name()))
}

// temporary creates a file of a mode; 0 is the mode of new files, which only the system
// knows (the umask).
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

// mostLinks is how many symbolic links are followed one behind the other.
const mostLinks = 40

// target is what a path leads to by symbolic links, whether that is there or not.
func target(path string) string {
	for range mostLinks {
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

// standing is a folder, or the nearest above it that is there.
func standing(folder string) string {
	for {
		above := filepath.Dir(folder)
		if _, err := os.Stat(folder); err == nil || above == folder {
			return folder
		}
		folder = above
	}
}

// syncFolders makes the names in a folder durable, and those in all above it up to one.
func syncFolders(folder, upTo string) error {
	for {
		if err := syncFolder(folder); err != nil || folder == upTo {
			return err
		}
		folder = filepath.Dir(folder)
	}
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every system can sync a folder
	return d.Close()
}
