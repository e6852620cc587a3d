// Package scorers contains the scorers of suite files. They score the final answer, the tool
// calls, the final state, the resource usage and the invariants of a run.
//
// [Parse] and [Maker.Parse] make a scorer from its settings in JSON. A scorer is deterministic
// and needs no network, except that a program of the user or the model of a [Grader] may need it.
// Scorers are safe for concurrent use and explain each score.
//
// A scorer returns an error, not 0, if the expected value is unknown or the recording has no
// data for it. Package evals computes the statistics.
package scorers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

type settings interface {
	// scorer checks the settings and returns the function that scores a run.
	scorer() (scoreFunc, error)
}

type located interface {
	locate(m *Maker) (settings, error)
}

// scoreFunc scores a run. An empty metric, and one that begins with a dot, follows the name of
// the scorer.
type scoreFunc func(ctx context.Context, run *importer.Run) []evals.Score

// single returns the scoreFunc of a function that returns one score and explains it.
func single(score func(run *importer.Run) (value float64, why string, err error)) scoreFunc {
	return func(_ context.Context, run *importer.Run) []evals.Score {
		value, why, err := score(run)
		return []evals.Score{{Value: value, Err: err, Explanation: why}}
	}
}

// pass returns the score 1 with its explanation.
func pass(format string, args ...any) (float64, string, error) {
	return 1, fmt.Sprintf(format, args...), nil
}

// fail returns the score 0 with its explanation.
func fail(format string, args ...any) (float64, string, error) {
	return 0, fmt.Sprintf(format, args...), nil
}

// newScorer returns the scorer of these settings. Its score has the name of the metric.
func newScorer(metric string, s settings) (evals.Scorer, error) {
	score, err := s.scorer()
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

// Maker makes scorers from the settings in a file. Some kinds need more than their settings.
// The zero value makes all kinds that need neither files nor a grader.
type Maker struct {
	// Folder is the folder of the file; programs run there. Empty means the current folder.
	Folder string
	// Files are the files in that folder that settings may name; nil means none.
	Files fs.FS
	// Environ is the environment, as NAME=value, of which programs get the variables in
	// docs/scorers.md; nil means that settings may name no program.
	Environ []string
	// Variables are the names of further variables that programs get.
	Variables []string
	// Grader opens the model that settings name; nil means that no model can be opened.
	Grader func(g *Grader) (llm.Model, error)
}

// Parse makes a scorer with the zero [Maker].
func Parse(kind, metric string, settings json.RawMessage) (evals.Scorer, error) {
	return (&Maker{}).Parse(kind, metric, settings)
}

// Parse returns a scorer of this kind with settings in JSON; nil means no settings. Its score has
// the name metric, or the name of the kind if metric is empty. Parse rejects unknown settings.
// It reads the names that settings had in version 1 of suite files, too.
func (m *Maker) Parse(kind, metric string, raw json.RawMessage) (evals.Scorer, error) {
	metric = cmp.Or(metric, kind)
	var names []string
	for _, k := range kinds {
		if names = append(names, k.Name); k.Name != kind {
			continue
		}
		s, err := k.parse(upgrade(raw, kind == "trajectory" || kind == "call_match"))
		if err != nil {
			return nil, fmt.Errorf("scorer %q: settings of %q: %w", metric, kind, err)
		}
		if l, ok := s.(located); ok {
			if s, err = l.locate(m); err != nil {
				return nil, fmt.Errorf("scorer %q: %w", metric, err)
			}
		}
		return newScorer(metric, s)
	}
	list := strings.Join(names, ", ")
	return nil, fmt.Errorf("scorer %q: unknown kind %q: want one of %s", metric, kind, list)
}

// upgrade renames the settings of version 1 of suite files, and those of the expected calls. It
// returns what is not an object, or has no old name, unchanged.
func upgrade(raw json.RawMessage, calls bool) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return raw
	}
	found := false
	renames := map[string]string{"want": "expected", "want_at": "expected_at", "args": "arguments"}
	for was, is := range renames {
		value, old := members[was]
		if _, both := members[is]; old && !both {
			members[is], found = value, true
			delete(members, was)
		}
	}
	var list []json.RawMessage
	if calls && json.Unmarshal(members["expected"], &list) == nil && list != nil {
		for i := range list {
			list[i] = upgrade(list[i], false)
		}
		members["expected"], _ = json.Marshal(list) // what was read can be written
		found = true
	}
	if found {
		raw, _ = json.Marshal(members)
	}
	return raw
}

// Kind describes a kind of scorer.
type Kind struct {
	Name        string // in a suite file
	Description string // what a score of 1 means, or the number that the kind returns
	Settings    any    // zero value of the settings
}

// Kinds returns all kinds of scorers. The caller owns the slice.
func Kinds() []Kind { return slices.Clone(kinds) }

// kinds are in the order of the documents.
var kinds = []Kind{
	{"exact", "the final answer is one of those expected", exactSettings{}},
	{"contains", "the final answer has one of the texts expected in it, or all of them", containsSettings{}},
	{"regexp", "a regular expression matches the final answer", regexpSettings{}},
	{"numeric", "the last number of the final answer is the one expected, within a tolerance", numericSettings{}},
	{"json", "the final answer is JSON of the value expected", jsonSettings{}},
	{"normalized", "the final answer is an expected one, ignoring case, punctuation, articles and space", normalizedSettings{}},
	{"choice", "the final answer names the letter expected", choiceSettings{}},
	{"called", "tools were called as often as they should be", calledSettings{}},
	{"not_called", "none of the tools named was called, or no tool at all", notCalledSettings{}},
	{"trajectory", "the calls are those expected: exactly, in order, in any order, as a superset, as a subset, or unordered", trajectorySettings{}},
	{"call_match", "F1, precision or recall of the calls, by the best assignment to those expected or by the longest common subsequence", callMatchSettings{}},
	{"bfcl", "the calls are those that the Berkeley Function-Calling Leaderboard accepts", bfclSettings{}},
	{"arg_schema", "the arguments of all calls follow the JSON Schemas of their tools", argSchemaSettings{}},
	{"state", "the state that the run left is the one expected", stateSettings{}},
	{"state_diff", "the run changed of the state what was expected, no less and no more", stateDiffSettings{}},
	{"invariants", "no invariant is violated", invariantsSettings{}},
	{"finish", "the last response of the model has an expected finish reason", finishSettings{}},
	{"refusal", "the model refused", refusalSettings{}},
	{"errors", "the number of tool calls, model calls and runs that failed", limit{unit: "errors", of: failures}},
	{"steps", "the number of model responses", limit{unit: "steps", of: steps}},
	{"tokens", "the number of tokens in and out", limit{unit: "tokens", of: tokens}},
	{"cost", "the cost of the tokens, by a table of prices", costSettings{}},
	{"latency", "the seconds that the run took", limit{unit: "seconds", of: seconds}},
	{"rubric", "a model grades the run by criteria: the value of its label, or its number on a scale", rubricSettings{}},
	{"pairwise", "a model prefers the run to one of the same case in another set, in both orders; 0.5 is a tie", pairwiseSettings{}},
	{"program", "the score that a program of the user returns", programSettings{}},
}

// parse returns the settings of the kind, which the settings in JSON change.
func (k *Kind) parse(raw json.RawMessage) (settings, error) {
	s := reflect.New(reflect.TypeOf(k.Settings))
	s.Elem().Set(reflect.ValueOf(k.Settings))
	var err error
	if len(raw) > 0 {
		err = decodeKnown(raw, s.Interface())
	}
	return s.Elem().Interface().(settings), err
}
