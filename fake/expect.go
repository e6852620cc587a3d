package fake

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
)

// Expect is what a request must be like. What is zero is not looked at.
type Expect struct {
	Messages int      // how many there are
	Role     llm.Role // of the last message
	Text     []string // each is somewhere in the text of the last message
	// Results are in the last message, in this order, and no others.
	Results []ExpectResult
	System  []string // each is somewhere in the system prompt
	// Tools are the names of the tools that are offered, in order; empty but not
	// nil means none.
	Tools      []string
	ToolChoice string // as llm.ToolChoice.String
	// Request is a part of the request's JSON: members that it does not have are
	// not looked at, lists must be as long.
	Request json.RawMessage
}

// ExpectResult is what a tool result must be like.
type ExpectResult struct {
	ID      string // of its call; empty is not looked at
	Text    string // somewhere in the result's text
	IsError *bool  // nil is not looked at
}

// ScriptError says that a script has no answer to a request or a call, or does
// not expect it.
type ScriptError struct {
	Session  string // of the model; empty for a tool
	Tool     string // its name; empty for a model
	Response int    // from 0
	Attempt  int    // from 1; 0 for a tool
	Problem  string
	// Diff has a line for each thing that was wanted (-) and that came (+).
	Diff string
}

func (e *ScriptError) Error() string {
	where := fmt.Sprintf("lane %q, turn %d, attempt %d", e.Session, e.Response+1, e.Attempt)
	if e.Tool != "" {
		where = fmt.Sprintf("tool %q, call %d", e.Tool, e.Response+1)
	}
	return fmt.Sprintf("fake: %s: %s (-want +got):\n%s", where, e.Problem, e.Diff)
}

// differ collects the lines of a diff.
type differ struct{ lines []string }

func (d *differ) add(what string, want, got any) {
	d.lines = append(d.lines, fmt.Sprintf("- %s: %v", what, want), fmt.Sprintf("+ %s: %v", what, got))
}

func (d *differ) equal(what, want, got string) {
	if want != got {
		d.add(what, want, got)
	}
}

func (d *differ) contain(what string, want []string, got string) {
	for _, w := range want {
		if !strings.Contains(got, w) {
			d.add(what, fmt.Sprintf("… %q …", w), fmt.Sprintf("%q", got))
		}
	}
}

// diff returns what is wrong with a request, or nothing. Plain results do not tell
// whether they are errors.
func (e *Expect) diff(req *llm.Request, plain bool) string {
	if e == nil {
		return ""
	}
	var d differ
	if n := len(req.Messages); e.Messages != 0 && e.Messages != n {
		d.add("messages", e.Messages, n)
	}
	var last llm.Message
	if n := len(req.Messages); n > 0 {
		last = req.Messages[n-1]
	}
	if e.Role != "" {
		d.equal("role of the last message", string(e.Role), string(last.Role))
	}
	d.contain("text of the last message", e.Text, last.Text())
	d.contain("system", e.System, req.System)
	if e.Tools != nil {
		var names []string
		for _, t := range req.Tools {
			names = append(names, t.Name)
		}
		d.equal("tools", strings.Join(e.Tools, ", "), strings.Join(names, ", "))
	}
	if e.ToolChoice != "" {
		d.equal("tool choice", e.ToolChoice, req.ToolChoice.String())
	}
	if e.Results != nil {
		e.results(&d, last, plain)
	}
	if e.Request != nil {
		d.subset("request", decode(e.Request), decode(req.AppendJSON(nil)))
	}
	return strings.Join(d.lines, "\n")
}

func (e *Expect) results(d *differ, last llm.Message, plain bool) {
	var got []llm.ToolResult
	for _, p := range last.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			got = append(got, r)
		}
	}
	if len(e.Results) != len(got) {
		d.add("results in the last message", len(e.Results), len(got))
		return
	}
	for i, want := range e.Results {
		what := fmt.Sprintf("result %d", i)
		if want.ID != "" {
			d.equal(what+" answers", want.ID, got[i].ID)
		}
		d.contain(what, []string{want.Text}, got[i].Text())
		if !plain && want.IsError != nil && *want.IsError != got[i].IsError {
			d.add(what+" is an error", *want.IsError, got[i].IsError)
		}
	}
}

// subset reports where got lacks something of want.
func (d *differ) subset(path string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			d.add(path, encode(want), encode(got))
			return
		}
		for _, k := range slices.Sorted(maps.Keys(w)) {
			v, ok := g[k]
			if !ok {
				v, ok = g[v1Names[k]]
			}
			if !ok {
				d.add(path+"."+k, encode(w[k]), "nothing")
				continue
			}
			d.subset(path+"."+k, w[k], v)
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			d.add(path, encode(want), encode(got))
			return
		}
		for i := range w {
			d.subset(fmt.Sprintf("%s[%d]", path, i), w[i], g[i])
		}
	default:
		d.equal(path, encode(want), encode(got))
	}
}

// decode reads JSON with numbers as they are written; what is not JSON becomes
// a string.
func decode(raw []byte) any {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return string(raw)
	}
	return v
}

func encode(v any) string {
	b, _ := json.Marshal(v) // v was JSON
	return llm.Canonical(string(b))
}

// describe tells a request in a line.
func describe(req *llm.Request) string {
	if len(req.Messages) == 0 {
		return "a request without messages"
	}
	last := req.Messages[len(req.Messages)-1]
	return fmt.Sprintf("a request of %s, the last: %s", count(len(req.Messages), "message"), last.AppendJSON(nil))
}
