package eval

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/llm"
)

// recordingPlan counts the requests of a recording before the first one, and the tokens after it.
type recordingPlan struct {
	opened int                              // models with a cassette
	kept   map[string][]*cassettes.Cassette // replays of what is not asked for again, by cassette

	mu     sync.Mutex
	models map[string]*modelCost
}

// modelCost is what a model needs for a recording.
type modelCost struct {
	requests, characters int
	input, output        int64 // tokens of new responses
}

func newRecordingPlan() *recordingPlan {
	return &recordingPlan{kept: map[string][]*cassettes.Cassette{}, models: map[string]*modelCost{}}
}

// charactersPerToken is a usual number for English text.
const charactersPerToken = 4

// replays returns the replays of recordings with responses that are not asked for again.
func (p *recordingPlan) replays(name string, list []*cassettes.File) ([]*cassettes.Cassette, error) {
	if p.kept[name] != nil {
		return p.kept[name], nil
	}
	for _, f := range list {
		c, err := f.Replay(&cassettes.Options{AllowUnused: true})
		if err != nil {
			return nil, err
		}
		p.kept[name] = append(p.kept[name], c)
	}
	return p.kept[name], nil
}

// add changes the cost of a model.
func (p *recordingPlan) add(model string, change func(*modelCost)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.models[model] == nil {
		p.models[model] = &modelCost{}
	}
	change(p.models[model])
}

// plannedModel sends no request. Its response is no grade of a rubric.
type plannedModel struct {
	plan *recordingPlan
	name string
	kept []llm.Model // what is not asked for again
}

// Stream counts a request without a recorded response.
func (m *plannedModel) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		recorded := slices.ContainsFunc(m.kept, func(kept llm.Model) bool {
			response, err := llm.Collect(kept.Stream(ctx, req))
			if err == nil {
				m.plan.add(m.name, func(c *modelCost) { c.use(-1, response.Usage) })
			}
			return err == nil
		})
		if !recorded {
			n := len([]rune(req.System.Text()))
			for i := range req.Messages {
				n += len([]rune(req.Messages[i].Text()))
			}
			m.plan.add(m.name, func(c *modelCost) { c.requests, c.characters = c.requests+1, c.characters+n })
		}
		_ = yield(llm.TextDelta{Text: `{"grade": "tie"}`}, nil) && yield(llm.Finish{Reason: llm.FinishStop}, nil)
	}
}

// meteredModel counts the tokens of responses.
type meteredModel struct {
	llm.Model

	plan *recordingPlan
	name string
}

// Stream implements [llm.Model].
func (m *meteredModel) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		var all llm.Accumulator
		defer func() {
			used := all.Response().Usage
			m.plan.add(m.name, func(c *modelCost) { c.use(1, used) })
		}()
		for ev, err := range m.Model.Stream(ctx, req) {
			if err == nil {
				all.Add(ev)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

func (c *modelCost) use(times int64, u llm.Usage) {
	c.input, c.output = c.input+times*u.InputTokens, c.output+times*u.OutputTokens
}

// prices are the values of the flag --price: the prices of a million input and output tokens, by model.
type prices map[string][2]float64

func parsePrices(list []string) (prices, error) {
	p := prices{}
	for _, text := range list {
		model, rest, _ := strings.Cut(text, "=")
		in, out, _ := strings.Cut(rest, ",")
		input, err := strconv.ParseFloat(in, 64)
		output, failed := strconv.ParseFloat(out, 64)
		if err != nil || failed != nil || !(input >= 0 && output >= 0) || model == "" {
			return nil, fmt.Errorf("--price %q: want MODEL=INPUT,OUTPUT, the prices of a million tokens", text)
		}
		p[model] = [2]float64{input, output}
	}
	return p, nil
}

// cost describes the cost of tokens; it is empty without a price.
func (p prices) cost(model string, input, output int64) string {
	price, ok := p[model]
	if !ok {
		return ""
	}
	const million = 1e6
	return fmt.Sprintf(", which cost %.4g", (float64(input)*price[0]+float64(output)*price[1])/million)
}

// printEstimate prints the number of requests and the estimated input tokens of each model.
func (p *recordingPlan) printEstimate(w *cli.World, of prices) {
	for _, name := range slices.Sorted(maps.Keys(p.models)) {
		c := p.models[name]
		tokens := int64(c.characters / charactersPerToken)
		w.Warn("--record: %s to %s, about %d input tokens (a token is %d characters)%s; the output is not estimated", cli.Count(c.requests, "request"), name, tokens, charactersPerToken, of.cost(name, tokens, 0))
	}
}

// printUsed prints the tokens that new responses used.
func (p *recordingPlan) printUsed(w *cli.World, of prices) {
	for _, name := range slices.Sorted(maps.Keys(p.models)) {
		c := p.models[name]
		w.Warn("--record: %s used %d input and %d output tokens%s", name, c.input, c.output, of.cost(name, c.input, c.output))
	}
}
