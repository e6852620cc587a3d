package rerun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// ModelOptions change the requests and the comparison. The zero value repeats the recorded
// requests.
type ModelOptions struct {
	// Compare compares the arguments of calls.
	Compare Options
	// Name is the model name in requests; empty means the recorded one.
	Name string
	// System replaces the system prompt, and Prompt the user message before the first recorded
	// response; empty means unchanged. {recorded} in them is replaced with the recorded text.
	System, Prompt string
	// Tools replace the recorded tool definitions; nil means unchanged.
	Tools []llm.Tool
	// ContinueOnUnknown answers an unrecorded call with an error, so that the model can continue.
	// Otherwise the run ends at the divergence.
	ContinueOnUnknown bool
	// Clock is the clock of the run; nil means a new virtual clock. A scripted model that waits
	// needs the same clock.
	Clock loop.Clock
}

// recordedMark is the placeholder for recorded text in prompts.
const recordedMark = "{recorded}"

// unrecordedText is the result of an unrecorded call.
const unrecordedText = "the result of this call is not known: it was not made in the recording"

// ModelRerun is the result of a rerun with a model.
type ModelRerun struct {
	// Divergence is the first difference from the recording; nil if there is none.
	Divergence *divergence
	// Steps counts the model responses. Reworded counts those without calls whose text differs
	// from the recorded one.
	Steps, Reworded int
	// Err is the error of the model; nil if it did not fail.
	Err    error
	Events []trace.Event // of the rerun
}

// divergence is the place where a run diverges from the recording.
type divergence struct {
	// Step is the step of the rerun and RecordedStep the compared step of the recording, from 0.
	Step         int      `json:"step"`
	RecordedStep int      `json:"recorded_step"`
	Why          string   `json:"why"` // in words
	Recorded     response `json:"recorded"`
	Now          response `json:"now"`
}

// response is the text and the calls of a model response.
type response struct {
	Text  string         `json:"text,omitempty"`
	Calls []responseCall `json:"calls,omitempty"`
}

// responseCall is a call of a response.
type responseCall struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"` // unchanged
}

func newCall(c llm.ToolCall) responseCall { return responseCall{c.Name, c.Arguments} }

func newResponse(text string, calls []llm.ToolCall) response {
	t := response{Text: text}
	for _, c := range calls {
		t.Calls = append(t.Calls, newCall(c))
	}
	return t
}

// String returns the call in one line.
func (c responseCall) String() string { return strings.TrimSpace(c.Tool + " " + c.Arguments) }

// String returns the response in one line: its text and its calls.
func (t response) String() string {
	var words []string
	if t.Text != "" {
		words = append(words, fmt.Sprintf("%q", t.Text))
	}
	for _, c := range t.Calls {
		words = append(words, c.String())
	}
	return cmp.Or(strings.Join(words, "; "), "nothing")
}

// Model repeats a recorded run with a model. The model gets the recorded user messages, and its
// calls get the recorded results. The options may be nil.
//
// Between two user messages, the recording is a set of calls. The model follows it if it makes
// exactly these calls, in any order and any number of steps. A call matches the first open
// recorded call of the same tool with the same arguments. The next user message follows a
// response without calls after all calls. The run diverges at any other call and at a response
// without calls before all calls were made. Texts are not compared. After a divergence there are
// no user messages.
//
// Model returns an error if the run cannot be repeated or ctx ends.
func Model(ctx context.Context, run *importer.Run, model llm.Model, o *ModelOptions) (*ModelRerun, error) {
	if o == nil {
		o = &ModelOptions{}
	}
	p, err := newPath(run)
	if err != nil {
		return nil, place(run, err)
	}
	x := &modelRerun{path: p, continueOnUnknown: o.ContinueOnUnknown, stages: p.stages()}
	if x.compare, err = newComparison(&o.Compare); err != nil {
		return nil, place(run, err)
	}
	p.change(o)
	x.out.Events, err = play(ctx, model, loop.Config{
		Model: p.model, System: p.system, Tools: p.loopTools(nil), MaxSteps: len(p.turns) + loop.DefaultMaxSteps, Clock: o.Clock,
	}, p.begin, x)
	if _, invalid := errors.AsType[*loop.HistoryError](err); invalid || err != nil && (ctx.Err() != nil || x.out.Events == nil) {
		return nil, place(run, err)
	}
	x.out.Err = err
	return &x.out, nil
}

// change applies the options to the request.
func (p *path) change(o *ModelOptions) {
	change := func(text *string, to string) {
		if to != "" {
			*text = strings.ReplaceAll(to, recordedMark, *text)
		}
	}
	if o.Name != "" {
		p.model = o.Name
	}
	if o.Tools != nil {
		p.tools = o.Tools
	}
	change(&p.system, o.System)
	for i, m := range slices.Backward(p.begin) {
		if m.Role == llm.RoleUser && o.Prompt != "" {
			text := m.Text()
			change(&text, o.Prompt)
			others := slices.DeleteFunc(slices.Clone(m.Parts), func(part llm.Part) bool { _, is := part.(llm.Text); return is })
			p.begin[i].Parts = slices.Concat([]llm.Part{llm.Text{Text: text}}, others)
			return
		}
	}
}

// definition is a tool in the form of the OpenAI protocols, with or without an object "function",
// or of Anthropic.
type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	InputSchema json.RawMessage `json:"input_schema"`
	Strict      *bool           `json:"strict"`
	Function    *definition     `json:"function"`
}

// ReadTools sets Tools from a JSON array of tool definitions, as requests to OpenAI or Anthropic
// contain them.
func (o *ModelOptions) ReadTools(raw []byte) (err error) {
	o.Tools, err = readTools(raw)
	return err
}

func readTools(raw []byte) ([]llm.Tool, error) {
	var list []definition
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("want an array of tool definitions: %w", err)
	}
	tools := make([]llm.Tool, 0, len(list))
	for i, d := range list {
		if d.Function != nil {
			d = *d.Function
		}
		if d.Name == "" {
			return nil, fmt.Errorf("tool %d: missing name", i)
		}
		if d.Parameters == nil {
			d.Parameters = d.InputSchema
		}
		tools = append(tools, llm.Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters, Strict: d.Strict})
	}
	return tools, nil
}
