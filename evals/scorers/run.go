package scorers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals"
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
			return fail("want %q, got %q", want, last)
		}
		return 1, string(last), nil
	}), nil
}

// refusalSettings scores 1 if the model refused: text is marked as a refusal, the last finish
// reason is refusal or content_filter, or a pattern matches the final answer.
type refusalSettings struct {
	// Patterns are regular expressions, as package regexp documents them.
	Patterns []string `json:"patterns,omitempty"`
}

func (s refusalSettings) scorer() (scoreFunc, error) {
	var patterns []*regexp.Regexp
	for _, text := range s.Patterns {
		re, err := compile(text)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, re)
	}
	refused := []llm.FinishReason{llm.FinishRefusal, llm.FinishContentFilter}
	return single(func(run *importer.Run) (float64, string, error) {
		answer, err := finalAnswer(run)
		if err != nil {
			return 0, "", err
		}
		f := facts.Read(run)
		if len(f.Refusals) > 0 {
			return pass("refused: %s", quote(f.Refusals[0]))
		}
		if n := len(f.Finishes); n > 0 && slices.Contains(refused, f.Finishes[n-1]) {
			return pass("finish reason %s", f.Finishes[n-1])
		}
		for _, re := range patterns {
			if re.MatchString(answer) {
				return pass("%s matches %s", re, quote(answer))
			}
		}
		return fail("no refusal")
	}), nil
}

// invariantsSettings scores 1 if the run violates no invariant that it does not suppress, notes
// aside; see package check. A list of messages shows fewer violations than a trace.
type invariantsSettings struct {
	// Ignore are the ids of ignored invariants.
	Ignore []string `json:"ignore,omitempty"`
	Strict bool     `json:"strict,omitempty"` // notes count as well
}

func (s invariantsSettings) scorer() (scoreFunc, error) {
	for _, id := range s.Ignore {
		if !slices.ContainsFunc(check.Catalog(), func(i check.Info) bool { return i.ID == id }) {
			return nil, fmt.Errorf("unknown invariant %q in ignore: want an id such as INV-01", id)
		}
	}
	return func(_ context.Context, run *importer.Run) []evals.Score {
		found, err := violations(run)
		if err != nil {
			return []evals.Score{{Err: fmt.Errorf("the run cannot be checked completely: %w", err)}}
		}
		found = slices.DeleteFunc(found, func(v check.Violation) bool {
			return v.Suppressed != "" || slices.Contains(s.Ignore, v.Invariant)
		})
		notes := slices.Clone(found)
		found = slices.DeleteFunc(found, func(v check.Violation) bool { return v.Note && !s.Strict })
		if len(found) == 0 && len(notes) > 0 {
			return []evals.Score{{Value: 1, Explanation: fmt.Sprintf("only notes, such as %s: %s", notes[0].Invariant, notes[0].Message)}}
		} else if len(found) == 0 {
			return []evals.Score{{Value: 1, Explanation: "no violation"}}
		}
		ids := map[string]bool{}
		for _, v := range found {
			ids[v.Invariant] = true
		}
		rules := slices.Sorted(maps.Keys(ids))
		return []evals.Score{{Explanation: fmt.Sprintf("%s: %s", strings.Join(rules, ", "), found[0].Message), Findings: rules}}
	}, nil
}

func violations(run *importer.Run) ([]check.Violation, error) {
	if len(run.Events) == 0 {
		list := check.List{Run: cmp.Or(run.Name, "run"), Protocol: run.Protocol, Request: run.Sent, Response: run.Response}
		list.Add(run.Checkable()...)
		return list.Done(), nil
	}
	return check.Trace(func(yield func(trace.Event, error) bool) {
		for _, ev := range run.Events {
			if !yield(ev, nil) {
				return
			}
		}
	}, nil)
}

// limit scores a number of the run: 1 if it is at most AtMost, and else 0.
type limit struct {
	AtMost *float64 `json:"at_most,omitempty"` // nil: the number itself is the score

	unit string
	of   func(run *importer.Run) (float64, error)
}

func (l limit) scorer() (scoreFunc, error) {
	if l.AtMost != nil && !(*l.AtMost >= 0) {
		return nil, fmt.Errorf("at_most %v: nothing is less than 0", *l.AtMost)
	}
	return single(func(run *importer.Run) (float64, string, error) {
		v, err := l.of(run)
		if err != nil {
			return 0, "", err
		}
		text := fmt.Sprintf("%v %s", v, l.unit)
		switch {
		case l.AtMost == nil:
			return v, text, nil
		case v > *l.AtMost:
			return fail("want at most %v, got %s", *l.AtMost, text)
		}
		return 1, text, nil
	}), nil
}

func steps(run *importer.Run) (float64, error) { return float64(facts.Read(run).Steps), nil }

// failures counts failed tool calls, attempts of model calls, and the run itself.
func failures(run *importer.Run) (float64, error) { return float64(len(facts.Read(run).Errors)), nil }

func seconds(run *importer.Run) (float64, error) {
	took := run.Resources().Latency
	if took == 0 {
		return 0, errors.New("the duration of the run is unknown")
	}
	return took.Seconds(), nil
}

// tokens counts the tokens of all model calls, input and output.
func tokens(run *importer.Run) (float64, error) {
	total := run.Resources().Usage.Total()
	if total == 0 {
		return 0, errNoUsage
	}
	return float64(total), nil
}

var errNoUsage = errors.New("the token usage of the run is unknown")

// costSettings scores the cost of all model calls. It excludes runs that a call of this run
// started.
type costSettings struct {
	limit
	// Prices are by the name of the model, as the recording has it.
	Prices map[string]tokenPrice `json:"prices"`
}

// tokenPrice is the price of a million tokens.
type tokenPrice struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// Cached and CacheWrite default to Input, Reasoning defaults to Output.
	Cached     *float64 `json:"cached,omitempty"`
	CacheWrite *float64 `json:"cache_write,omitempty"`
	Reasoning  *float64 `json:"reasoning,omitempty"`
}

func (s costSettings) scorer() (scoreFunc, error) {
	if len(s.Prices) == 0 {
		return nil, errors.New("missing prices: set the prices of a million tokens by model")
	}
	s.unit, s.of = "in all", s.cost
	return s.limit.scorer()
}

// cost adds the costs of the model calls: per call in a trace, else in total.
func (s costSettings) cost(run *importer.Run) (sum float64, err error) {
	used := false
	add := func(model string, usage llm.Usage) {
		if usage == (llm.Usage{}) {
			return
		}
		price, ok := s.Prices[model]
		if !ok && err == nil {
			err = fmt.Errorf("missing price of the model %q: add it to prices", model)
		}
		used, sum = true, sum+price.of(usage)
	}
	if len(run.Events) == 0 {
		var model string
		_ = json.Unmarshal(run.Meta["model"], &model) // ignore other types
		add(model, run.Resources().Usage)
	}
	models := map[trace.Purpose]string{}
	for _, ev := range run.Events {
		switch body := ev.Body.(type) {
		case trace.ModelConfig:
			models[ev.Purpose] = body.Model
		case trace.ModelResponse:
			add(cmp.Or(body.Model, models[ev.Purpose]), body.Usage)
		case trace.ModelError:
			add(models[ev.Purpose], body.Usage)
		}
	}
	if !used {
		return 0, errNoUsage
	}
	return sum, err
}

func (p tokenPrice) of(u llm.Usage) float64 {
	or := func(price *float64, usual float64) float64 { return *cmp.Or(price, &usual) }
	const million = 1e6
	return (float64(u.InputTokens-u.CacheReadInputTokens-u.CacheCreationInputTokens)*p.Input +
		float64(u.CacheReadInputTokens)*or(p.Cached, p.Input) +
		float64(u.CacheCreationInputTokens)*or(p.CacheWrite, p.Input) +
		float64(u.OutputTokens-u.ReasoningOutputTokens)*p.Output +
		float64(u.ReasoningOutputTokens)*or(p.Reasoning, p.Output)) / million
}
