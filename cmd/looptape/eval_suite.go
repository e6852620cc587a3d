package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/trace/importer"
)

// runSet is a set of runs to score.
type runSet struct {
	evals.Options

	names  []string     // of files and folders
	suite  *evals.Suite // which names them; nil if the command line does
	folder string       // of the suite file
}

// score scores the runs of files and folders, which are rows if there is a mapping, or
// those of a suite.
func (w *world) score(ctx context.Context, names []string, rows *importer.Mapping) (*evals.Result, error) {
	set, err := setOf(names, rows)
	if err != nil {
		return nil, err
	}
	return w.scoreSet(ctx, set)
}

// setOf tells a suite from recordings.
func setOf(names []string, rows *importer.Mapping) (*runSet, error) {
	set := &runSet{Options: evals.Options{Rows: rows}, names: names}
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
		return nil, fmt.Errorf("%s: a suite says under rows what is where; leave out the flags for rows", names[0])
	}
	set.folder = filepath.Dir(names[0])
	s, err := evals.ParseSuite(names[0], text, (&scorers.Maker{Folder: set.folder}).Parse)
	if err != nil {
		return nil, err
	}
	set.suite, set.Options = s, s.Options
	if set.names, err = s.Match(os.DirFS(set.folder)); err != nil {
		return nil, fmt.Errorf("%s: %w", names[0], err)
	}
	for i, name := range set.names {
		set.names[i] = filepath.Join(set.folder, name)
	}
	return set, nil
}

// readSuite reads a suite file; nil if it is none, or cannot be read, which reading it as a
// recording tells.
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
	switch err = closeAfter(f, err); {
	case err != nil || !evals.IsSuite(text):
		return nil, err
	case len(text) == most:
		return nil, errors.New(name + ": the suite is larger than a megabyte")
	}
	return text, nil
}

// scoreSet scores a set of runs.
func (w *world) scoreSet(ctx context.Context, set *runSet) (*evals.Result, error) {
	inputs, err := w.inputs(set)
	if err != nil {
		return nil, err
	}
	ctx, stop := w.interrupted(ctx) // so that no program outlives the command
	defer stop()
	return evals.ScoreFiles(ctx, inputs, &set.Options)
}

// inputs are the files of a set.
func (w *world) inputs(set *runSet) ([]evals.Input, error) {
	in := gatherer{meter: meter{w: w, start: w.now()}}
	for _, name := range set.names {
		if err := in.gather(name); err != nil {
			return nil, err
		}
	}
	in.meter.name = count(len(in.list), "file")
	set.Passed = func(name string) {
		complain(w, fmt.Errorf("%s: passed over, since it is no recording of runs", name))
	}
	return in.list, nil
}
