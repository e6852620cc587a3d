package evals

import (
	"iter"
	"maps"
	"slices"

	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/llm"
)

// Calls counts the calls of a tool.
type Calls struct {
	N      int `json:"n"`
	Failed int `json:"failed,omitzero"` // calls with an error result
}

// callsOf counts calls by tool; nil if there are none.
func callsOf(list []facts.Call) ByName[Calls] {
	if len(list) == 0 {
		return nil
	}
	by := map[string]Calls{}
	for i := range list {
		name := validText(list[i].Name)
		c := by[name]
		c.N++
		if list[i].Failed {
			c.Failed++
		}
		by[name] = c
	}
	return newByName(by)
}

type measure struct {
	name string
	of   valueOf
}

// measures are all resources. Token counts are known if a run has any; steps and calls if a model
// has responded.
var measures = []measure{
	tokens("input_tokens", func(u *llm.Usage) int64 { return u.InputTokens }),
	tokens("output_tokens", func(u *llm.Usage) int64 { return u.OutputTokens }),
	tokens("cached_tokens", func(u *llm.Usage) int64 { return u.CacheReadInputTokens }),
	tokens("cache_write_tokens", func(u *llm.Usage) int64 { return u.CacheCreationInputTokens }),
	tokens("reasoning_tokens", func(u *llm.Usage) int64 { return u.ReasoningOutputTokens }),
	{"cost", func(r *Row) (float64, bool) { return r.Cost, r.Cost != 0 }},
	{"latency_ns", func(r *Row) (float64, bool) { return float64(r.Latency), r.Latency != 0 }},
	{"steps", func(r *Row) (float64, bool) { return float64(r.Steps), r.Steps > 0 }},
	calls("calls", func(c Calls) int { return c.N }),
	calls("failed_calls", func(c Calls) int { return c.Failed }),
}

// Resources yields the resources that the run used, in a fixed order: tokens by kind, cost,
// latency_ns, steps, calls and failed_calls. The amount is nil if unknown. All but the cost are
// integers.
func (r *Row) Resources() iter.Seq2[string, *float64] {
	return func(yield func(string, *float64) bool) {
		for _, m := range measures {
			var amount *float64
			if v, ok := m.of(r); ok {
				amount = &v
			}
			if !yield(m.name, amount) {
				return
			}
		}
	}
}

func tokens(name string, of func(u *llm.Usage) int64) measure {
	return measure{name, func(r *Row) (float64, bool) { return float64(of(&r.Usage)), r.Usage.Total() != 0 }}
}

// calls is a measure of the calls of all tools.
func calls(name string, of func(c Calls) int) measure {
	return measure{name, func(r *Row) (float64, bool) {
		sum := 0
		for _, c := range r.Calls {
			sum += of(c.Value)
		}
		return float64(sum), r.Steps > 0
	}}
}

type amount struct {
	N    int     `json:"n"` // runs that report it
	Sum  float64 `json:"sum"`
	Mean float64 `json:"mean"` // of those runs
}

// resourceChange is the change of a resource over the cases that report it in both sets; a case
// with several runs counts by their mean.
type resourceChange struct {
	Pairs      int         `json:"pairs"`
	Base       float64     `json:"base"` // mean
	New        float64     `json:"new"`
	Difference float64     `json:"difference"` // New − Base
	SE         *float64    `json:"se"`         // of the difference, paired
	CI95       *[2]float64 `json:"ci95"`       // of the difference
}

// toolChange is the change of the calls of a tool per run, and the failed calls in all runs.
type toolChange struct {
	resourceChange

	Failed perSet `json:"failed"`
}

// resourceChanges returns the change of each measure that the common cases have.
func resourceChanges(base, other *Result, list []measure) (map[string]resourceChange, error) {
	by := map[string]resourceChange{}
	for _, m := range list {
		b, n, difference, err := pair(base, other, m.of)
		if err != nil {
			return nil, err
		}
		if difference == nil {
			continue
		}
		change := resourceChange{
			Pairs: difference.Len(), Base: b.CaseMeans().Mean(), New: n.CaseMeans().Mean(), Difference: difference.Mean(),
			SE: known(se(difference.Cluster())), CI95: known(ends(t(difference.Cluster()))),
		}
		if change.Base != 0 || change.New != 0 {
			by[m.name] = change
		}
	}
	return by, nil
}

// toolChanges returns the change of the calls of each tool that the common cases call.
func toolChanges(base, other *Result) (map[string]toolChange, error) {
	var list []measure
	for _, name := range toolsOf(base, other) {
		of := func(r *Row) (float64, bool) { return float64(r.Calls.Of(name).N), r.Steps > 0 }
		list = append(list, measure{name, of})
	}
	changes, err := resourceChanges(base, other, list)
	by := map[string]toolChange{}
	for name, change := range changes {
		by[name] = toolChange{change, perSet{failedCalls(base, other, name), failedCalls(other, base, name)}}
	}
	return by, err
}

// toolsOf returns the most called tools. The limit protects against recordings with a unique tool
// per run.
func toolsOf(sets ...*Result) []string {
	const maxTools = 200
	n := map[string]int{}
	for _, r := range sets {
		for row := range r.Rows.scan() {
			for name, calls := range row.Calls.All() {
				n[name] += calls.N
			}
		}
	}
	names := slices.Sorted(maps.Keys(n))
	slices.SortStableFunc(names, func(a, b string) int { return n[b] - n[a] })
	return names[:min(len(names), maxTools)]
}

func failedCalls(of, with *Result, tool string) (n int) {
	both := with.caseNames()
	for row := range of.Rows.scan() {
		if both[row.Case] {
			n += row.Calls.Of(tool).Failed
		}
	}
	return n
}
