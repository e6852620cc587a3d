// Package facts extracts the final answer, the tool calls and the errors of a run.
package facts

import (
	"cmp"
	"encoding/json"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// Facts are equal for a trace and for the list of its messages. They describe what the run itself
// did: not the history it began with, and not model calls for another purpose than the answer.
type Facts struct {
	// Answer is the final answer that the recording names, or else the last text of the
	// assistant; may be empty.
	Answer string
	// Calls are the tool calls in order, those that the provider executed included.
	Calls []Call
	// Steps counts the model responses.
	Steps int
	// Finishes are the known finish reasons in order. A list of messages can have one, in
	// finish_reason.
	Finishes []llm.FinishReason
	// Refusals are the texts that are marked as refusals.
	Refusals []string
	// Errors are the failed tool calls, model call attempts and runs.
	Errors []string
}

// Call is a tool call with its result.
type Call struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	RawArguments string `json:"arguments"` // unchanged; see [Call.Arguments]
	// Answered is true if there is a Result; Failed is true if it is an error.
	Answered bool   `json:"answered"`
	Failed   bool   `json:"failed"`
	Result   string `json:"result"`
}

// Arguments returns the arguments as JSON; omitted arguments are {}.
func (c *Call) Arguments() json.RawMessage { return json.RawMessage(cmp.Or(c.RawArguments, "{}")) }

// Read returns the facts of a run. A result belongs to the first call with its id that has none,
// since ids can repeat.
func Read(run *importer.Run) *Facts {
	var f Facts // in the memory of the caller, if that does not keep it
	f.read(run)
	return &f
}

func (f *Facts) read(run *importer.Run) {
	for _, m := range run.Messages {
		f.message(m)
	}
	for _, ev := range run.Events {
		f.event(&ev)
	}
	f.Answer = cmp.Or(run.Answer, f.Answer)
	if raw := run.Meta["finish_reason"]; raw != nil {
		var last llm.FinishReason
		if json.Unmarshal(raw, &last) == nil && last != "" {
			f.Finishes = append(f.Finishes, last)
		}
	}
}

func (f *Facts) event(ev *trace.Event) {
	switch body := ev.Body.(type) {
	case trace.ModelResponse:
		if ev.Purpose == trace.PurposeAnswer {
			f.message(body.Message)
			f.Finishes = append(f.Finishes, body.FinishReason)
		}
	case trace.ModelError:
		f.Errors = append(f.Errors, "model: "+body.Error.Message)
	case trace.ToolEnd:
		f.result(body.ToolCallID, body.Result)
	case trace.ToolSkip:
		f.result(body.ToolCallID, body.Result)
	case trace.RunEnd:
		if body.Error != nil {
			f.Errors = append(f.Errors, "run: "+body.Error.Message)
		}
	}
}

func (f *Facts) message(m llm.Message) {
	if m.Role == llm.RoleAssistant {
		f.Steps++
		f.Answer = cmp.Or(m.Text(), f.Answer)
	}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case llm.ToolCall:
			f.Calls = append(f.Calls, Call{ID: p.ID, Name: p.Name, RawArguments: p.Arguments})
		case llm.ToolResult:
			f.result(p.ID, p)
		case llm.Text:
			if p.Refusal {
				f.Refusals = append(f.Refusals, p.Text)
			}
		default: // not a fact
		}
	}
}

func (f *Facts) result(id string, r llm.ToolResult) {
	for i := range f.Calls {
		c := &f.Calls[i]
		if c.ID != id || c.Answered {
			continue
		}
		c.Answered, c.Failed, c.Result = true, r.IsError, r.Text()
		if r.IsError {
			f.Errors = append(f.Errors, c.Name+": "+c.Result)
		}
		return
	}
}
