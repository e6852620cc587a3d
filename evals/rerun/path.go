package rerun

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// path is what a recorded run did.
type path struct {
	model, system string
	tools         []llm.Tool    // that the model was offered, as far as the recording tells
	begin         []llm.Message // before the first turn of the model
	turns         []turn
	plain         bool // the recording does not tell which results are errors
}

// turn is a turn of the model with what came of it.
type turn struct {
	said    trace.ModelResponse
	calls   []llm.ToolCall
	results []*llm.ToolResult // beside calls; nil where none is recorded
	// next are the messages of users that came behind it, before the next turn.
	next []llm.Message
}

// newPath reads a run. The error says that there is nothing to rerun.
func newPath(run *importer.Run) (*path, error) {
	p := &path{plain: len(run.Events) == 0}
	if p.plain {
		p.tools, _ = ReadTools(run.Meta["tools"]) // anything else beside the messages tells nothing
		_ = json.Unmarshal(run.Meta["model"], &p.model)
		p.messages(run.Messages)
	} else {
		p.events(run.Events)
	}
	if len(p.turns) == 0 {
		return nil, errors.New("the recording has no turn of a model")
	}
	return p, nil
}

// messages reads a list of messages. What stands before the first user message is what
// the model was told, whoever said it.
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

// events reads a trace: what the model was asked for the answer, and what came of it.
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
			p.asked(body, sent)
			sent = body.PrefixMessages + len(body.NewMessages)
		case trace.ModelResponse:
			p.turn(body)
		case trace.ToolEnd:
			p.result(body.ToolCallID, body.Result)
		case trace.ToolSkip:
			p.result(body.ToolCallID, body.Result)
		default: // says nothing here
		}
	}
}

// asked takes what a request says: the first one all, and those that go on from the one
// before what users said meanwhile. What a rewrite put in the place of the history is
// nothing that was said.
func (p *path) asked(req trace.ModelRequest, sent int) {
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

// heard takes what the model was told by others than tools. What is said by none of the
// usual roles, such as a developer, is the system's.
func (p *path) heard(m llm.Message) {
	if m.Role != llm.RoleUser && m.Role != llm.RoleAssistant {
		m.Role = llm.RoleSystem
	}
	switch n := len(p.turns); {
	case len(m.Parts) == 0: // which says nothing
	case n > 0:
		p.turns[n-1].next = append(p.turns[n-1].next, m)
	case m.Role == llm.RoleSystem && len(p.begin) == 0:
		p.system = strings.TrimPrefix(p.system+"\n\n"+m.Text(), "\n\n")
	default:
		p.begin = append(p.begin, m)
	}
}

func (p *path) turn(said trace.ModelResponse) {
	calls := said.Message.Calls()
	p.turns = append(p.turns, turn{said: said, calls: calls, results: make([]*llm.ToolResult, len(calls))})
}

// result gives a call its result: of the calls of this id that have none yet, the first
// of the latest turn, since ids are used again. One that no call has is that of the first
// call without a result.
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

// called are the names of the tools that were called, in the order of their first calls.
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
