package scorers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// limit scores 1 if a number is at most AtMost, and else 0.
type limit struct {
	AtMost *float64 `json:"at_most,omitempty"` // nil: the number itself is the score
}

// of returns the score of a number.
func (l limit) of(v float64, what string) (float64, string, error) {
	text := fmt.Sprintf("%v %s", v, what)
	switch {
	case l.AtMost == nil:
		return v, text, nil
	case v > *l.AtMost:
		return 0, fmt.Sprintf("want at most %v, got %s", *l.AtMost, text), nil
	}
	return 1, text, nil
}

// check rejects a limit that no number satisfies.
func (l limit) check() error {
	if l.AtMost != nil && !(*l.AtMost >= 0) {
		return fmt.Errorf("at_most %v: nothing is less than 0", *l.AtMost)
	}
	return nil
}

// number scores a number of the run.
func (l limit) number(what string, of func(run *importer.Run) (float64, error)) (scoreFunc, error) {
	return single(func(run *importer.Run) (float64, string, error) {
		v, err := of(run)
		if err != nil {
			return 0, "", err
		}
		return l.of(v, what)
	}), l.check()
}

// stepsSettings scores the number of model responses.
type stepsSettings struct{ limit }

func (s stepsSettings) scorer() (scoreFunc, error) {
	return s.number("steps", func(run *importer.Run) (float64, error) { return float64(facts.Read(run).Steps), nil })
}

// failuresSettings scores the number of failures: tool calls, attempts of model calls, and the run itself.
type failuresSettings struct{ limit }

func (s failuresSettings) scorer() (scoreFunc, error) {
	return s.number("errors", func(run *importer.Run) (float64, error) { return float64(len(facts.Read(run).Errors)), nil })
}

// latencySettings scores the duration in seconds.
type latencySettings struct{ limit }

func (s latencySettings) scorer() (scoreFunc, error) {
	return s.number("seconds", func(run *importer.Run) (float64, error) {
		took := run.Resources().Latency
		if took == 0 {
			return 0, errors.New("the duration of the run is unknown")
		}
		return took.Seconds(), nil
	})
}

// tokensSettings scores the tokens of all model calls, input and output.
type tokensSettings struct{ limit }

func (s tokensSettings) scorer() (scoreFunc, error) {
	return s.number("tokens", func(run *importer.Run) (float64, error) {
		total := run.Resources().Usage.Total()
		if total == 0 {
			return 0, errNoUsage
		}
		return float64(total), nil
	})
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
	return s.number("in all", func(run *importer.Run) (sum float64, err error) {
		used := usageByModel(run)
		if len(used) == 0 {
			return 0, errNoUsage
		}
		for _, part := range used {
			price, ok := s.Prices[part.model]
			if !ok {
				return 0, fmt.Errorf("missing price of the model %q: add it to prices", part.model)
			}
			sum += price.of(part.usage)
		}
		return sum, nil
	})
}

// of returns the price of a usage.
func (p tokenPrice) of(u llm.Usage) float64 {
	or := func(price *float64, usual float64) float64 {
		if price == nil {
			return usual
		}
		return *price
	}
	const million = 1e6
	return (float64(u.InputTokens-u.CacheReadInputTokens-u.CacheCreationInputTokens)*p.Input +
		float64(u.CacheReadInputTokens)*or(p.Cached, p.Input) +
		float64(u.CacheCreationInputTokens)*or(p.CacheWrite, p.Input) +
		float64(u.OutputTokens-u.ReasoningOutputTokens)*p.Output +
		float64(u.ReasoningOutputTokens)*or(p.Reasoning, p.Output)) / million
}

// modelUsage is the usage of a model.
type modelUsage struct {
	model string
	usage llm.Usage
}

// usageByModel returns the usage of the model calls: per call in a trace, else in total.
func usageByModel(run *importer.Run) (used []modelUsage) {
	setup := map[trace.Purpose]string{}
	for _, ev := range run.Events {
		var part modelUsage
		switch body := ev.Body.(type) {
		case trace.ModelConfig:
			setup[ev.Purpose] = body.Model
		case trace.ModelResponse:
			part = modelUsage{cmp.Or(body.Model, setup[ev.Purpose]), body.Usage}
		case trace.ModelError:
			part = modelUsage{setup[ev.Purpose], body.Usage}
		}
		if part.usage != (llm.Usage{}) {
			used = append(used, part)
		}
	}
	if usage := run.Resources().Usage; len(run.Events) == 0 && usage != (llm.Usage{}) {
		var model string
		_ = json.Unmarshal(run.Meta["model"], &model) // ignore other types
		used = append(used, modelUsage{model, usage})
	}
	return used
}
