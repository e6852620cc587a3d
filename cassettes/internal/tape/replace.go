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

// Replace implements cassettes.Replace.
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

// replace is Replace without the check for a recording. The function naming names the
// temporary file.
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

func randomName(path string) (string, error) {
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

// target follows symbolic links. The target need not exist.
func target(path string) string {
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

// existingFolder returns the folder or its nearest existing parent.
func existingFolder(folder string) string {
	for {
		above := filepath.Dir(folder)
		if _, err := os.Stat(folder); err == nil || above == folder {
			return folder
		}
		folder = above
	}
}

func syncFolders(folder, upTo string) error {
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
