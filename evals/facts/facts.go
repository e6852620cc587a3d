// Package facts reads what a run says: its answer, its tool calls and what failed. It
// leaves out every judgement.
package facts

import (
	"cmp"
	"encoding/json"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// Facts are what a run says, the same of a trace as of the list of its messages. Of a
// trace it is what the run itself did: the history that it began with is not part of it,
// nor is what a model was asked for another purpose than the answer.
type Facts struct {
	// Answer is the final text that the recording names, or else the last that the
	// assistant said; "" if there is none.
	Answer string
	// Calls are the tool calls in the order in which the model made them, those that the
	// provider ran itself among them.
	Calls []Call
	// Steps counts the answers of the model.
	Steps int
	// Finishes are the finish reasons, in order, as far as the recording tells them: of a list
	// of messages the last, which may stand beside it as finish_reason.
	Finishes []llm.FinishReason
	// Refusals are the texts that are marked as refusals.
	Refusals []string
	// Errors are what failed: tool calls, attempts of model calls, and the run itself.
	Errors []string
}

// Call is a tool call and what came of it.
type Call struct {
	ID           string
	Name         string
	RawArguments string // as the model sent them; see [Call.Arguments]
	// Answered says that there is a result, which is Result; Failed, that it is an error.
	Answered, Failed bool
	Result           string
}

// Arguments returns the arguments as JSON; those that the model left out are {}.
func (c *Call) Arguments() json.RawMessage { return json.RawMessage(cmp.Or(c.RawArguments, "{}")) }

// Read returns the facts of a run. Results belong to the first call of their id that has
// none yet, since ids are used again.
func Read(run *importer.Run) *Facts {
	f := &Facts{}
	for _, m := range run.Messages {
		f.message(m)
	}
	for _, ev := range run.Events {
		f.event(&ev)
	}
	f.Answer = cmp.Or(run.Answer, f.Answer)
	var last llm.FinishReason
	if json.Unmarshal(run.Meta["finish_reason"], &last) == nil && last != "" {
		f.Finishes = append(f.Finishes, last)
	}
	return f
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
		default: // says nothing here
		}
	}
}

// result gives a call its result.
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
