package fake

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// Expect is compared with a request. Zero fields are not compared.
type Expect struct {
	Messages int      // the number of messages
	Role     llm.Role // of the last message
	Text     []string // each is part of the text of the last message
	// Results are all results in the last message, in order.
	Results []ExpectResult
	System  []string // each is part of the system prompt
	// Tools are the names of the request's tools, in order. Empty but not nil means that
	// it has no tools.
	Tools      []string
	ToolChoice string // as llm.ToolChoice.String
	// Request is a part of the request as JSON. Other members are not compared; arrays
	// must have the same length.
	Request json.RawMessage
}

// ExpectResult is compared with a tool result.
type ExpectResult struct {
	ID      string // of the call; empty is not compared
	Text    string // a part of the text of the result
	IsError *bool  // nil is not compared
}

// ScriptError is the error of a request or a call that the script has no response for,
// or does not expect.
type ScriptError struct {
	Session  string // of the model; empty for a tool
	Tool     string // its name; empty for a model
	Response int    // from 0
	Attempt  int    // from 1; 0 for a tool
	Problem  string
	// Diff has a line for each expected (-) and each actual (+) value.
	Diff string
}

func (e *ScriptError) Error() string {
	where := fmt.Sprintf("session %q, response %d, attempt %d", e.Session, e.Response+1, e.Attempt)
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

// diff returns the differences of a request, or an empty string. withFlags is false if
// the request cannot mark results as errors.
func (e *Expect) diff(req *llm.Request, withFlags bool) string {
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
	d.contain("system", e.System, req.System.Text())
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
		e.results(&d, last, withFlags)
	}
	if e.Request != nil {
		d.subset("request", decode(e.Request), decode(req.AppendJSON(nil)))
	}
	return strings.Join(d.lines, "\n")
}

func (e *Expect) results(d *differ, last llm.Message, withFlags bool) {
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
			d.equal("call id of "+what, want.ID, got[i].ID)
		}
		d.contain(what, []string{want.Text}, got[i].Text())
		if withFlags && want.IsError != nil && *want.IsError != got[i].IsError {
			d.add(what+" is an error", *want.IsError, got[i].IsError)
		}
	}
}

// subset adds the members of want that got does not have.
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

// decode reads JSON without rounding numbers. Invalid JSON becomes a string.
func decode(raw []byte) any {
	v, err := jsonval.Decode(raw)
	if err != nil {
		return string(raw)
	}
	return v
}

func encode(v any) string {
	b, _ := json.Marshal(v) // v was JSON
	return jsonval.Canonical(string(b))
}

// describe returns a one-line summary of a request.
func describe(req *llm.Request) string {
	if len(req.Messages) == 0 {
		return "a request without messages"
	}
	last := req.Messages[len(req.Messages)-1]
	return fmt.Sprintf("a request of %s, the last: %s", count(len(req.Messages), "message"), last.AppendJSON(nil))
}
