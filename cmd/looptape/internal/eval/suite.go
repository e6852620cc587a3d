package eval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/trace/importer"
)

// runSet is a set of runs to score.
type runSet struct {
	evals.Options

	names  []string     // files and folders
	suite  *evals.Suite // nil if the command line names the files
	folder string       // of the suite file
	// graders stay open until the runs are scored.
	graders graders
}

// setOf returns the set of runs of a suite or of files. With record, graders send requests.
func setOf(w *cli.World, names []string, rows *importer.Mapping, record bool, p *programs) (*runSet, error) {
	set := &runSet{Options: evals.Options{Rows: rows}, names: names, graders: graders{w: w, record: record}}
	if len(names) != 1 {
		return set, nil
	}
	text, err := readSuite(names[0])
	switch {
	case err != nil:
		return nil, err
	case text == nil:
		return set, nil
	case rows != nil:
		return nil, fmt.Errorf("%s: the suite has its own key rows: remove the flags for rows", names[0])
	}
	set.folder = filepath.Dir(names[0])
	set.graders.folder, set.graders.recordCommand = set.folder, "looptape eval score --record "+cli.ShellLine(names[0])
	maker := scorers.Maker{Folder: set.folder, Files: os.DirFS(set.folder), Environ: p.environ(w), Variables: p.names, Grader: set.graders.open}
	s, err := evals.ParseSuite(names[0], text, maker.Parse)
	if err != nil {
		return nil, set.graders.close(err)
	}
	set.suite, set.Options = s, s.Options
	if set.names, err = s.Match(os.DirFS(set.folder)); err != nil {
		return nil, set.graders.close(fmt.Errorf("%s: %w", names[0], err))
	}
	for i, name := range set.names {
		set.names[i] = filepath.Join(set.folder, name)
	}
	return set, nil
}

// readSuite reads a suite file. It returns nil if the file is not a suite or cannot be read;
// reading it as a recording then reports the error.
func readSuite(name string) ([]byte, error) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, nil //nolint:nilerr // see above
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(f, most))
	switch err = errors.Join(err, f.Close()); {
	case err != nil || !evals.IsSuite(text):
		return nil, err
	case len(text) == most:
		return nil, errors.New(name + ": the suite is larger than a megabyte")
	}
	return text, nil
}

// scoreSet scores a set of runs.
func scoreSet(ctx context.Context, w *cli.World, set *runSet) (*evals.Result, error) {
	inputs, err := inputs(w, set)
	if err != nil {
		return nil, set.graders.close(err)
	}
	ctx, stop := w.Interrupted(ctx) // no program outlives the command
	defer stop()
	defer context.AfterFunc(ctx, stop)() // a second signal ends the command at once
	r, err := evals.ScoreFiles(ctx, inputs, &set.Options)
	return r, set.graders.close(err)
}

// inputs returns the files of a set except the cassettes of its graders.
func inputs(w *cli.World, set *runSet) ([]evals.Input, error) {
	files, _, err := w.Gather(set.names)
	if err != nil {
		return nil, err
	}
	var list []evals.Input
	for _, f := range files {
		if set.graders.tapes[cassettes.FullPath(f.Name)] == nil {
			list = append(list, evals.Input{Name: f.Name, Open: f.Open, Found: f.Folder != ""})
		}
	}
	set.Skipped = func(name string) {
		w.Warn("%s: skipped: not a recording of runs", name)
	}
	return list, nil
}
