package responses

import (
	"cmp"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

type callState struct {
	index    int    // in the events; 0 before the call is announced
	id       string // call_id
	named    bool
	deltas   []byte // of the deltas
	emitted  int    // how much of joined was emitted
	ownDone  string // arguments of their own "done" event
	itemDone string // arguments of output_item.done
	terminal string // arguments in the output of the last event
}

// startCall emits the start of a call once, and its name when it arrives.
func (s *decoder) startCall(it *openItem, from *item) {
	if it.call.index != 0 {
		if !it.call.named && from.name != "" {
			it.call.named = true
			s.emit(llm.ToolCallStart{Index: it.call.index, ID: it.call.id, Name: from.name})
		}
		return
	}
	s.calls++
	s.hasCall = true
	it.call.index, it.call.id, it.call.named = s.calls, from.callID, from.name != ""
	c := from.call()
	s.emit(llm.ToolCallStart{Index: it.call.index, ID: c.ID, Name: c.Name, Opaque: c.Opaque})
	s.emitArguments(it)
}

// emitArguments emits the arguments that arrived since the last time.
func (s *decoder) emitArguments(it *openItem) {
	c := &it.call
	if c.index == 0 || c.emitted == len(c.deltas) {
		return
	}
	s.emit(llm.ToolCallDelta{Index: c.index, Arguments: string(c.deltas[c.emitted:])})
	c.emitted = len(c.deltas)
}

func (s *decoder) argumentsDelta(ev *event, kind string) {
	it := s.open(ev.index, kind)
	it.call.deltas = append(it.call.deltas, ev.delta...)
	if it.call.index == 0 || ev.delta == "" {
		return
	}
	s.emit(llm.ToolCallDelta{Index: it.call.index, Arguments: ev.delta})
	it.call.emitted = len(it.call.deltas)
}

func (s *decoder) argumentsDone(ev *event, kind string) {
	it := s.open(ev.index, kind)
	it.call.ownDone = ev.text
	s.advance(it, ev.text)
}

// advance emits the rest of complete arguments, if they begin with the deltas so far (quirk
// QR-06).
func (s *decoder) advance(it *openItem, whole string) {
	c := &it.call
	if isComplete(whole, it.kind) && strings.HasPrefix(whole, string(c.deltas)) {
		c.deltas = append(c.deltas, whole[len(c.deltas):]...)
		s.emitArguments(it)
	}
}

// isComplete reports whether arguments are a JSON object, or any text for a custom tool.
func isComplete(args, kind string) bool {
	return kind == kindCustomCall && args != "" || jsonio.IsObject(args)
}

// endCall ends a call. Several events repeat its arguments; the last complete ones count (quirk
// QR-05). A call that the provider did not end gets no end (QR-04).
func (s *decoder) endCall(it *openItem) {
	it.added.kind = it.kind
	s.startCall(it, &it.added)
	c := &it.call
	best := c.finalArguments(it.kind)
	if len(c.deltas) == 0 {
		c.deltas = []byte(best)
		s.emitArguments(it)
	}
	end := llm.ToolCallEnd{Index: c.index}
	if best != string(c.deltas) {
		end.Arguments = best
		s.emit(llm.Warning{Code: WarnArguments, Message: "the arguments of " + c.id + " differ between events; the last complete ones were kept"})
	}
	if it.finished || end.Arguments != "" {
		s.emit(end)
	}
}

// finalArguments returns the arguments that count. If none are complete, these are the deltas,
// or else any others.
func (c *callState) finalArguments(kind string) string {
	joined := string(c.deltas)
	for _, args := range []string{c.terminal, c.itemDone, c.ownDone, joined} {
		if isComplete(args, kind) {
			return args
		}
	}
	return cmp.Or(joined, c.ownDone, c.itemDone, c.terminal)
}
