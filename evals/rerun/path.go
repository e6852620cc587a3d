package rerun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

type path struct {
	model  string
	system llm.System
	tools  []llm.Tool    // known tools of the model
	begin  []llm.Message // before the first turn of the model
	turns  []turn
	plain  bool // the recording does not mark error results
}

type turn struct {
	said    trace.ModelResponse
	calls   []llm.ToolCall
	results []*llm.ToolResult // by call; nil if not recorded
	// next are the user messages before the next response.
	next []llm.Message
}

// newPath reads a run. It returns an error if there is no model response.
func newPath(run *importer.Run) (*path, error) {
	p := &path{plain: len(run.Events) == 0}
	if p.plain {
		p.tools, _ = readTools(run.Meta["tools"]) // other metadata is ignored
		_ = json.Unmarshal(run.Meta["model"], &p.model)
		p.messages(run.Messages)
	} else {
		p.events(run.Events)
	}
	if len(p.turns) == 0 {
		return nil, place(run, errors.New("the recording has no model response"))
	}
	return p, nil
}

// messages reads a list of messages. Text before the first user message belongs to the system
// prompt, whatever its role.
func (p *path) messages(list []llm.Message) {
	first := max(slices.IndexFunc(list, func(m llm.Message) bool { return m.Role == llm.RoleUser }), 0)
	for i, m := range list {
		switch {
		case m.Role == llm.RoleTool:
			for _, part := range m.Parts {
				if r, ok := part.(llm.ToolResult); ok {
					p.result(r.ID, r)
				}
			}
		case m.Role == llm.RoleAssistant && (i >= first || len(m.Calls()) > 0):
			p.turn(trace.ModelResponse{Message: m})
		default:
			p.heard(m)
		}
	}
}

// events reads a trace: the requests for the answer and their responses and results.
func (p *path) events(events []trace.Event) {
	sent := 0 // messages of the last request
	for _, ev := range events {
		if ev.Purpose != trace.PurposeAnswer {
			continue
		}
		switch body := ev.Body.(type) {
		case trace.ModelConfig:
			p.model, p.system, p.tools = body.Model, body.System, body.Tools
		case trace.ModelRequest:
			p.request(body, sent)
			sent = body.PrefixMessages + len(body.NewMessages)
		case trace.ModelResponse:
			p.turn(body)
		case trace.ToolEnd:
			p.result(body.ToolCallID, body.Result)
		case trace.ToolSkip:
			p.result(body.ToolCallID, body.Result)
		default: // not part of the path
		}
	}
}

// request reads a request: all of the first one, and the new user messages of later ones.
// Rewritten history is ignored.
func (p *path) request(req trace.ModelRequest, sent int) {
	switch {
	case len(p.turns) == 0:
		p.begin = append(p.begin[:min(req.PrefixMessages, len(p.begin))], req.NewMessages...)
	case req.PrefixMessages >= sent:
		for _, m := range req.NewMessages {
			if m.Role == llm.RoleUser || m.Role == llm.RoleSystem {
				p.heard(m)
			}
		}
	}
}

// heard reads a message that is not from a tool. Unusual roles, such as developer, count as
// system.
func (p *path) heard(m llm.Message) {
	if m.Role != llm.RoleUser && m.Role != llm.RoleAssistant {
		m.Role = llm.RoleSystem
	}
	switch n := len(p.turns); {
	case len(m.Parts) == 0: // empty
	case n > 0:
		p.turns[n-1].next = append(p.turns[n-1].next, m)
	case m.Role == llm.RoleSystem && len(p.begin) == 0:
		p.system = slices.Concat(p.system, llm.SystemText(m.Text()))
	default:
		p.begin = append(p.begin, m)
	}
}

func (p *path) turn(said trace.ModelResponse) {
	calls := said.Message.Calls()
	p.turns = append(p.turns, turn{said: said, calls: calls, results: make([]*llm.ToolResult, len(calls))})
}

// result assigns a result to the first open call with this id in the latest response, since ids
// can repeat; otherwise to the first open call.
func (p *path) result(id string, r llm.ToolResult) {
	for _, t := range slices.Backward(p.turns) {
		for i, c := range t.calls {
			if c.ID == id && t.results[i] == nil {
				t.results[i] = &r
				return
			}
		}
	}
	if n := len(p.turns); n > 0 {
		last := p.turns[n-1]
		if i := slices.Index(last.results, nil); i >= 0 {
			last.results[i] = &r
		}
	}
}

// called returns the names of the called tools, in order of first calls.
func (p *path) called() (names []string) {
	for _, t := range p.turns {
		for _, c := range t.calls {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// Recorded is a run with its file.
type Recorded struct {
	File string
	importer.Run
}

// Runs yields the runs of inputs, in order, one in memory at a time, until ctx ends. It skips
// runs that a call of another run started, recorded requests that a later one continues, and
// found inputs that are not recordings. It uses the options Rows, Names and Skipped. An error is
// an *importer.Error; Runs continues after it if possible.
func Runs(ctx context.Context, inputs []evals.Input, o *evals.Options) iter.Seq2[Recorded, error] {
	return func(yield func(Recorded, error) bool) {
		for _, in := range inputs {
			if !runsOf(ctx, &in, o, yield) {
				return
			}
		}
	}
}

// runsOf yields the runs of an input. It reports whether to continue.
func runsOf(ctx context.Context, in *evals.Input, o *evals.Options, yield func(Recorded, error) bool) bool {
	fail := func(err error) bool {
		if _, ok := errors.AsType[*importer.Error](err); !ok {
			err = &importer.Error{File: in.Name, Err: err}
		}
		return yield(Recorded{}, err)
	}
	f, err := in.Open()
	if err != nil {
		return fail(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	src, err := importer.OpenRows(in.Name, f, o.Rows)
	switch {
	case in.Found && errors.Is(err, importer.ErrFormat):
		if o.Skipped != nil {
			o.Skipped(in.Name)
		}
		return true
	case err != nil:
		return fail(err)
	}
	for run, err := range src.Conversations() {
		more := true
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			more = fail(err)
		case run.Partial:
			more = fail(&importer.Error{File: in.Name, Line: run.Line, Err: fmt.Errorf("the run %q may be incomplete (an event is missing) and is not rerun", run.Name)})
		case run.Parent() == nil:
			for _, unknown := range run.Unknown {
				more = more && fail(unknown)
			}
			if !more {
				return false
			}
			if err := o.Names.Name(&run); err != nil {
				more = fail(&importer.Error{File: in.Name, Line: run.Line, Err: err})
			} else {
				more = yield(Recorded{in.Name, run}, nil)
			}
		}
		if !more {
			return false
		}
	}
	return true
}
