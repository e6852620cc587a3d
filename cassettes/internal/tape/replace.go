package tape

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/looptape/looptape/internal/atomicfile"
	"github.com/looptape/looptape/internal/lockfile"
)

// Replace implements cassettes.Replace.
func Replace(path string, text []byte) error {
	write := func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	}
	j, err := atomicfile.Open(JournalPath(path), 0, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return atomicfile.Replace(path, 0, atomicfile.RandomName, write)
	}
	if err != nil {
		return err
	}
	if lockfile.Lock(j) == nil {
		err = atomicfile.Replace(path, 0, atomicfile.RandomName, write)
	} else {
		err = fmt.Errorf("%s: %w", path, ErrLocked)
	}
	return errors.Join(err, j.Close())
}
