package responses

import (
	"cmp"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// callState is what is known of a call while it is streamed.
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

// named announces a call, once; a name that comes later is told when it comes.
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

// show emits what came of the arguments since the last time.
func (s *decoder) show(it *openItem) {
	c := &it.call
	if c.index == 0 || c.shown == len(c.joined) {
		return
	}
	s.emit(llm.ToolCallDelta{Index: c.index, Arguments: string(c.joined[c.shown:])})
	c.shown = len(c.joined)
}

// args takes a piece of the arguments.
func (s *decoder) args(ev *event, kind string) {
	it := s.open(ev.index, kind)
	it.call.joined = append(it.call.joined, ev.delta...)
	if it.call.index == 0 || ev.delta == "" {
		return
	}
	s.emit(llm.ToolCallDelta{Index: it.call.index, Arguments: ev.delta})
	it.call.shown = len(it.call.joined)
}

// argsDone takes the whole arguments as their own event tells them.
func (s *decoder) argsDone(ev *event, kind string) {
	it := s.open(ev.index, kind)
	it.call.told = ev.text
	s.advance(it, ev.text)
}

// advance emits what whole arguments have beyond the pieces that came, if they
// begin with them (quirk QR-06).
func (s *decoder) advance(it *openItem, whole string) {
	c := &it.call
	if isWhole(whole, it.kind) && strings.HasPrefix(whole, string(c.joined)) {
		c.joined = append(c.joined, whole[len(c.joined):]...)
		s.show(it)
	}
}

// isWhole reports whether arguments are one JSON object; what a custom tool gets is
// any text.
func isWhole(args, kind string) bool {
	return kind == kindCustomCall && args != "" || jsonio.IsObject(args)
}

// endCall ends a call. Of the several tellings of its arguments the one that came
// last in the answer and is whole counts (quirk QR-05). A call that the provider did
// not end stays without an end, so that the turn says so (QR-04).
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

// best returns the telling that counts. If none is whole, it is what was streamed, or
// what is told where nothing was.
func (c *callState) best(kind string) string {
	joined := string(c.joined)
	for _, args := range []string{c.last, c.done, c.told, joined} {
		if isWhole(args, kind) {
			return args
		}
	}
	return cmp.Or(joined, c.told, c.done, c.last)
}
