package evals

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"

	"github.com/looptape/looptape/fake"
)

// Suite is a suite file: the recordings, the scorers, the baseline and the gate.
type Suite struct {
	// Runs are names of recordings, or patterns of [path.Match], in the folder of the file.
	Runs []string
	// Options configure scoring.
	Options
	// Baseline is the name of the baseline in the folder of the suite; empty means none.
	Baseline string
	Gate     Gate
}

// isSuite matches the first key of a suite file.
var isSuite = regexp.MustCompile(`^(?:\x{FEFF})?(?:[ \t]*(?:#[^\n]*)?\r?\n|---[ \t]*\r?\n)*suite[ \t]*:`)

// IsSuite reports whether a file begins as a suite does.
func IsSuite(head []byte) bool { return isSuite.Match(head) }

// ParseSuite reads a suite file, YAML that matches the JSON Schema schema/suite-v2.schema.json. It reads version 1, too. The
// function scorers makes a scorer of a kind, such as Maker.Parse of package scorers; an empty
// metric means the name of the kind. ParseSuite joins all errors, each a [*fake.SyntaxError] with
// line and column.
func ParseSuite(name string, src []byte, scorers func(kind, metric string, settings json.RawMessage) (Scorer, error)) (*Suite, error) {
	options, err := fake.ParseOptions(name, src)
	if err != nil {
		return nil, err
	}
	r := &suiteReader{file: name, scorers: scorers, s: &Suite{Gate: Gate{Drop: DefaultDrop}}}
	if len(options) == 0 || options[0].Name != "suite" {
		r.errorf(fake.Pos{Line: 1, Col: 1}, "missing suite: %d: write it as the first key", SuiteVersion)
	}
	r.members(options, "the suite", r.top())
	if err := r.s.Gate.check(); err != nil {
		r.errorf(r.gate, "gate: %v", err)
	}
	if r.s.Rows != nil && r.s.Names != nil {
		r.errorf(r.names, "names: not allowed with rows: move the pointers to rows")
	}
	if len(r.s.Runs) == 0 && len(r.errs) == 0 {
		r.errorf(fake.Pos{Line: 1, Col: 1}, "missing key runs: list the recordings")
	}
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return r.s, nil
}

// Match returns the names of the recordings in the folder of the suite, sorted. It returns an
// error for a pattern without a match.
func (s *Suite) Match(folder fs.FS) ([]string, error) {
	var names []string
	for _, pattern := range s.Runs {
		found, err := fs.Glob(folder, pattern)
		if err != nil {
			return nil, fmt.Errorf("runs: %s: %w", pattern, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("runs: no file matches %s in the folder of the suite", pattern)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
