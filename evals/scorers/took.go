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

// Limit makes of a number 1 if it is at most as large, and else 0.
type limit struct {
	AtMost *float64 `json:"at_most,omitempty"` // nil: the number itself is the score
}

// of is the score of a number.
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

// check refuses a limit that nothing keeps.
func (l limit) check() error {
	if l.AtMost != nil && !(*l.AtMost >= 0) {
		return fmt.Errorf("at_most %v: nothing is less than 0", *l.AtMost)
	}
	return nil
}

// number judges a run by a number of it.
func (l limit) number(what string, of func(run *importer.Run) (float64, error)) (scoreFunc, error) {
	return single(func(run *importer.Run) (float64, string, error) {
		v, err := of(run)
		if err != nil {
			return 0, "", err
		}
		return l.of(v, what)
	}), l.check()
}

// Steps scores how many answers the model gave.
type stepsSettings struct{ limit }

func (s stepsSettings) scorer() (scoreFunc, error) {
	return s.number("steps", func(run *importer.Run) (float64, error) { return float64(facts.Read(run).Steps), nil })
}

// Failures scores how much failed: tool calls, attempts of model calls, and the run itself.
type failuresSettings struct{ limit }

func (s failuresSettings) scorer() (scoreFunc, error) {
	return s.number("errors", func(run *importer.Run) (float64, error) { return float64(len(facts.Read(run).Errors)), nil })
}

// Latency scores how many seconds the run took.
type latencySettings struct{ limit }

func (s latencySettings) scorer() (scoreFunc, error) {
	return s.number("seconds", func(run *importer.Run) (float64, error) {
		took := run.Resources().Latency
		if took == 0 {
			return 0, errors.New("the recording does not tell how long the run was")
		}
		return took.Seconds(), nil
	})
}

// Tokens scores how many tokens all model calls of the run took, in and out.
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

var errNoUsage = errors.New("the recording does not tell how many tokens the run took")

// Cost scores what the tokens of all model calls of the run cost. Runs that a call of this
// one started are not part of it.
type costSettings struct {
	limit
	// Prices are by the name of the model, as the recording has it.
	Prices map[string]tokenPrice `json:"prices"`
}

// Price is for a million tokens each.
type tokenPrice struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// Of tokens read from and written to a cache the usual price is Input, of tokens of
	// reasoning Output.
	Cached     *float64 `json:"cached,omitempty"`
	CacheWrite *float64 `json:"cache_write,omitempty"`
	Reasoning  *float64 `json:"reasoning,omitempty"`
}

func (s costSettings) scorer() (scoreFunc, error) {
	if len(s.Prices) == 0 {
		return nil, errors.New("there are no prices; give those of a million tokens by model")
	}
	return s.number("in all", func(run *importer.Run) (sum float64, err error) {
		spent := spentBy(run)
		if len(spent) == 0 {
			return 0, errNoUsage
		}
		for _, part := range spent {
			price, ok := s.Prices[part.model]
			if !ok {
				return 0, fmt.Errorf("there is no price for the model %q", part.model)
			}
			sum += price.of(part.usage)
		}
		return sum, nil
	})
}

// of is the price of some tokens.
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

// modelUsage is what calls of a model took.
type modelUsage struct {
	model string
	usage llm.Usage
}

// spentBy returns what the model calls of a run took: of a trace call by call, of other
// recordings all together, by the model that is named beside the messages.
func spentBy(run *importer.Run) (spent []modelUsage) {
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
			spent = append(spent, part)
		}
	}
	if usage := run.Resources().Usage; len(run.Events) == 0 && usage != (llm.Usage{}) {
		var model string
		_ = json.Unmarshal(run.Meta["model"], &model) // what is no text is no name
		spent = append(spent, modelUsage{model, usage})
	}
	return spent
}
