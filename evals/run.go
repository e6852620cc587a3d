package evals

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
)

// testingT is the part of [testing.T] that Run needs.
type testingT[T any] interface {
	Helper()
	Context() context.Context
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Run(name string, f func(t T)) bool
}

// Run evaluates a suite as `looptape eval gate` does: one subtest per case, which fails for each
// finding. Findings about the mean of a metric and unreadable records fail t itself. The folder is that of the suite
// file, such as os.DirFS("testdata"). Patterns of the suite match files, not folders.
func Run[T testingT[T]](t T, s *Suite, folder fs.FS) {
	t.Helper()
	v, err := s.evaluate(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	means, cases := v.byTest()
	for _, metric := range slices.Sorted(maps.Keys(v.Metrics)) {
		for _, f := range means[metric] {
			t.Error(f.line())
		}
	}
	for _, u := range v.Unreadable {
		t.Error(u)
	}
	for _, name := range v.Cases {
		t.Run(name, func(t T) {
			for _, f := range cases[name] {
				t.Error(f.line())
			}
		})
	}
}

func (s *Suite) evaluate(ctx context.Context, folder fs.FS) (*GateResult, error) {
	if s.Baseline == "" {
		return nil, errors.New("the suite has no baseline: set baseline, and write it with looptape eval gate --update")
	}
	names, err := s.Match(folder)
	if err = cmp.Or(err, checkInput(folder, s.Baseline), s.ReadDataset(folder)); err != nil {
		return nil, err
	}
	var inputs []Input
	for _, name := range names {
		inputs = append(inputs, Input{Name: name, Open: func() (io.ReadCloser, error) { return folder.Open(name) }})
	}
	now, err := ScoreFiles(ctx, inputs, &s.Options)
	if err != nil {
		return nil, err
	}
	text, err := fs.ReadFile(folder, s.Baseline)
	if err != nil {
		return nil, err
	}
	base, err := ReadBaseline(s.Baseline, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return s.Gate.Evaluate(base, now)
}
