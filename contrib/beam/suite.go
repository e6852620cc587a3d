package evalbeam

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/scorers"
)

// Suite is a suite file, as workers get it. The zero value takes the scores that recordings
// carry.
type Suite struct {
	// Name is the name of the file. Errors contain it. Programs that score run in its folder, which
	// must exist on each worker.
	Name string
	Text []byte
	// AllowPrograms lets the suite start programs, with part of the environment of the worker.
	AllowPrograms bool
}

// withPrograms returns a suite that may name programs. Reading its files starts none.
func (s Suite) withPrograms() Suite {
	s.AllowPrograms = true
	return s
}

func (s Suite) parse() (*evals.Suite, error) {
	if s.Name == "" {
		return &evals.Suite{}, nil
	}
	m := &scorers.Maker{Folder: filepath.Dir(s.Name)}
	if s.AllowPrograms {
		m.Environ = append([]string{}, os.Environ()...) //nolint:forbidigo // the worker has no command line of its own
	}
	return evals.ParseSuite(s.Name, s.Text, m.Parse)
}

// Open opens a suite or recordings, as `looptape eval score` does: a single name of a suite file
// gives that suite and the files that it names, sorted. Other names are recordings.
func Open(ctx context.Context, names []string) (suite Suite, files []string, err error) {
	if len(names) != 1 {
		return Suite{}, names, nil
	}
	err = on(ctx, names[0], func(fs filesystem.Interface) error {
		text, err := head(ctx, fs, names[0])
		if err != nil || !evals.IsSuite(text) {
			files = names
			return err
		}
		suite = Suite{Name: names[0], Text: text}
		files, err = suite.files(ctx, fs)
		return err
	})
	return suite, files, err
}

// largest is how long a suite file may be, in bytes.
const largest = 1 << 20

// head returns the beginning of a file, more than a suite may have.
func head(ctx context.Context, fs filesystem.Interface, name string) ([]byte, error) {
	f, err := fs.OpenRead(ctx, name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, largest+1))
	return text, errors.Join(err, f.Close())
}

func (s Suite) files(ctx context.Context, fs filesystem.Interface) (names []string, err error) {
	if len(s.Text) > largest {
		return nil, fmt.Errorf("%s: the suite is larger than a megabyte", s.Name)
	}
	suite, err := s.withPrograms().parse()
	if err != nil {
		return nil, err
	}
	for _, pattern := range suite.Runs {
		found, err := fs.List(ctx, sibling(s.Name, pattern))
		if err != nil {
			return nil, fmt.Errorf("%s: runs: %s: %w", s.Name, pattern, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: runs: %s not found in the folder of the suite", s.Name, pattern)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// on does something on the filesystem that has the file of this name.
func on(ctx context.Context, name string, do func(filesystem.Interface) error) error {
	fs, err := filesystem.New(ctx, name)
	if err != nil {
		return err
	}
	return errors.Join(do(fs), fs.Close())
}

// sibling returns the name of another file in the folder of a file.
func sibling(file, name string) string {
	scheme, rest, remote := strings.Cut(file, "://")
	if !remote {
		return filepath.Join(filepath.Dir(file), name)
	}
	return scheme + "://" + path.Join(path.Dir(rest), name)
}
