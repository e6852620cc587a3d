// Package scorers contains the scorers of suite files. They score the final answer, the tool
// calls, the final state, the resource usage and the invariants of a run.
//
// [Parse] and [Maker.Parse] make a scorer from its settings in JSON. A scorer is deterministic
// and needs no network, except that a program of the user or the model of a [Grader] may need it.
// Scorers are safe for concurrent use and explain each score.
//
// A scorer returns an error, not 0, if the expected value is unknown or the recording has no data for it.
// Package evals computes the statistics.
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

// settings are the settings of one kind of scorer.
type settings interface {
	// scorer checks the settings and returns the function that scores a run.
	scorer() (scoreFunc, error)
}

// located are settings that depend on a Maker.
type located interface {
	locate(m *Maker) (settings, error)
}

// scoreFunc scores a run. New prefixes an empty metric, and one that begins with a dot, with the
// name of the scorer.
type scoreFunc func(ctx context.Context, run *importer.Run) []evals.Score

// single returns the scoreFunc of a function that returns one score and explains it.
func single(score func(run *importer.Run) (value float64, explanation string, err error)) scoreFunc {
	return func(_ context.Context, run *importer.Run) []evals.Score {
		value, explanation, err := score(run)
		return []evals.Score{{Value: value, Err: err, Explanation: explanation}}
	}
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
		s, err := k.parse(upgrade(kind, raw))
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
	return nil, fmt.Errorf("scorer %q: unknown kind %q: want one of %s", metric, kind, strings.Join(names, ", "))
}

// upgrade renames the settings of version 1 of suite files. It returns settings that are not an
// object unchanged.
func upgrade(kind string, raw json.RawMessage) json.RawMessage {
	renames := map[string]string{"want": "expected", "want_at": "expected_at", "args": "arguments"}
	rename := func(raw json.RawMessage) json.RawMessage {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return raw
		}
		found := false
		for was, is := range renames {
			value, old := members[was]
			if _, both := members[is]; old && !both {
				members[is], found = value, true
				delete(members, was)
			}
		}
		if !found {
			return raw
		}
		raw, _ = json.Marshal(members) // an object of raw values can be written
		return raw
	}
	upgraded := rename(raw)
	var calls struct {
		Expected []json.RawMessage `json:"expected"`
	}
	if kind != "trajectory" && kind != "call_match" || json.Unmarshal(upgraded, &calls) != nil || calls.Expected == nil {
		return upgraded
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(upgraded, &members) // it is an object
	for i := range calls.Expected {
		calls.Expected[i] = rename(calls.Expected[i])
	}
	members["expected"], _ = json.Marshal(calls.Expected)
	upgraded, _ = json.Marshal(members)
	return upgraded
}

// Kind describes a kind of scorer.
type Kind struct {
	Name        string // in a suite file
	Description string // what a score of 1 means, or the number that the kind returns
	Settings    any    // zero value of the settings

	parse func(json.RawMessage) (settings, error)
}

// Kinds returns all kinds of scorers. The caller owns the slice.
func Kinds() []Kind { return slices.Clone(kinds) }

// kinds are in the order of the documents.
var kinds = []Kind{
	kind[exactSettings]("exact", "the final answer is one of those expected"),
	kind[containsSettings]("contains", "the final answer has one of the texts expected in it, or all of them"),
	kind[regexpSettings]("regexp", "a regular expression matches the final answer"),
	kind[numericSettings]("numeric", "the last number of the final answer is the one expected, within a tolerance"),
	kind[jsonSettings]("json", "the final answer is JSON of the value expected"),
	kind[normalizedSettings]("normalized", "the final answer is an expected one, ignoring case, punctuation, articles and space"),
	kind[choiceSettings]("choice", "the final answer names the letter expected"),
	kind[calledSettings]("called", "tools were called as often as they should be"),
	kind[notCalledSettings]("not_called", "none of the tools named was called, or no tool at all"),
	kind[trajectorySettings]("trajectory", "the calls are those expected: exactly, in order, in any order, as a superset, as a subset, or unordered"),
	kind[callMatchSettings]("call_match", "F1, precision or recall of the calls, by the best assignment to those expected or by the longest common subsequence"),
	kind[bfclSettings]("bfcl", "the calls are those that the Berkeley Function-Calling Leaderboard accepts"),
	kind[argSchemaSettings]("arg_schema", "the arguments of all calls follow the JSON Schemas of their tools"),
	kind[stateSettings]("state", "the state that the run left is the one expected"),
	kind[stateDiffSettings]("state_diff", "the run changed of the state what was expected, no less and no more"),
	kind[invariantsSettings]("invariants", "no invariant is violated"),
	kind[finishSettings]("finish", "the last response of the model has an expected finish reason"),
	kind[refusalSettings]("refusal", "the model refused"),
	kind[failuresSettings]("errors", "the number of tool calls, model calls and runs that failed"),
	kind[stepsSettings]("steps", "the number of model responses"),
	kind[tokensSettings]("tokens", "the number of tokens in and out"),
	kind[costSettings]("cost", "the cost of the tokens, by a table of prices"),
	kind[latencySettings]("latency", "the seconds that the run took"),
	kind[rubricSettings]("rubric", "a model grades the run by criteria: the value of its label, or its number on a scale"),
	kind[pairwiseSettings]("pairwise", "a model prefers the run to one of the same case in another set, in both orders; 0.5 is a tie"),
	kind[programSettings]("program", "the score that a program of the user returns"),
}

func kind[S settings](name, description string) Kind {
	var none S
	return Kind{name, description, none, func(raw json.RawMessage) (settings, error) {
		var s S
		if len(raw) == 0 {
			return s, nil
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		return s, decodeAll(dec, &s)
	}}
}
