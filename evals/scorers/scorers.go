// Package scorers scores runs by what they say: the final answer, the tool calls, the
// state that was reached, what the run took, and whether its invariants hold.
//
// A scorer is made of its settings, which say what is expected where the recording does
// not: [New] takes them as a value, [Parse] as the JSON of a file. It is deterministic and
// needs no network, as far as a [Program] of the user's or the model of a [Grader] is and
// does, and may be called by several goroutines at once. Beside each score it explains what
// was expected and what came.
//
// A score that cannot be made, because nothing is known of what should have come or the
// recording does not tell what is judged, is an error of that score and never 0. Package
// scorers leaves out figures and decisions; see package evals.
package scorers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// Settings are those of one kind of scorer. The types that implement it are those that
// [Kinds] lists.
type Settings interface {
	// judge checks the settings.
	judge() (judge, error)
}

// judge scores a run. A score without a metric has that of the scorer, which also stands
// before a metric that begins with a dot.
type judge func(ctx context.Context, run *importer.Run) []evals.Score

// one makes a judge of what gives one score. The explanation is for people.
func one(of func(ctx context.Context, run *importer.Run) (value float64, explanation string, err error)) judge {
	return func(ctx context.Context, run *importer.Run) []evals.Score {
		value, explanation, err := of(ctx, run)
		return []evals.Score{{Value: value, Err: err, Explanation: explanation}}
	}
}

// New returns the scorer of these settings, whose score has the name of the metric. The
// error says which of the settings is wrong.
func New(metric string, s Settings) (evals.Scorer, error) {
	score, err := s.judge()
	if err != nil {
		return nil, fmt.Errorf("scorer %q: %w", metric, err)
	}
	return evals.ScorerFunc(func(ctx context.Context, run *importer.Run) []evals.Score {
		scores := score(ctx, run)
		for i := range scores {
			if name := scores[i].Metric; name == "" || name[0] == '.' {
				scores[i].Metric = metric + name
			}
		}
		return scores
	}), nil
}

// Parse is that of the zero [Maker].
func Parse(kind, metric string, settings json.RawMessage) (evals.Scorer, error) {
	return (&Maker{}).Parse(kind, metric, settings)
}

// Maker makes scorers of what a file says, of which some need more than their settings.
type Maker struct {
	// Folder is the folder of the file, where programs run; "" is where this process does.
	Folder string
	// Files are the files in that folder, which scorers may name; nil has none.
	Files fs.FS
	// Grader opens the model that settings name; nil opens none.
	Grader func(g *Grader) (llm.Model, error)
}

// placed are settings that depend on what a Maker knows.
type placed interface {
	in(m *Maker) (Settings, error)
}

// Parse is New with the name of the kind, and with the settings as JSON, of which none
// may be unknown; no JSON is no settings. The metric "" is that of the kind's name.
func (m *Maker) Parse(kind, metric string, settings json.RawMessage) (evals.Scorer, error) {
	metric = cmp.Or(metric, kind)
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == kind })
	if i < 0 {
		return nil, fmt.Errorf("scorer %q: there is no kind %q; there are %s", metric, kind, strings.Join(names(), ", "))
	}
	s, err := kinds[i].parse(settings)
	if err != nil {
		return nil, fmt.Errorf("scorer %q: settings of %q: %w", metric, kind, err)
	}
	if p, ok := s.(placed); ok {
		if s, err = p.in(m); err != nil {
			return nil, fmt.Errorf("scorer %q: %w", metric, err)
		}
	}
	return New(metric, s)
}

// Kind is a kind of scorer.
type Kind struct {
	Name string // in a suite file
	What string // its score of 1 says, or what its number is
	// Settings is the zero value of the type of its settings.
	Settings Settings

	parse func(json.RawMessage) (Settings, error)
}

// Kinds returns all kinds of scorers. The slice is the caller's.
func Kinds() []Kind { return slices.Clone(kinds) }

func names() (all []string) {
	for _, k := range kinds {
		all = append(all, k.Name)
	}
	return all
}

// kinds are in the order of the documents.
var kinds = []Kind{
	kind[Exact]("exact", "the final answer is one of those expected"),
	kind[Contains]("contains", "the final answer has one of the texts expected in it, or all of them"),
	kind[Regexp]("regexp", "a regular expression matches the final answer"),
	kind[Numeric]("numeric", "the last number of the final answer is the one expected, within a tolerance"),
	kind[JSON]("json", "the final answer is JSON of the value expected"),
	kind[Normalized]("normalized", "the final answer is one of those expected, but for case, punctuation, articles and space"),
	kind[Choice]("choice", "the final answer names the letter expected"),
	kind[Called]("called", "tools were called as often as they should be"),
	kind[NotCalled]("not_called", "none of the tools named was called, or no tool at all"),
	kind[Trajectory]("trajectory", "the calls are those expected: exactly, in order, in any order, as a superset, as a subset, or unordered"),
	kind[CallMatch]("call_match", "F1, precision or recall of the calls, by the best assignment to those expected or by the longest common subsequence"),
	kind[BFCL]("bfcl", "the calls are those that the Berkeley Function-Calling Leaderboard accepts"),
	kind[ArgSchema]("arg_schema", "the arguments of all calls follow the JSON Schemas of their tools"),
	kind[State]("state", "the state that the run left is the one expected"),
	kind[StateDiff]("state_diff", "the run changed of the state what was expected, no less and no more"),
	kind[Invariants]("invariants", "no invariant is broken"),
	kind[Finish]("finish", "the last answer of the model ended as it should"),
	kind[Refusal]("refusal", "the model refused"),
	kind[Failures]("errors", "the number of tool calls, model calls and runs that failed"),
	kind[Steps]("steps", "the number of answers of the model"),
	kind[Tokens]("tokens", "the number of tokens in and out"),
	kind[Cost]("cost", "the cost of the tokens, by a table of prices"),
	kind[Latency]("latency", "the seconds that the run took"),
	kind[Rubric]("rubric", "a model grades the run by criteria: the value of its label, or its number on a scale"),
	kind[Pairwise]("pairwise", "a model prefers the run to one of the same case in another set, in both orders; 0.5 is a tie"),
	kind[Program]("program", "what a program of yours says of the run"),
}

func kind[S Settings](name, what string) Kind {
	var none S
	return Kind{name, what, none, func(raw json.RawMessage) (Settings, error) {
		var s S
		if len(raw) == 0 {
			return s, nil
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		return s, decodeAll(dec, &s)
	}}
}
