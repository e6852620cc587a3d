package evals

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/atomicfile"
	"github.com/looptape/looptape/internal/suggest"
	"github.com/looptape/looptape/trace/importer"
)

// Suite is a suite file: the recordings, the scorers, the baseline and the gate.
type Suite struct {
	// Runs are names of recordings, or patterns of [path.Match], in the folder of the file.
	Runs []string
	// DatasetFile is the name of the dataset in the folder of the suite; empty means none. ReadDataset reads
	// it.
	DatasetFile string
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

// ParseSuite reads a suite file, YAML that matches the JSON Schema schema/suite-v2.schema.json. It
// reads version 1, too. The function scorers makes a scorer of a kind, such as Maker.Parse of
// package scorers; an empty metric means the name of the kind. ParseSuite joins all errors, each a
// [*fake.SyntaxError] with line and column.
func ParseSuite(name string, src []byte, scorers func(kind, metric string, settings json.RawMessage) (Scorer, error)) (*Suite, error) {
	options, err := fake.ParseOptions(name, src)
	if err != nil {
		return nil, err
	}
	r := &suiteReader{file: name, scorers: scorers, s: &Suite{Gate: Gate{Drop: DefaultDrop}}}
	if len(options) == 0 || options[0].Name != "suite" {
		r.errorf(fake.Pos{Line: 1, Col: 1}, "missing suite: %d: write it as the first key", SuiteVersion)
	}
	r.object(fake.Value{Kind: fake.Map, Fields: options}, "the suite", r.top())
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
		for _, name := range found {
			if err := checkInput(folder, name); err != nil {
				return nil, fmt.Errorf("runs: %w", err)
			}
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// checkInput returns an error for a file such as a named pipe.
func checkInput(folder fs.FS, name string) error {
	return atomicfile.CheckInput(name, func(name string) (fs.FileInfo, error) { return fs.Stat(folder, name) })
}

// ReadDataset reads the dataset, if the suite has one, for [ScoreFiles]. The folder is that of the suite.
func (s *Suite) ReadDataset(folder fs.FS) error {
	if s.DatasetFile == "" {
		return nil
	}
	if err := checkInput(folder, s.DatasetFile); err != nil {
		return fmt.Errorf("dataset: %w", err)
	}
	f, err := folder.Open(s.DatasetFile)
	if err != nil {
		return fmt.Errorf("dataset: %w", err)
	}
	s.Dataset, err = ReadDataset(s.DatasetFile, f)
	return errors.Join(err, f.Close())
}

// suiteReader reads a suite file and collects its errors.
type suiteReader struct {
	file    string
	scorers func(kind, metric string, settings json.RawMessage) (Scorer, error)
	s       *Suite
	version int
	errs    []error
	// names and gate are the positions of these keys.
	names, gate fake.Pos
}

// setters read the values of keys.
type setters map[string]func(fake.Value)

func (r *suiteReader) errorf(at fake.Pos, format string, args ...any) {
	r.errs = append(r.errs, &fake.SyntaxError{File: r.file, Line: at.Line, Col: at.Col, Msg: fmt.Sprintf(format, args...)})
}

func (r *suiteReader) top() setters {
	return setters{
		"suite": func(v fake.Value) {
			version, err := strconv.Atoi(v.Text)
			if v.Kind != fake.Number || err != nil || version < 1 || version > SuiteVersion {
				r.errorf(v.Pos, "unknown version %q of the format: want 1 to %d", v.Text, SuiteVersion)
			}
			r.version = version
		},
		"runs": r.list(r.below(func(v fake.Value) { r.s.Runs = append(r.s.Runs, v.Text) })),
		"rows": func(v fake.Value) { r.object(v, "rows", r.rows()) },
		"names": func(v fake.Value) {
			r.names, r.s.Names = v.Pos, &importer.Mapping{}
			m := r.s.Names
			r.object(v, "names", setters{"case": r.pointer(&m.Case), "epoch": r.pointer(&m.Epoch), "cluster": r.pointer(&m.Cluster)})
		},
		"dataset": r.below(func(v fake.Value) { r.s.DatasetFile = v.Text }),
		"missing_as_zero": func(v fake.Value) {
			if v.Kind != fake.Bool {
				r.errorf(v.Pos, "expected true or false, found %v", v.Kind)
			}
			r.s.MissingAsZero = v.Text == "true"
		},
		"scorers":  r.list(r.scorer),
		"baseline": r.below(func(v fake.Value) { r.s.Baseline = v.Text }),
		"gate":     func(v fake.Value) { r.gate = v.Pos; r.object(v, "gate", r.gateKeys()) },
	}
}

func (r *suiteReader) rows() setters {
	m := &importer.Mapping{Scores: map[string]string{}}
	r.s.Rows = m
	expected := "expected"
	if r.version == 1 {
		expected = "want"
	}
	return setters{
		"case": r.pointer(&m.Case), "epoch": r.pointer(&m.Epoch), "cluster": r.pointer(&m.Cluster),
		"prompt": r.pointer(&m.Prompt), expected: r.pointer(&m.Expected), "answer": r.pointer(&m.Answer),
		"scores": func(v fake.Value) {
			if v.Kind != fake.Map {
				r.errorf(v.Pos, "expected pointers by the name of a score, found %v", v.Kind)
			}
			for _, o := range v.Fields {
				var at string
				r.pointer(&at)(o.Value)
				m.Scores[o.Name] = at
			}
		},
	}
}

func (r *suiteReader) gateKeys() setters {
	g := &r.s.Gate
	return setters{
		"alpha": r.positive(&g.Alpha), "drop": r.number(&g.Drop), "detect": r.number(&g.Detect), "require_power": r.number(&g.RequirePower),
		"max_drop": r.byMetric(&g.MaxDrop), "min": r.byMetric(&g.Min),
		"metrics": r.texts(&g.Metrics), "lower": r.texts(&g.Lower), "must_pass": r.texts(&g.MustPass),
		"seed": func(v fake.Value) {
			n, err := strconv.ParseUint(v.Text, 10, 64)
			if v.Kind != fake.Number || err != nil {
				r.errorf(v.Pos, "expected a whole number from 0 on, found %v", v.Kind)
			}
			g.Seed = n
		},
	}
}

// byMetric reads a number for all metrics, or a map of numbers by metric.
func (r *suiteReader) byMetric(to *map[string]float64) func(fake.Value) {
	return func(v fake.Value) {
		*to = map[string]float64{}
		fields := v.Fields
		if v.Kind != fake.Map {
			fields = []fake.Option{{Value: v}}
		}
		for _, o := range fields {
			var x float64
			r.number(&x)(o.Value)
			(*to)[o.Name] = x
		}
	}
}

// scorer reads the name of a kind, or a map of kind, metric and settings.
func (r *suiteReader) scorer(v fake.Value) {
	var kind, metric string
	var settings json.RawMessage
	at := v.Pos
	if v.Kind == fake.Text {
		kind = v.Text
	} else {
		r.object(v, "a scorer", setters{
			"kind":     r.text(func(v fake.Value) { kind = v.Text }),
			"metric":   r.text(func(v fake.Value) { metric = v.Text }),
			"settings": func(v fake.Value) { settings, at = oneLine(jsonValue(v)), v.Pos },
		})
	}
	switch {
	case v.Kind != fake.Text && v.Kind != fake.Map: // object reported it
	case kind == "":
		r.errorf(v.Pos, "a scorer needs the key kind")
	case kind == "recorded" && metric == "" && settings == nil:
		r.s.Scorers = append(r.s.Scorers, Scoring{Name: kind})
	default:
		s, err := r.scorers(kind, metric, settings)
		if err != nil {
			r.errorf(at, "%v", err)
		}
		if metric != "" {
			kind = metric + "=" + kind
		}
		r.s.Scorers = append(r.s.Scorers, Scoring{scorerName(kind + string(settings)), s})
	}
}

// jsonValue returns a value for package json.
func jsonValue(v fake.Value) any {
	switch v.Kind {
	case fake.Number, fake.Bool:
		return json.RawMessage(v.Text)
	case fake.List:
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			list[i] = jsonValue(item)
		}
		return list
	case fake.Map:
		members := map[string]any{}
		for _, o := range v.Fields {
			members[o.Name] = jsonValue(o.Value)
		}
		return members
	case fake.Null:
		return nil
	case fake.Text:
	}
	return v.Text
}

func (r *suiteReader) object(v fake.Value, of string, known setters) {
	if v.Kind != fake.Map {
		r.errorf(v.Pos, "expected %s, which is a map, found %v", of, v.Kind)
	}
	for _, o := range v.Fields {
		if set, ok := known[o.Name]; ok {
			set(o.Value)
			continue
		}
		names := slices.Sorted(maps.Keys(known))
		r.errorf(o.Pos, "unknown key %q of %s; %sallowed: %s", o.Name, of, suggest.Hint(o.Name, names), strings.Join(names, ", "))
	}
}

// text reads a string that is not empty.
func (r *suiteReader) text(set func(fake.Value)) func(fake.Value) {
	return func(v fake.Value) {
		if v.Kind != fake.Text || v.Text == "" {
			r.errorf(v.Pos, "expected a string, found %v: quote it if it is a string", v.Kind)
			return
		}
		set(v)
	}
}

// list reads one item or more.
func (r *suiteReader) list(item func(fake.Value)) func(fake.Value) {
	return func(v fake.Value) {
		if v.Kind != fake.List || len(v.Items) == 0 {
			r.errorf(v.Pos, "expected a list of one item or more, found %v", v.Kind)
		}
		for _, i := range v.Items {
			item(i)
		}
	}
}

func (r *suiteReader) texts(to *[]string) func(fake.Value) {
	return r.list(r.text(func(v fake.Value) { *to = append(*to, v.Text) }))
}

// below reads the name or the pattern of files in the folder of the suite.
func (r *suiteReader) below(set func(fake.Value)) func(fake.Value) {
	return r.text(func(v fake.Value) {
		if _, err := path.Match(v.Text, ""); err != nil || !fs.ValidPath(v.Text) {
			r.errorf(v.Pos, "%q: want a name or pattern of files in the folder of the suite, such as runs/*.jsonl", v.Text)
		}
		set(v)
	})
}

// isPointer matches a JSON pointer (RFC 6901) other than "".
var isPointer = regexp.MustCompile(`^/([^~]|~[01])*$`)

func (r *suiteReader) pointer(to *string) func(fake.Value) {
	return r.text(func(v fake.Value) {
		if !isPointer.MatchString(v.Text) {
			r.errorf(v.Pos, "%q: want a JSON pointer such as /question, with ~1 for / and ~0 for ~ in a name", v.Text)
		}
		*to = v.Text
	})
}

func (r *suiteReader) positive(to *float64) func(fake.Value) {
	return func(v fake.Value) {
		if r.number(to)(v); v.Kind == fake.Number && *to <= 0 {
			r.errorf(v.Pos, "%v: want more than 0", v.Text)
		}
	}
}

func (r *suiteReader) number(to *float64) func(fake.Value) {
	return func(v fake.Value) {
		x, err := strconv.ParseFloat(v.Text, 64)
		if v.Kind != fake.Number || err != nil {
			r.errorf(v.Pos, "expected a number, found %v", v.Kind)
		}
		*to = x
	}
}
