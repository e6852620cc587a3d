package scenario

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

type toolCall struct {
	tool string
	n    int           // the index among the calls of the tool
	at   time.Duration // of its start, and then of its end
}

// toolStarted adds an empty behavior: a script counts calls in the order of their starts.
func (b *builder) toolStarted(e trace.ToolStart, at time.Duration) {
	t := b.tool(e.Name)
	b.running[e.ToolCallID] = toolCall{e.Name, len(t.Calls), at}
	t.Calls = append(t.Calls, fake.Behavior{})
}

func (b *builder) toolEnded(e trace.ToolEnd, at time.Duration) {
	in, ok := b.running[e.ToolCallID]
	if !ok {
		return // the loop abandoned it
	}
	delete(b.running, e.ToolCallID)
	duration := b.since(at, in.at)
	x := b.behavior(in.tool, e.Outcome, e.Result)
	switch {
	case !x.Stall:
		x.Delay, x.IgnoresCancel = duration, duration > 0 && (b.contextEnded || b.timeout > 0 && duration > b.timeout)
	case e.Outcome == trace.OutcomeTimeout && duration > b.timeout:
		x = fake.Behavior{Delay: duration, IgnoresCancel: true}
	}
	b.tool(in.tool).Calls[in.n] = x
	in.at = at
	b.ended = append(b.ended, in)
}

// canceled handles the end of the run's context. A tool that ended at the same time ignored
// it.
func (b *builder) canceled(at time.Duration) {
	b.contextEnded = true
	for _, in := range b.ended {
		if x := &b.tool(in.tool).Calls[in.n]; in.at == at && x.Delay > 0 {
			x.IgnoresCancel = true
		}
	}
}

// abandonedFor is how long an abandoned tool continues, which no trace contains.
const abandonedFor = time.Hour

// abandon makes a call ignore the end of its context.
func (b *builder) abandon(call string, at time.Duration) {
	in, ok := b.running[call]
	if !ok {
		return
	}
	delete(b.running, call)
	b.tool(in.tool).Calls[in.n] = fake.Behavior{Delay: b.since(at, in.at) + abandonedFor, IgnoresCancel: true}
}

// behavior returns the behavior of a tool with this result, without its delay.
func (b *builder) behavior(name string, outcome trace.Outcome, r llm.ToolResult) (x fake.Behavior) {
	text := r.Text()
	if r.IsError {
		text = b.errorText(name, text)
	}
	switch {
	case outcome == trace.OutcomePanic && text == loop.ExitedText:
		x.Exit = true
	case outcome == trace.OutcomePanic:
		x.Panic = strings.TrimPrefix(text, "the tool "+name+" panicked: ")
	case outcome == trace.OutcomeTimeout, outcome == trace.OutcomeCanceled:
		x.Stall = true
	case r.IsError:
		x.Error = text
	default:
		x.Text = text
	}
	for _, p := range r.Content {
		if _, ok := p.(llm.Text); !ok {
			b.omit("media in the results of the tool %s", name)
		}
	}
	return x
}

// errorText returns the text of a tool's error without the text that the preset adds.
func (b *builder) errorText(tool, text string) string {
	if b.preset.ErrorText == nil {
		return text
	}
	var object struct{ Error string }
	if json.Unmarshal([]byte(text), &object) == nil && b.preset.ErrorText(tool, errors.New(object.Error)) == text {
		return object.Error
	}
	return strings.TrimPrefix(text, b.preset.ErrorText(tool, errors.New("")))
}
