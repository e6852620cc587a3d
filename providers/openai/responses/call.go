package responses

import (
	"cmp"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// callState is the state of a call during the stream.
type callState struct {
	index  int    // in the events; 0 before the call is announced
	id     string // call_id
	named  bool
	joined []byte // of the deltas
	shown  int    // how much of joined was emitted
	told   string // arguments of their own "done" event
	done   string // arguments of output_item.done
	last   string // arguments in the output of the last event
}

// startCall emits the start of a call once, and its name when it arrives.
func (s *decoder) named(it *openItem, from *item) {
	if it.call.index != 0 {
		if !it.call.named && from.name != "" {
			it.call.named = true
			s.emit(llm.ToolCallStart{Index: it.call.index, ID: it.call.id, Name: from.name})
		}
		return
	}
	s.calls++
	s.called = true
	it.call.index, it.call.id, it.call.named = s.calls, from.callID, from.name != ""
	c := from.call()
	s.emit(llm.ToolCallStart{Index: it.call.index, ID: c.ID, Name: c.Name, Opaque: c.Opaque})
	s.show(it)
}

// emitArguments emits the arguments that arrived since the last time.
func (s *decoder) show(it *openItem) {
	c := &it.call
	if c.index == 0 || c.shown == len(c.joined) {
		return
	}
	s.emit(llm.ToolCallDelta{Index: c.index, Arguments: string(c.joined[c.shown:])})
	c.shown = len(c.joined)
}

// argumentsDelta handles a delta of the arguments.
func (s *decoder) args(ev *event, kind string) {
	it := s.open(ev.index, kind)
	it.call.joined = append(it.call.joined, ev.delta...)
	if it.call.index == 0 || ev.delta == "" {
		return
	}
	s.emit(llm.ToolCallDelta{Index: it.call.index, Arguments: ev.delta})
	it.call.shown = len(it.call.joined)
}

// argumentsDone handles the event with the complete arguments.
func (s *decoder) argsDone(ev *event, kind string) {
	it := s.open(ev.index, kind)
	it.call.told = ev.text
	s.advance(it, ev.text)
}

// advance emits the rest of complete arguments, if they begin with the deltas so far (quirk
// QR-06).
func (s *decoder) advance(it *openItem, whole string) {
	c := &it.call
	if isWhole(whole, it.kind) && strings.HasPrefix(whole, string(c.joined)) {
		c.joined = append(c.joined, whole[len(c.joined):]...)
		s.show(it)
	}
}

// isComplete reports whether arguments are a JSON object, or any text for a custom tool.
func isWhole(args, kind string) bool {
	return kind == kindCustomCall && args != "" || jsonio.IsObject(args)
}

// endCall ends a call. Several events repeat its arguments; the last complete ones count (quirk
// QR-05). A call that the provider did not end gets no end (QR-04).
func (s *decoder) endCall(it *openItem) {
	it.added.kind = it.kind
	s.named(it, &it.added)
	c := &it.call
	best := c.best(it.kind)
	if len(c.joined) == 0 {
		c.joined = []byte(best)
		s.show(it)
	}
	end := llm.ToolCallEnd{Index: c.index}
	if best != string(c.joined) {
		end.Arguments = best
		s.emit(llm.Warning{Code: WarnArguments, Message: "the arguments of " + c.id + " came in several forms that differ; the last whole one was kept"})
	}
	if it.finished || end.Arguments != "" {
		s.emit(end)
	}
}

// finalArguments returns the arguments that count. If none are complete, these are the deltas,
// or else any others.
func (c *callState) best(kind string) string {
	joined := string(c.joined)
	for _, args := range []string{c.last, c.done, c.told, joined} {
		if isWhole(args, kind) {
			return args
		}
	}
	return cmp.Or(joined, c.told, c.done, c.last)
}
