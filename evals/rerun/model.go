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

const recordedMark = "{recorded}"

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

type response struct {
	Text  string         `json:"text,omitempty"`
	Calls []responseCall `json:"calls,omitempty"`
}

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
		return nil, err
	}
	x := &modelRerun{path: p, options: o, stages: p.stages()}
	if err = o.Compare.Check(); err != nil {
		return nil, place(run, err)
	}
	p.change(o)
	cfg := loop.Config{Tools: p.loopTools(nil), MaxSteps: len(p.turns) + loop.DefaultMaxSteps, Clock: o.Clock}
	hooks := loop.Hooks{BeforeStep: x.before, AfterModel: x.response, BeforeTools: x.batch, AfterStep: x.after}
	x.out.Events, err = p.play(ctx, model, cfg, hooks)
	if _, invalid := errors.AsType[*loop.HistoryError](err); invalid || err != nil && (ctx.Err() != nil || x.out.Events == nil) {
		return nil, place(run, err)
	}
	x.out.Err = err
	return &x.out, nil
}

func (p *path) change(o *ModelOptions) {
	p.model = cmp.Or(o.Name, p.model)
	if o.Tools != nil {
		p.tools = o.Tools
	}
	if o.System != "" {
		p.system = llm.SystemText(strings.ReplaceAll(o.System, recordedMark, p.system.Text()))
	}
	for i, m := range slices.Backward(p.begin) {
		if m.Role != llm.RoleUser || o.Prompt == "" {
			continue
		}
		parts := []llm.Part{llm.Text{Text: strings.ReplaceAll(o.Prompt, recordedMark, m.Text())}}
		for _, part := range m.Parts {
			if _, text := part.(llm.Text); !text {
				parts = append(parts, part)
			}
		}
		p.begin[i].Parts = parts
		return
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

// stage is the recording between two user messages.
type stage struct {
	last  int // turn, of the path
	calls []madeCall
	// early counts the responses without calls before the last response.
	early int
	next  []llm.Message // what users said then
}

// open returns the first call that the rerun has not made, or nil.
func (s *stage) open() *madeCall {
	for i := range s.calls {
		if !s.calls[i].made {
			return &s.calls[i]
		}
	}
	return nil
}

type madeCall struct {
	llm.ToolCall

	turn   int
	result *llm.ToolResult
	made   bool // by the rerun, too
}

// stages divides the recording at user messages.
func (p *path) stages() (list []*stage) {
	s := &stage{}
	for i, t := range p.turns {
		s.last = i
		for j, c := range t.calls {
			s.calls = append(s.calls, madeCall{ToolCall: c, turn: i, result: t.results[j]})
		}
		last := i == len(p.turns)-1
		if len(t.calls) == 0 && len(t.next) == 0 && !last {
			s.early++
		}
		if len(t.next) > 0 || last {
			s.next = t.next
			list = append(list, s)
			s = &stage{}
		}
	}
	return list
}

type modelRerun struct {
	path    *path
	options *ModelOptions
	stages  []*stage      // those that are not over, the first of them under way
	early   int           // answers in this stage
	taken   []*madeCall   // for the calls of this step; nil for those not recorded
	heard   []llm.Message // user messages after results
	out     ModelRerun
}

// before adds the user messages that came during tool calls.
func (x *modelRerun) before(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
	heard := x.heard
	x.heard = nil
	return addHeard(s, heard), nil
}

// response compares a response with the recording.
func (x *modelRerun) response(_ context.Context, s *loop.StepInfo, t *llm.Response) (loop.Decision, error) {
	x.out.Steps++
	calls := t.Calls()
	if len(calls) == 0 {
		return x.answered(s, t), nil
	}
	x.taken = x.taken[:0]
	for _, c := range calls {
		x.taken = append(x.taken, x.take(c))
	}
	if i := slices.Index(x.taken, nil); x.out.Divergence == nil && i >= 0 {
		x.diverge(s, t, fmt.Sprintf("the call of %s is not recorded here, or not that often", newCall(calls[i])))
		if !x.options.ContinueOnUnknown {
			return loop.Decision{Action: trace.Stop, Reason: "left_record", Note: x.out.Divergence.Why}, nil
		}
	}
	return loop.Decision{}, nil
}

// take marks the first open recorded call that is equal; nil if there is none.
func (x *modelRerun) take(c llm.ToolCall) *madeCall {
	const none = "{}"
	calls := x.stages[0].calls
	for i := range calls {
		was := &calls[i]
		if was.made || was.Name != c.Name {
			continue
		}
		if same, _ := x.options.Compare.same(c.Name, cmp.Or(was.Arguments, none), cmp.Or(c.Arguments, none)); same {
			was.made = true
			return was
		}
	}
	return nil
}

// answered returns the decision after a response without calls.
func (x *modelRerun) answered(s *loop.StepInfo, t *llm.Response) loop.Decision {
	st := x.stages[0]
	switch open := st.open(); {
	case x.out.Divergence != nil:
	case open == nil:
		if was := x.path.turns[st.last]; len(was.calls) == 0 && strings.TrimSpace(was.said.Message.Text()) != strings.TrimSpace(t.Text()) {
			x.out.Reworded++
		}
		if x.advance() {
			return next(st.next)
		}
	case x.early < st.early: // as recorded
		x.early++
		return next(nil)
	default:
		x.diverge(s, t, fmt.Sprintf("the response has no calls; the recorded run called %s before", newCall(open.ToolCall)))
	}
	return loop.Decision{}
}

func (x *modelRerun) advance() bool {
	if len(x.stages) == 1 {
		return false
	}
	x.stages, x.early = x.stages[1:], 0
	return true
}

func (x *modelRerun) diverge(s *loop.StepInfo, t *llm.Response, why string) {
	at := x.stages[0].last
	if open := x.stages[0].open(); open != nil {
		at = open.turn
	}
	was := x.path.turns[at]
	x.out.Divergence = &divergence{
		Step: s.Step, RecordedStep: at, Why: why,
		Recorded: newResponse(was.said.Message.Text(), was.calls), Now: newResponse(t.Text(), t.Calls()),
	}
}

func (x *modelRerun) batch(_ context.Context, _ *loop.StepInfo, calls []loop.PlannedCall) (decisions []loop.CallDecision, d loop.Decision, err error) {
	for i, c := range calls {
		if was := x.taken[i]; was != nil {
			decisions = append(decisions, answer(c, was.result))
			continue
		}
		out := loop.TextOutput(unrecordedText)
		out.IsError = true
		decisions = append(decisions, loop.CallDecision{Index: c.Index, Output: &out, Reason: "unrecorded"})
	}
	return decisions, d, nil
}

// after ends a stage that ends with calls.
func (x *modelRerun) after(context.Context, *loop.StepInfo, *loop.Step) (loop.Decision, error) {
	st := x.stages[0]
	if x.out.Divergence != nil || st.open() != nil || len(x.path.turns[st.last].calls) == 0 {
		return loop.Decision{}, nil
	}
	if !x.advance() {
		return x.path.end(len(x.path.turns) - 1), nil
	}
	x.heard = st.next
	return loop.Decision{}, nil
}
