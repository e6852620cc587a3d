package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/internal/atomicfile"
	"github.com/looptape/looptape/trace/importer"
)

// runSet is a set of runs to score.
type runSet struct {
	evals.Options

	names  []string     // files and folders
	suite  *evals.Suite // nil if the command line names the files
	folder string       // of the suite file
	tag    string       // of the cases that count; empty means all
	// graders stay open until the runs are scored.
	graders graders
}

// setOf returns the set of runs of a suite or of files, with graders that may record.
func setOf(w *cli.World, names []string, rows *importer.Mapping, g graders, flags *rowFlags) (*runSet, error) {
	g.w = w
	set := &runSet{Options: evals.Options{Rows: rows, MissingAsZero: flags.zero}, names: names, tag: flags.tag, graders: g}
	var text []byte
	var err error
	if len(names) == 1 {
		text, err = readSuite(names[0])
	}
	switch {
	case err != nil:
		return nil, err
	case text == nil:
		err = set.join(w, flags.dataset)
		return set, err
	case flags.dataset != "" || flags.zero:
		return nil, fmt.Errorf("%s: the suite has its own keys dataset and missing_as_zero: set them there", names[0])
	case rows != nil:
		return nil, fmt.Errorf("%s: the suite has its own key rows: remove the flags for rows", names[0])
	}
	set.folder = filepath.Dir(names[0])
	set.graders.folder, set.graders.suite, set.graders.trusted, set.graders.hosts = set.folder, true, flags.allow, flags.hosts
	set.graders.recordCommand = "looptape eval score --record " + cli.ShellLine(names[0])
	set.graders.missingCommand = "looptape eval score --record=missing " + cli.ShellLine(names[0])
	maker := scorers.Maker{Folder: set.folder, Files: os.DirFS(set.folder), Environ: flags.environ(w), Variables: flags.programs.names, Grader: set.graders.open}
	parse := parseFunc(maker.Parse)
	if g.plan != nil {
		parse = g.plan.graded(parse)
	}
	s, err := evals.ParseSuite(names[0], text, parse)
	if err != nil {
		return nil, set.graders.close(err)
	}
	if err := s.ReadDataset(os.DirFS(set.folder)); err != nil {
		return nil, set.graders.close(err)
	}
	set.suite, set.Options = s, s.Options
	set.warnIgnored(w)
	if set.names, err = s.Match(os.DirFS(set.folder)); err != nil {
		return nil, set.graders.close(fmt.Errorf("%s: %w", names[0], err))
	}
	for i, name := range set.names {
		set.names[i] = filepath.Join(set.folder, name)
	}
	if s.Baseline != "" {
		if err := atomicfile.CheckInput(filepath.Join(set.folder, s.Baseline), os.Stat); err != nil {
			return nil, set.graders.close(fmt.Errorf("%s: baseline: %w", names[0], err))
		}
	}
	if !flags.allow {
		files := slices.Clone(set.names)
		for _, name := range []string{s.DatasetFile, s.Baseline} {
			if name != "" {
				files = append(files, filepath.Join(set.folder, name))
			}
		}
		if err := noLinksOut(set.folder, files...); err != nil {
			return nil, set.graders.close(fmt.Errorf("%s: %w", names[0], err))
		}
	}
	return set, nil
}

// noLinksOut returns an error if a file, or a file below a folder, is a link that leads out of the folder of a suite, or is
// in a folder that is one. The file need not exist: a command may create it.
func noLinksOut(folder string, names ...string) error {
	root, err := cli.RealPath(folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := filepath.WalkDir(name, func(at string, d fs.DirEntry, _ error) error {
			if at != name && d.Type()&fs.ModeSymlink == 0 {
				return nil
			}
			to, err := cli.RealPath(at)
			if err != nil {
				return err
			}
			if within, err := filepath.Rel(root, to); err != nil || !filepath.IsLocal(within) {
				return fmt.Errorf("%s is a link that leads out of the folder of the suite: copy the file, or add --allow-programs if you trust the suite", at)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// join reads the dataset of a command line.
func (s *runSet) join(w *cli.World, name string) error {
	if name == "" {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	s.Dataset, err = evals.ReadDataset(name, f)
	s.warnIgnored(w)
	return errors.Join(err, f.Close())
}

// warnIgnored names the members of the dataset that no scorer reads, unless the runs are read again.
func (s *runSet) warnIgnored(w *cli.World) {
	if s.Dataset != nil && s.graders.plan == nil && len(s.Dataset.Ignored) > 0 {
		w.Warn("the dataset has members that nothing reads: %s", strings.Join(s.Dataset.Ignored, ", "))
	}
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
	if err = set.graders.close(err); err != nil || set.tag == "" {
		return r, err
	}
	tags := r.Tags()
	if r = r.Tagged(set.tag); r.Rows.Len() == 0 {
		return nil, fmt.Errorf("--tag %s: no case has this tag; the tags are: %s", set.tag, cmp.Or(strings.Join(tags, ", "), "none, which a dataset would give"))
	}
	return r, nil
}

// inputs returns the files of a set except the cassettes of its graders and their journals.
func inputs(w *cli.World, set *runSet) ([]evals.Input, error) {
	files, _, err := w.Gather(set.names)
	if err != nil {
		return nil, err
	}
	var list []evals.Input
	for _, f := range files {
		if _, grader := set.graders.tapes[cassettes.FullPath(f.Name)]; !grader {
			list = append(list, evals.Input{Name: f.Name, Open: f.Open, Found: f.Folder != ""})
		}
	}
	if set.graders.plan == nil {
		set.Skipped = func(name string) { w.Warn("%s: skipped: not a recording of runs", name) }
	}
	return list, nil
}
