package scorers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/internal/child"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace/importer"
)

// programSettings scores by a program in any language. It is started once per run, reads the run
// as a line of JSON (its JSON Schema is schema/run-v2.schema.json) from
// standard input, and writes one JSON value to standard output (schema/answer-v1.schema.json).
// One program per processor runs concurrently.
//
// The scores are errors, never numbers, if the program does not exit with status 0 in time,
// writes anything else, or reports an error. The error contains the end of its standard error.
// When the program ends, its process group is killed. Of the environment it has what [Maker] passes on.
type programSettings struct {
	// Command is the program and its arguments. A name without a slash is searched in PATH; a path is
	// below Folder.
	Command []string `json:"command"`
	// Metrics are the names of its scores; empty means one score with the name of the scorer.
	// That name also precedes a name that begins with a dot.
	Metrics []string `json:"metrics,omitempty"`
	// Timeout is the limit for a run in seconds; 0 means 60.
	Timeout float64 `json:"timeout,omitempty"`
	// Folder is the working folder, which [Maker] sets; empty means that of this process.
	Folder string `json:"-"`
	// Env is its environment, which [Maker] sets.
	Env []string `json:"-"`
}

// passed are the names of the environment variables that a program gets: what interpreters need to run,
// and no keys. A final * is for any end.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "TMPDIR", "TMP", "TEMP",
	"PYTHONPATH", "PYTHONHOME", "PYTHONUTF8", "PYTHONIOENCODING", "VIRTUAL_ENV", "CONDA_PREFIX", "NODE_PATH", "JAVA_HOME",
	"GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOFLAGS", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "USERPROFILE",
}

// passedOn returns the variables of an environment that are passed on.
func passedOn(environ, more []string) []string {
	names := slices.Concat(passed, more)
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !slices.ContainsFunc(names, func(one string) bool {
			start, open := strings.CutSuffix(one, "*")
			return strings.EqualFold(one, name) || open && strings.HasPrefix(name, start)
		})
	})
}

func (s programSettings) scorer() (scoreFunc, error) {
	const usual, most = 60, 24 * 60 * 60
	if len(s.Command) == 0 || s.Command[0] == "" {
		return nil, errors.New("missing command: set the program and its arguments, as in [python3, grade.py]")
	}
	if !(s.Timeout >= 0 && s.Timeout <= most) {
		return nil, fmt.Errorf("timeout %v: want seconds up to %d", s.Timeout, most)
	}
	if names := slices.Sorted(slices.Values(s.Metrics)); slices.Contains(names, "") || len(slices.Compact(names)) < len(s.Metrics) {
		return nil, fmt.Errorf("metrics %q: want unique names", s.Metrics)
	}
	if len(s.Metrics) == 0 {
		s.Metrics = []string{""} // the name of the scorer
	}
	seconds := cmp.Or(s.Timeout, usual)
	over := fmt.Errorf("the program took more than %v seconds, the setting timeout", seconds)
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	return func(ctx context.Context, run *importer.Run) []evals.Score {
		places <- struct{}{}
		defer func() { <-places }()
		ctx, cancel := loop.SystemClock{}.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)), over)
		defer cancel()
		r, err := s.ask(ctx, run)
		return s.scores(r, err)
	}, nil
}

type reply struct {
	Score        json.RawMessage            `json:"score"`
	Scores       map[string]json.RawMessage `json:"scores"`
	Explanation  string                     `json:"explanation"`
	Explanations map[string]string          `json:"explanations"`
	Findings     rulesByName                `json:"findings"`
	Error        string                     `json:"error"`
}

// rulesByName are the rules that a run breaks: a list for a single score, or lists by name.
type rulesByName map[string][]string

// UnmarshalJSON reads both forms.
func (r *rulesByName) UnmarshalJSON(b []byte) error {
	*r = rulesByName{}
	var list []string
	if json.Unmarshal(b, &list) == nil {
		(*r)[""] = list
		return nil
	}
	return json.Unmarshal(b, (*map[string][]string)(r))
}

func (s programSettings) ask(ctx context.Context, run *importer.Run) (*reply, error) {
	const most = 1 << 20
	in, err := jsonval.Line(newDocument(run))
	if err != nil {
		return nil, fmt.Errorf("the run cannot be written as JSON: %w", err)
	}
	p := child.Program{Args: s.Command, Dir: s.Folder, Env: s.Env, In: in, MaxOutput: most}
	out, err := p.Run(ctx)
	if err != nil {
		return nil, err
	}
	r := &reply{}
	if err := decodeKnown(out, r); err != nil {
		return nil, fmt.Errorf(`invalid output of the program: want JSON such as {"score": 1}: %w, in %s`, err, quote(string(out)))
	}
	return r, s.check(r)
}

func (s programSettings) locate(m *Maker) (settings, error) {
	if m.Environ == nil {
		return nil, fmt.Errorf("the suite starts the program %q: allow it with --allow-programs (Maker.Environ in Go) if you trust the suite", s.Command[:min(1, len(s.Command))])
	}
	s.Folder = m.Folder
	s.Env = append([]string{}, passedOn(m.Environ, m.Variables)...)
	return s, nil
}

// check validates a reply. It converts a single score to a score with the name of the scorer.
func (s programSettings) check(r *reply) error {
	named := s.Metrics[0] != ""
	switch {
	case r.Error != "":
		return errors.New("the program reported: " + r.Error)
	case named && (r.Scores == nil || r.Score != nil || r.Explanation != ""):
		return fmt.Errorf("invalid output of the program: want scores named %q, or an error", s.Metrics)
	case !named && (r.Score == nil || r.Scores != nil || r.Explanations != nil):
		return errors.New("invalid output of the program: want a score or an error: scores by name need the setting metrics")
	case !named:
		r.Scores, r.Explanations = map[string]json.RawMessage{"": r.Score}, map[string]string{"": r.Explanation}
	}
	for name := range r.Findings {
		if _, ok := r.Scores[name]; !ok {
			return fmt.Errorf("invalid output of the program: findings of %q without a score", name)
		}
	}
	for name := range r.Scores {
		if !slices.Contains(s.Metrics, name) {
			return fmt.Errorf("invalid output of the program: the score %q is not in the setting metrics", name)
		}
	}
	return nil
}

// scores returns the scores in the reply, without those that are omitted or null.
func (s programSettings) scores(r *reply, failed error) (all []evals.Score) {
	for _, name := range s.Metrics {
		score := evals.Score{Metric: name, Err: failed}
		if failed == nil {
			raw := r.Scores[name]
			if raw == nil || string(raw) == "null" {
				continue
			}
			score.Explanation, score.Findings = r.Explanations[name], slices.Compact(slices.Sorted(slices.Values(r.Findings[name])))
			if json.Unmarshal(raw, &score.Value) != nil {
				score.Err = fmt.Errorf("invalid output of the program: the score is not a number: %s", quote(string(raw)))
			}
		}
		all = append(all, score)
	}
	return all
}

type document struct {
	Format   string                     `json:"format"`
	Version  int                        `json:"version"`
	Name     string                     `json:"name"`
	Case     string                     `json:"case"`
	Epoch    *int                       `json:"epoch"`
	Cluster  string                     `json:"cluster,omitempty"`
	Answer   string                     `json:"answer"`
	Calls    []facts.Call               `json:"calls"`
	Expected importer.Expected          `json:"expected"`
	Messages []llm.Message              `json:"messages,omitempty"`
	Events   []json.RawMessage          `json:"events,omitempty"`
	Meta     map[string]json.RawMessage `json:"meta,omitempty"`
	Head     map[string]json.RawMessage `json:"head,omitempty"`
}

func newDocument(run *importer.Run) *document {
	f := facts.Read(run)
	d := &document{
		Format: "looptape-run", Version: 2, Name: run.Name, Case: run.CaseName(), Cluster: run.Cluster,
		Answer: f.Answer, Calls: append([]facts.Call{}, f.Calls...),
		Expected: run.Expected, Messages: run.Messages, Meta: run.Meta, Head: run.Head,
	}
	if run.Epoch != importer.NoEpoch {
		d.Epoch = &run.Epoch
	}
	for i := range run.Events {
		d.Events = append(d.Events, run.Events[i].AppendJSON(nil))
	}
	return d
}
