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

// entry is a call whose tool was entered: the behaviour that it will be.
type entry struct {
	tool string
	n    int           // which of the tool's calls
	at   time.Duration // when it was entered; when it was left, among those that have ended
}

// enter keeps a place for what a call will come to: calls may end in another
// order than they began, and a script counts them as they begin.
func (b *builder) enter(e trace.ToolStart, at time.Duration) {
	if b.running == nil {
		b.running = map[string]entry{}
	}
	t := b.tool(e.Name)
	b.running[e.ToolCallID] = entry{e.Name, len(t.Calls), at}
	t.Calls = append(t.Calls, fake.Behavior{})
}

// leave makes what a tool gave back the behaviour of its call.
func (b *builder) leave(e trace.ToolEnd, at time.Duration) {
	in, ok := b.running[e.ToolCallID]
	if !ok {
		return // it was abandoned before
	}
	delete(b.running, e.ToolCallID)
	took := b.since(at, in.at)
	x := b.behaviour(in.tool, e.Outcome, e.Result)
	switch {
	case !x.Stall:
		x.Delay, x.IgnoresCancel = took, took > 0 && b.over
	case e.Outcome == trace.OutcomeTimeout && took > b.timeout:
		x = fake.Behavior{Delay: took, IgnoresCancel: true}
	}
	b.tool(in.tool).Calls[in.n] = x
	in.at = at
	b.ended = append(b.ended, in)
}

// cancelled notes the end of the run's context. It may be seen late, when the tool
// has returned that was waited for: a tool that ended at this very time did not heed
// it.
func (b *builder) cancelled(at time.Duration) {
	b.over = true
	for _, in := range b.ended {
		if x := &b.tool(in.tool).Calls[in.n]; in.at == at && x.Delay > 0 {
			x.IgnoresCancel = true
		}
	}
}

// abandonedFor is how much longer a tool works that was not waited for. How long
// it did is not in a trace.
const abandonedFor = time.Hour

// abandon makes a tool that did not stop one that works on.
func (b *builder) abandon(call string, at time.Duration) {
	in, ok := b.running[call]
	if !ok {
		return
	}
	delete(b.running, call)
	b.tool(in.tool).Calls[in.n] = fake.Behavior{Delay: b.since(at, in.at) + abandonedFor, IgnoresCancel: true}
}

// behaviour is what a tool does that gave this back, but for its time.
func (b *builder) behaviour(name string, outcome trace.Outcome, r llm.ToolResult) (x fake.Behavior) {
	text := r.Text()
	if r.IsError {
		text = b.unworded(name, text)
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
			b.lose("media in the results of the tool " + name)
		}
	}
	return x
}

// unworded is the text of an error that a tool returned, without what the preset puts
// before it or around it.
func (b *builder) unworded(tool, text string) string {
	if b.filled.ErrorText == nil {
		return text
	}
	var object struct{ Error string }
	if json.Unmarshal([]byte(text), &object) == nil && b.filled.ErrorText(tool, errors.New(object.Error)) == text {
		return object.Error
	}
	return strings.TrimPrefix(text, b.filled.ErrorText(tool, errors.New("")))
}
