package evals

import (
	_ "embed" // for the schema
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"

	"github.com/looptape/looptape/fake"
)

// Suite is what a suite file says: where runs are, how they are scored, and what they are
// held against.
type Suite struct {
	// Runs are the names of recordings, as patterns of [path.Match], below the folder of
	// the file.
	Runs []string
	// Options are how runs are scored.
	Options
	// Baseline is the name of its file, below the folder of the suite; empty if the suite
	// has none.
	Baseline string
	Gate     Gate
}

//go:embed schema/suite-v2.schema.json
var suiteSchema []byte

// SuiteSchema returns the JSON Schema (draft 2020-12) of a suite file. The caller owns what
// it gets.
func SuiteSchema() []byte { return slices.Clone(suiteSchema) }

// isSuite tells a suite file by its first key.
var isSuite = regexp.MustCompile(`^(?:\x{FEFF})?(?:[ \t]*(?:#[^\n]*)?\r?\n|---[ \t]*\r?\n)*suite[ \t]*:`)

// IsSuite reports whether a file is a suite, by its beginning.
func IsSuite(head []byte) bool { return isSuite.Match(head) }

// ParseSuite reads a suite file, which is YAML as [SuiteSchema] says. The name is for errors.
// All errors are returned together, each a *fake.SyntaxError with line and column.
func ParseSuite(name string, src []byte, scorers func(kind, metric string, settings json.RawMessage) (Scorer, error)) (*Suite, error) {
	options, err := fake.ParseOptions(name, src)
	if err != nil {
		return nil, err
	}
	r := &suiteReader{file: name, scorers: scorers, s: &Suite{Gate: Gate{Drop: DefaultDrop}}}
	if len(options) == 0 || options[0].Name != "suite" {
		r.errorf(fake.Pos{Line: 1, Col: 1}, "begin with suite: %d, which tells that the file is a suite", SuiteVersion)
	}
	r.members(options, "the suite", r.top())
	if err := r.s.Gate.check(); err != nil {
		r.errorf(r.gate, "gate: %v", err)
	}
	if r.s.Rows != nil && r.s.Names != nil {
		r.errorf(r.names, "names: rows say under rows what is where; move it there")
	}
	if len(r.s.Runs) == 0 && len(r.errs) == 0 {
		r.errorf(fake.Pos{Line: 1, Col: 1}, "the key runs is missing, which says where recordings are")
	}
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return r.s, nil
}

// Match returns the names of the recordings in the folder of the suite file, sorted. The
// error is for a pattern that nothing matches.
func (s *Suite) Match(folder fs.FS) ([]string, error) {
	var names []string
	for _, pattern := range s.Runs {
		found, err := fs.Glob(folder, pattern)
		if err != nil {
			return nil, fmt.Errorf("runs: %s: %w", pattern, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("runs: there is no %s in the folder of the suite", pattern)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
