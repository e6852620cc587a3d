package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// traceEvents are the events of a trace of one run, without its deltas.
type traceEvents []map[string]any

// randomRun returns a scenario with a retry, tools that fail or run concurrently, and reasoning with
// a signature. It has at least two steps with tools, the first with two calls.
func randomRun(r *rand.Rand) string {
	usage := func() string {
		return fmt.Sprintf("{input_tokens: %d, output_tokens: %d, cache_read_input_tokens: %d}", 9+r.IntN(90), 1+r.IntN(90), r.IntN(9))
	}
	text := `version: 2
loop: {max_steps: 9, concurrency: 2, max_consecutive_tool_errors: 9, retry: {max: 2, base: 1s}}
tools: {quick: {text: fine}, slow: {text: late, delay: 10ms}, fails: {error: bad}}
models:
  main:
    - attempts:
        - {usage: ` + usage() + `, error: {status: 503}}
        - {reasoning: hm, reasoning_opaque: {signature: c2lnbmVk}, usage: ` + usage() + `, calls: [{id: c1, name: slow, arguments: '{}'}, {id: c2, name: fails, arguments: '{"n":2}'}]}
`
	id := 2
	for range 1 + r.IntN(3) {
		var calls []string
		for range 1 + r.IntN(3) {
			id++
			name := []string{"quick", "slow", "fails"}[r.IntN(3)]
			calls = append(calls, fmt.Sprintf(`{id: c%d, name: %s, arguments: '{"n":%d}'}`, id, name, r.IntN(99)))
		}
		text += fmt.Sprintf("    - {calls: [%s], usage: %s}\n", strings.Join(calls, ", "), usage())
	}
	return text + "    - {text: done, usage: " + usage() + "}\ninput: go\n"
}

// recordedTrace returns the events of a random run of the loop.
func recordedTrace(t *testing.T, r *rand.Rand, dir string) (list traceEvents) {
	t.Helper()
	scenario, recorded := filepath.Join(dir, "scenario.yaml"), filepath.Join(dir, "recorded.jsonl")
	if err := os.WriteFile(scenario, []byte(randomRun(r)), 0o600); err != nil {
		t.Fatal(err)
	}
	w, out, errs := clitest.Terminal(nil)
	if status := execute([]string{"run", "--record", recorded, scenario}, w); status != cli.OK {
		t.Fatalf("exit status %d: %s%s", status, out, errs)
	}
	text, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var ev map[string]any
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		if ev["kind"] != nil && ev["kind"] != "model.delta" {
			delete(ev, "hash") // of the messages, which faults change
			list = append(list, ev)
		}
	}
	return list
}

func (l traceEvents) clone() (c traceEvents) {
	if err := json.Unmarshal([]byte(jsonText(l)), &c); err != nil {
		panic(err)
	}
	return c
}

// file returns the trace, with new numbers of its events.
func (l traceEvents) file() string {
	text := `{"format":"looptape-trace","version":2}` + "\n"
	for i, ev := range l {
		ev["seq"] = i
		text += jsonText(ev) + "\n"
	}
	return text
}

// all returns the indices of the events of a kind that ok accepts; nil accepts all.
func (l traceEvents) all(kind string, ok func(ev map[string]any) bool) (list []int) {
	for i, ev := range l {
		if ev["kind"] == kind && (ok == nil || ok(ev)) {
			list = append(list, i)
		}
	}
	return list
}

func (l traceEvents) pick(r *rand.Rand, kind string, ok func(ev map[string]any) bool) int {
	list := l.all(kind, ok)
	return list[r.IntN(len(list))]
}

// firstOf returns the index of the first event of a kind from an index.
func (l traceEvents) firstOf(kind string, from int) int {
	return from + slices.IndexFunc(l[from:], func(ev map[string]any) bool { return ev["kind"] == kind })
}

func copied(ev map[string]any, members ...any) map[string]any {
	c := maps.Clone(ev)
	maps.Copy(c, object(members...))
	return c
}

// sentResults returns the last message of a random request that begins with results, which has at least n parts.
func (l traceEvents) sentResults(r *rand.Rand, n int) map[string]any {
	last := func(ev map[string]any) map[string]any {
		list, _ := ev["new_messages"].([]any)
		if len(list) == 0 {
			return nil
		}
		return list[len(list)-1].(map[string]any)
	}
	i := l.pick(r, "model.request", func(ev map[string]any) bool {
		m := last(ev)
		return m != nil && m["role"] == "tool" && len(m["parts"].([]any)) >= n
	})
	return last(l[i])
}

// isFollowing reports whether a request has the messages of an earlier step and new ones.
func isFollowing(ev map[string]any) bool {
	return ev["prefix_messages"] != nil && ev["new_messages"] != nil
}

func userMessage(text string) any {
	return object("role", "user", "parts", []any{object("type", "text", "text", text)})
}

// insertMessages inserts messages among the new messages of the request at an index. The requests
// after it have them, too.
func (l traceEvents) insertMessages(request, at int, messages ...any) {
	l[request]["new_messages"] = slices.Insert(l[request]["new_messages"].([]any), at, messages...)
	for _, ev := range l[request+1:] {
		if n, ok := ev["prefix_messages"].(float64); ok {
			ev["prefix_messages"] = n + float64(len(messages))
		}
	}
}

func (l traceEvents) declare(name string, value any) {
	l[0]["options"].(map[string]any)[name] = value
}

// traceFaults are faults in the events of a trace.
var traceFaults = []struct {
	name      string
	invariant string
	plant     func(r *rand.Rand, l *traceEvents)
}{
	{"drop a result", "INV-01", func(r *rand.Rand, l *traceEvents) {
		m := l.sentResults(r, 2)
		n := r.IntN(len(m["parts"].([]any)))
		m["parts"] = slices.Delete(m["parts"].([]any), n, n+1)
	}},
	{"double a result", "INV-01", func(r *rand.Rand, l *traceEvents) {
		m := l.sentResults(r, 1)
		m["parts"] = append(m["parts"].([]any), m["parts"].([]any)[0])
	}},
	{"rename the id of a result", "INV-01", func(r *rand.Rand, l *traceEvents) {
		l.sentResults(r, 1)["parts"].([]any)[0].(map[string]any)["tool_call_id"] = "c0"
	}},
	{"put a message of the user before the results", "INV-02", func(r *rand.Rand, l *traceEvents) {
		l.insertMessages(l.pick(r, "model.request", isFollowing), 1, userMessage("Be quick."))
	}},
	{"reorder the results", "INV-03", func(r *rand.Rand, l *traceEvents) {
		parts := l.sentResults(r, 2)["parts"].([]any)
		parts[0], parts[1] = parts[1], parts[0]
	}},
	{"use the id of a call again", "INV-04", func(_ *rand.Rand, l *traceEvents) {
		text := strings.ReplaceAll(jsonText(*l), `"c3"`, `"c1"`)
		*l = nil
		if err := json.Unmarshal([]byte(text), l); err != nil {
			panic(err)
		}
	}},
	{"change an earlier message", "INV-05", func(r *rand.Rand, l *traceEvents) {
		at := l.pick(r, "model.request", isFollowing)
		var all []any
		for _, i := range l.all("model.request", nil) {
			list, _ := (*l)[i]["new_messages"].([]any)
			if all = append(all, list...); i == at {
				break
			}
		}
		ev := (*l)[at]
		delete(ev, "prefix_messages")
		ev["new_messages"] = slices.Concat([]any{userMessage("Stop.")}, all[1:])
	}},
	{"end the run before the tools", "INV-07", func(r *rand.Rand, l *traceEvents) {
		i := l.pick(r, "decision", func(ev map[string]any) bool { return ev["reason"] == "tool_calls" })
		end := (*l)[len(*l)-1]
		step := (*l)[i]["step"]
		message := (*l)[slices.Max(l.all("model.response", func(ev map[string]any) bool { return ev["step"] == step }))]["message"]
		*l = append((*l)[:i], object("run", "r1", "step", step, "at", (*l)[i]["at"], "kind", "decision", "action", "stop", "reason", "stopped"),
			object("run", "r1", "step", step, "at", (*l)[i]["at"], "kind", "step.end"),
			copied(end, "at", (*l)[i]["at"], "stop_reason", "stopped", "finish_reason", "tool_calls", "steps", int(step.(float64))+1, "appended_messages", []any{message}))
		l.sum()
	}},
	{"run a tool twice", "INV-08", func(r *rand.Rand, l *traceEvents) {
		i := l.pick(r, "tool.start", nil)
		end := l.all("tool.end", func(ev map[string]any) bool { return ev["tool_call_id"] == (*l)[i]["tool_call_id"] })[0]
		at := (*l)[end]["at"]
		*l = slices.Insert(*l, end+1, copied((*l)[i], "at", at), copied((*l)[end]))
	}},
	{"change the arguments of a tool", "INV-09", func(r *rand.Rand, l *traceEvents) {
		(*l)[l.pick(r, "tool.start", nil)]["arguments"] = `{"n":100}`
	}},
	{"drop a decision", "INV-11", func(r *rand.Rand, l *traceEvents) {
		i := l.pick(r, "decision", nil)
		*l = slices.Delete(*l, i, i+1)
	}},
	{"end the run twice", "INV-13", func(_ *rand.Rand, l *traceEvents) { *l = append(*l, copied((*l)[len(*l)-1])) }},
	{"drop the end of a step", "INV-14", func(r *rand.Rand, l *traceEvents) {
		i := l.pick(r, "step.end", nil)
		*l = slices.Delete(*l, i, i+1)
	}},
	{"drop the start of a step", "INV-14", func(r *rand.Rand, l *traceEvents) {
		i := l.pick(r, "step.start", nil)
		*l = slices.Delete(*l, i, i+1)
	}},
	{"end a tool before its start", "INV-14", func(r *rand.Rand, l *traceEvents) {
		i := l.pick(r, "tool.end", nil)
		start := l.all("tool.start", func(ev map[string]any) bool { return ev["tool_call_id"] == (*l)[i]["tool_call_id"] })[0]
		end := copied((*l)[i], "at", (*l)[start]["at"])
		*l = slices.Insert(slices.Delete(*l, i, i+1), start, end)
	}},
	{"run more tools than declared", "INV-15", func(_ *rand.Rand, l *traceEvents) { l.declare("concurrency", 1) }},
	{"start a tool after a cancel", "INV-17", func(r *rand.Rand, l *traceEvents) {
		i := l.pick(r, "tool.start", nil)
		*l = slices.Insert(*l, i, object("run", "r1", "step", (*l)[i]["step"], "at", (*l)[i]["at"], "kind", "cancelled", "reason", "cancel"))
	}},
	{"count the tokens of a call twice", "INV-18", func(r *rand.Rand, l *traceEvents) {
		ev := (*l)[l.pick(r, "model.response", nil)]
		usage := (*l)[len(*l)-1]["usage"].(map[string]any)
		usage["input_tokens"] = usage["input_tokens"].(float64) + ev["usage"].(map[string]any)["input_tokens"].(float64)
	}},
	{"omit the tokens of a failed call", "INV-18", func(_ *rand.Rand, l *traceEvents) {
		usage := (*l)[len(*l)-1]["usage"].(map[string]any)
		failed := (*l)[l.firstOf("model.error", 0)]["usage"].(map[string]any)
		usage["input_tokens"] = usage["input_tokens"].(float64) - failed["input_tokens"].(float64)
	}},
	{"call the model after the budget", "INV-19", func(_ *rand.Rand, l *traceEvents) { l.declare("token_budget", 9) }},
	{"continue after a failing tool", "INV-20", func(_ *rand.Rand, l *traceEvents) { l.declare("same_tool_error_stop", 1) }},
	{"retry what may not be retried", "INV-21", func(_ *rand.Rand, l *traceEvents) {
		delete((*l)[l.firstOf("model.error", 0)]["error"].(map[string]any), "retryable")
	}},
	{"retry after a part of the response", "INV-21", func(_ *rand.Rand, l *traceEvents) {
		(*l)[l.firstOf("model.error", 0)]["partial"] = true
	}},
	{"change a signature", "INV-22", func(_ *rand.Rand, l *traceEvents) {
		i := l.firstOf("step.end", 0)
		request := (*l)[l.firstOf("model.request", i)]
		reasoning := request["new_messages"].([]any)[0].(map[string]any)["parts"].([]any)[0].(map[string]any)
		reasoning["opaque"] = object("signature", "b3RoZXI=")
	}},
	{"hide the error of a tool", "INV-23", func(r *rand.Rand, l *traceEvents) {
		ev := (*l)[l.pick(r, "tool.end", func(ev map[string]any) bool { return ev["outcome"] == "error" })]
		delete(ev["result"].(map[string]any), "is_error")
	}},
	{"send an empty message of the assistant", "INV-24", func(r *rand.Rand, l *traceEvents) {
		l.insertMessages(l.pick(r, "model.request", isFollowing), 2, object("role", "assistant", "parts", []any{}), userMessage("Go on."))
	}},
	{"continue after a stop condition", "INV-25", func(_ *rand.Rand, l *traceEvents) { l.declare("stop_when", "step_count:1") }},
}

// sum sets the usage and the number of model calls at the end of the run.
func (l traceEvents) sum() {
	total := map[string]any{}
	for _, ev := range l[:len(l)-1] {
		usage, _ := ev["usage"].(map[string]any)
		for name, n := range usage {
			before, _ := total[name].(float64)
			total[name] = before + n.(float64)
		}
	}
	end := l[len(l)-1]
	end["usage"], end["model_calls"] = total, len(l.all("model.request", nil))
}

// TestPlantedFaultsInTraces plants each fault in traces of valid runs. Its invariant is reported and no
// other. LOOPTAPE_FAULTS is the number of runs.
func TestPlantedFaultsInTraces(t *testing.T) {
	n := faultCount(t)
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(2, uint64(n)))
	planted, found, other := map[string]int{}, map[string]int{}, 0
	for i := range n {
		valid := recordedTrace(t, r, dir)
		if c := checkText(t, dir, valid.file()); len(c.Violations)+len(c.Unreadable) > 0 {
			t.Errorf("a valid run: %v\n%s", c, valid.file())
			other++
		}
		x := traceFaults[i%len(traceFaults)]
		faulty := valid.clone()
		x.plant(r, &faulty)
		planted[x.invariant]++
		c := checkText(t, dir, faulty.file())
		hit := false
		for _, v := range c.Violations {
			if v.Invariant == x.invariant {
				hit = true
				continue
			}
			other++
			t.Errorf("%s: also %v\n%s", x.name, v, faulty.file())
		}
		if hit {
			found[x.invariant]++
		} else {
			t.Errorf("%s: %s is not reported: %v\n%s", x.name, x.invariant, c, faulty.file())
		}
	}
	for _, id := range slices.Sorted(maps.Keys(planted)) {
		t.Logf("| %s | %d of %d |", id, found[id], planted[id])
	}
	t.Logf("%d other reports in %d traces", other, 2*n)
}
