package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/arguments"
	"github.com/looptape/looptape/trace"
)

// Tool is a tool that a model may call. Make one with NewTool, RawTool or
// ClientTool, or fill the fields.
type Tool struct {
	Name        string
	Description string
	// Parameters is the JSON Schema (2020-12 or draft 7) of the arguments, an
	// object. nil takes any object and checks nothing.
	Parameters json.RawMessage
	Strict     *bool // see llm.Tool
	// Run runs a call. nil makes it a client tool: the loop stops and hands the
	// call to its caller. Run may be called by several goroutines at once. An
	// error it returns, or a panic, becomes an error result that the model sees.
	Run ToolFunc

	schema *arguments.Schema // nil accepts any object
}

// ToolFunc runs one call.
type ToolFunc func(ctx context.Context, call Call) (Output, error)

// Call is a call as its tool gets it.
type Call struct {
	ID   string
	Name string
	// Args is a JSON object that the schema allows, with the schema's defaults.
	Arguments string
	Step      int // counted from 0; see Resume for -1
	// Index is the call's place among the calls of its turn, from 0.
	Index int

	planned *plannedCall
}

// Output is what a tool gives back.
type Output struct {
	Content []llm.Part // Text and Media
	IsError bool       // the tool failed, and Content says how
}

// TextOutput is an Output of one text.
func TextOutput(text string) Output { return Output{Content: []llm.Part{llm.Text{Text: text}}} }

// JSONOutput is an Output of a value's JSON, without HTML escaping.
func JSONOutput(v any) (Output, error) {
	text, err := arguments.Encode(v)
	if err != nil {
		return Output{}, fmt.Errorf("encoding the tool's result: %w", err)
	}
	return TextOutput(text), nil
}

// NewTool makes a Go function a tool. The schema of its arguments is inferred
// from In, a struct or a map (see jsonschema.For: json tags name the members,
// omitempty makes them optional, a jsonschema tag describes them). Arguments
// are validated before fn is called. An Out that is a string is the result's
// text, an Output the result, and any other value the text of its JSON.
//
// It fails if no schema can be inferred, or if it is not that of an object.
func NewTool[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error)) (Tool, error) {
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
		out, err := fn(&callContext{ctx, call, true}, in)
		if err != nil {
			return Output{}, err
		}
		switch v := any(out).(type) {
		case string:
			return TextOutput(v), nil
		case Output:
			return v, nil
		}
		return JSONOutput(out)
	})
}

// RawTool makes a tool from a JSON Schema and a function of the raw arguments.
// It fails if the schema cannot be read or is not that of an object.
func RawTool(name, description string, parameters json.RawMessage, fn ToolFunc) (Tool, error) {
	t := Tool{Name: name, Description: description, Parameters: parameters, Run: fn}
	if err := t.resolve(); err != nil {
		return Tool{}, fmt.Errorf("loop: %w", err)
	}
	return t, nil
}

// ClientTool makes a tool that the loop does not run: a call of it ends the run,
// and the caller answers it.
func ClientTool(name, description string, parameters json.RawMessage) (Tool, error) {
	return RawTool(name, description, parameters, nil)
}

// nameRule is what OpenAI, Anthropic and Gemini all take in a name (Gemini also
// wants a letter or an underscore first, which its adapter sees to).
var nameRule = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// resolve checks the tool and prepares its schema.
func (t *Tool) resolve() error {
	if !nameRule.MatchString(t.Name) {
		return fmt.Errorf("the tool name %q is not one that providers take: letters, digits, _ and -, 64 characters at most", t.Name)
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

// anyObject is the schema of a tool that declares none.
var anyObject = json.RawMessage(`{"type":"object"}`)

// Definition returns the tool as requests have it.
func (t *Tool) Definition() llm.Tool {
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

// names lists the tools for an error text.
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
