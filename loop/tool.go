package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/arguments"
	"github.com/looptape/looptape/trace"
)

// Tool is a tool that a model may call. Use [NewTool], [RawTool] or [ClientTool], or set the
// fields.
type Tool struct {
	Name        string
	Description string
	// Parameters is the JSON Schema (2020-12 or draft 7) of the arguments, an object. nil
	// accepts any object.
	Parameters json.RawMessage
	Strict     *bool // see llm.Tool
	// Builtin, if not nil, is the definition of a tool of the provider, in its own form; see
	// [llm.Tool]. The provider runs most of these tools itself, and Run is not called then. The
	// Description and the Parameters are not sent.
	Builtin json.RawMessage
	// Run runs a call. nil makes it a client tool: the run stops, and its caller answers the
	// call. Run must be safe for use by many goroutines. Its error, or a panic, becomes an
	// error result for the model.
	Run ToolFunc

	schema *arguments.Schema // nil accepts any object
}

// ToolFunc runs one call.
type ToolFunc func(ctx context.Context, call Call) (Output, error)

// Call is a call as the tool gets it.
type Call struct {
	ID   string
	Name string
	// Arguments is a JSON object that the schema allows, with the defaults of the schema.
	Arguments string
	Step      int // from 0; see [Resume] for -1
	Index     int // in the calls of the response, from 0
	// Trace names the run and the call in the trace: a run with this Input.Parent is recorded
	// below the call, like each run that is started with the tool's context. It is zero if the
	// run has no consumer of its events and no sink.
	Trace trace.Parent

	planned *plannedCall
}

// Output is the result of a tool.
type Output struct {
	Content []llm.Part // Text and Media
	IsError bool       // the tool failed; Content is the error for the model
	// Value is the Go value that Content encodes, for the caller of the run; nil means none.
	// NewTool and JSONOutput set it (a nil value is a JSON null). The model and the trace get
	// Content.
	Value any
}

// TextOutput returns an Output with one text.
func TextOutput(text string) Output { return Output{Content: []llm.Part{llm.Text{Text: text}}} }

// JSONOutput returns an Output with the value v and its JSON, without HTML escaping.
func JSONOutput(v any) (Output, error) {
	line, err := jsonval.Line(v)
	if err != nil {
		return Output{}, fmt.Errorf("encoding the tool's result: %w", err)
	}
	out := TextOutput(strings.TrimSuffix(string(line), "\n"))
	if out.Value = v; v == nil {
		out.Value = json.RawMessage("null")
	}
	return out, nil
}

// NewTool returns a tool that calls a Go function. It infers the schema of the arguments from
// In, a struct or a map (see [jsonschema.For]: json tags name the members, omitempty makes
// them optional, a jsonschema tag describes them). The loop validates the arguments before
// it calls fn. An Out of type string is the text of the result, an Output is the result, and
// any other value is encoded as JSON.
//
// It returns an error if fn is nil, if it cannot infer a schema, or if the schema is not that
// of an object.
func NewTool[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error)) (Tool, error) {
	if fn == nil {
		return Tool{}, fmt.Errorf("loop: the tool %q has no function: pass one, or use ClientTool", name)
	}
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return Tool{}, fmt.Errorf("loop: the tool %q: no schema for its arguments: %w", name, err)
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return Tool{}, fmt.Errorf("loop: the tool %q: %w", name, err)
	}
	fast := arguments.NewDecoder(reflect.TypeFor[In]())
	return RawTool(name, description, raw, func(ctx context.Context, call Call) (Output, error) {
		in, err := arguments.Decode[In](fast, call.Arguments)
		if err != nil {
			return Output{}, fmt.Errorf("reading the arguments: %w", err)
		}
		out, err := fn(&callContext{ctx, call}, in)
		if err != nil {
			return Output{}, err
		}
		switch v := any(out).(type) {
		case string:
			text := TextOutput(v)
			text.Value = v
			return text, nil
		case Output:
			return v, nil
		}
		return JSONOutput(out)
	})
}

// RawTool returns a tool with a JSON Schema and a function of the raw arguments. It returns an
// error if the schema is invalid or not that of an object.
func RawTool(name, description string, parameters json.RawMessage, fn ToolFunc) (Tool, error) {
	t := Tool{Name: name, Description: description, Parameters: parameters, Run: fn}
	if err := t.resolve(); err != nil {
		return Tool{}, fmt.Errorf("loop: %w", err)
	}
	return t, nil
}

// ClientTool returns a tool that the loop does not run: a call of it ends the run, and the
// caller of the run answers it.
func ClientTool(name, description string, parameters json.RawMessage) (Tool, error) {
	return RawTool(name, description, parameters, nil)
}

// nameRule matches the names that OpenAI, Anthropic and Gemini accept. (Gemini requires a
// letter or an underscore first, which its codec adds.)
var nameRule = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// resolve checks the tool and prepares its schema.
func (t *Tool) resolve() error {
	if !nameRule.MatchString(t.Name) {
		return fmt.Errorf("the tool name %q is not one that providers take: letters, digits, _ and -, 64 characters at most", t.Name)
	}
	if t.Builtin != nil && !jsonio.IsObject(jsonio.View(t.Builtin)) {
		return fmt.Errorf("the tool %q: Builtin is not a JSON object: set the provider's definition", t.Name)
	}
	if t.Parameters == nil || t.schema != nil {
		return nil
	}
	s, err := arguments.ParseSchema(t.Parameters)
	if err != nil {
		return fmt.Errorf("the tool %q: %w", t.Name, err)
	}
	t.schema = s
	return nil
}

// anyObject is the schema of a tool without one.
var anyObject = json.RawMessage(`{"type":"object"}`)

// Definition returns the tool as requests have it.
func (t *Tool) Definition() llm.Tool {
	if t.Builtin != nil {
		return llm.Tool{Name: t.Name, Builtin: t.Builtin}
	}
	p := t.Parameters
	if p == nil {
		p = anyObject
	}
	return llm.Tool{Name: t.Name, Description: t.Description, Parameters: p, Strict: t.Strict}
}

// toolSet is a list of tools in the order of their declaration.
type toolSet struct {
	list  []Tool
	index map[string]int
	defs  []llm.Tool       // what the model gets
	info  []trace.ToolInfo // what the trace declares
}

func newToolSet(tools []Tool) (*toolSet, error) {
	s := &toolSet{list: slices.Clone(tools), index: make(map[string]int, len(tools)), defs: make([]llm.Tool, len(tools))}
	for i := range s.list {
		t := &s.list[i]
		if err := t.resolve(); err != nil {
			return nil, err
		}
		if _, duplicate := s.index[t.Name]; duplicate {
			return nil, fmt.Errorf("two tools have the name %q", t.Name)
		}
		s.index[t.Name] = i
		s.defs[i] = t.Definition()
		s.info = append(s.info, trace.ToolInfo{Name: t.Name, Client: t.Run == nil})
	}
	return s, nil
}

func (s *toolSet) lookup(name string) *Tool {
	i, ok := s.index[name]
	if !ok {
		return nil
	}
	return &s.list[i]
}

// names lists the tools for an error result.
func (s *toolSet) names() string {
	if len(s.list) == 0 {
		return "there are no tools"
	}
	names := make([]string, len(s.list))
	for i, t := range s.list {
		names[i] = t.Name
	}
	return "the tools are " + strings.Join(names, ", ")
}

// callContext is a context with a call. It hides the calls of the contexts around it.
type callContext struct {
	context.Context
	call Call // nameless in a context that hides the calls around it
}

// Value implements [context.Context].
func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

type callKey struct{}

// CallFromContext returns the call that a function of [NewTool] serves. ok is false in any
// other context, also in those of a run that such a function starts.
func CallFromContext(ctx context.Context) (call Call, ok bool) {
	c, ok := ctx.Value(callKey{}).(*callContext)
	if !ok || c.call.Name == "" {
		return Call{}, false
	}
	return c.call, true
}

// withoutCall returns the context for a run that is started with ctx.
func withoutCall(ctx context.Context) context.Context {
	if _, ok := CallFromContext(ctx); ok {
		return &callContext{Context: ctx}
	}
	return ctx
}

// toolContext is the context of a tool in a recorded run. A run that is started with it
// serves the tool's call.
type toolContext struct {
	context.Context
	call trace.Parent
	runs atomic.Int64 // unnamed runs that serve the call
}

// Value implements [context.Context].
func (c *toolContext) Value(key any) any {
	if key == (toolKey{}) {
		return c
	}
	return c.Context.Value(key)
}

type toolKey struct{}

// name gives a run its parent and its name, if the Input does not.
func (a *Agent) name(ctx context.Context, in Input) Input {
	tool, serves := ctx.Value(toolKey{}).(*toolContext)
	if serves && in.Parent == nil {
		call := tool.call
		in.Parent = &call
	}
	switch {
	case in.ID != "":
	case in.Parent == nil:
		in.ID = "r" + strconv.FormatInt(a.runs.Add(1), 10)
	default:
		in.ID = in.Parent.Run + "/" + in.Parent.ToolCallID
		if serves && *in.Parent == tool.call {
			if n := tool.runs.Add(1); n > 1 {
				in.ID += "." + strconv.FormatInt(n, 10)
			}
		}
	}
	return in
}
