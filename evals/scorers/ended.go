package scorers

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

// finishSettings scores 1 if the last model response has an expected finish reason.
type finishSettings struct {
	Expected []llm.FinishReason `json:"expected,omitempty"` // none: stop
}

func (s finishSettings) scorer() (scoreFunc, error) { //nolint:unparam // nothing can be wrong with these settings
	want := s.Expected
	if len(want) == 0 {
		want = []llm.FinishReason{llm.FinishStop}
	}
	return single(func(run *importer.Run) (float64, string, error) {
		all := facts.Read(run).Finishes
		if len(all) == 0 {
			return 0, "", errors.New("the recording has no finish reasons")
		}
		last := all[len(all)-1]
		if !slices.Contains(want, last) {
			return 0, fmt.Sprintf("want %q, got %q", want, last), nil
		}
		return 1, string(last), nil
	}), nil
}

// refusalSettings scores 1 if the model refused: a text is marked as a refusal, the last finish
// reason is refusal or content_filter, or a pattern matches the final answer.
type refusalSettings struct {
	// Patterns are regular expressions, as package regexp documents them.
	Patterns []string `json:"patterns,omitempty"`
}

func (s refusalSettings) scorer() (scoreFunc, error) {
	var patterns []*regexp.Regexp
	for _, text := range s.Patterns {
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("the pattern: %w", err)
		}
		patterns = append(patterns, re)
	}
	return single(func(run *importer.Run) (float64, string, error) {
		answer, err := finalAnswer(run)
		if err != nil {
			return 0, "", err
		}
		f := facts.Read(run)
		if len(f.Refusals) > 0 {
			return 1, "refused: " + quote(f.Refusals[0]), nil
		}
		if n := len(f.Finishes); n > 0 && (f.Finishes[n-1] == llm.FinishRefusal || f.Finishes[n-1] == llm.FinishContentFilter) {
			return 1, "finish reason " + string(f.Finishes[n-1]), nil
		}
		for _, re := range patterns {
			if re.MatchString(answer) {
				return 1, fmt.Sprintf("%s matches %s", re, quote(answer)), nil
			}
		}
		return 0, "no refusal", nil
	}), nil
}

// invariantsSettings scores 1 if the run violates no invariant that it does not suppress; see package
// check. A list of messages shows fewer violations than a trace.
type invariantsSettings struct {
	// Ignore are the ids of ignored invariants.
	Ignore []string `json:"ignore,omitempty"`
}

func (s invariantsSettings) scorer() (scoreFunc, error) {
	for _, id := range s.Ignore {
		if !slices.ContainsFunc(check.Catalogue(), func(i check.Info) bool { return i.ID == id }) {
			return nil, fmt.Errorf("unknown invariant %q in ignore: want an id such as INV-01", id)
		}
	}
	return single(func(run *importer.Run) (float64, string, error) {
		found, err := violations(run)
		if err != nil {
			return 0, "", fmt.Errorf("the run cannot be checked completely: %w", err)
		}
		found = slices.DeleteFunc(found, func(v check.Violation) bool {
			return v.Suppressed != "" || slices.Contains(s.Ignore, v.Invariant)
		})
		if len(found) == 0 {
			return 1, "no violation", nil
		}
		var ids []string
		for _, v := range found {
			ids = append(ids, v.Invariant)
		}
		slices.Sort(ids)
		return 0, strings.Join(slices.Compact(ids), ", ") + ": " + found[0].Message, nil
	}), nil
}

func violations(run *importer.Run) ([]check.Violation, error) {
	if len(run.Events) == 0 {
		return check.Messages(cmp.Or(run.Name, "run"), run.Messages), nil
	}
	return check.Trace(func(yield func(trace.Event, error) bool) {
		for _, ev := range run.Events {
			if !yield(ev, nil) {
				return
			}
		}
	}, nil)
}
