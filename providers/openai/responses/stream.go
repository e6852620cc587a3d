package responses

import (
	"cmp"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

func (s *decoder) at(index int64) *openItem {
	if i, known := s.places[index]; known && !s.items[i].closed {
		return s.items[i]
	}
	return nil
}

// open returns the open item at an index, or begins one: some servers omit output_item.added.
func (s *decoder) open(index int64, kind string) *openItem {
	if it := s.at(index); it != nil && it.kind == kind {
		return it
	}
	return s.begin(&openItem{index: index, kind: kind})
}

// begin begins an item. It closes the one at its index (quirk QR-09) and the open text.
func (s *decoder) begin(next *openItem) *openItem {
	if it := s.at(next.index); it != nil {
		s.close(it)
	}
	n := len(s.items)
	if n > 0 && s.items[s.textItem].isText() {
		s.close(s.items[s.textItem])
	}
	if next.isText() {
		s.textItem = n
	}
	if s.places == nil {
		s.places = map[int64]int{}
	}
	s.places[next.index] = n
	s.items = append(s.items, next)
	return next
}

func (it *openItem) isText() bool { return it.kind == kindMessage || it.kind == kindReasoning }

// close ends the parts of an item without output_item.done.
func (s *decoder) close(it *openItem) {
	if it.closed {
		return
	}
	it.closed = true
	switch it.kind {
	case kindMessage:
		if it.hasText {
			s.endText(it)
		}
	case kindReasoning:
		it.setSummary()
		if p := it.added.reasoning(); it.added.err == nil && (p.Opaque != nil || it.hasText) {
			it.hasText = true
			s.emit(llm.ReasoningDelta{Opaque: p.Opaque})
		}
	}
}

func (it *openItem) setSummary() {
	if it.summary == nil {
		return
	}
	w := codec.Writer{Dst: []byte{'['}}
	for _, text := range it.summary {
		w.Next(`{"type":"summary_text","text":%}`, string(text))
	}
	it.added.summary = jsonio.NewDec(string(append(w.Dst, ']')))
}

// endText ends a text part with the opaque data of the item and its content part.
func (s *decoder) endText(it *openItem) {
	if o := slices.Concat(it.opaque, it.partMembers).Object(); o != nil {
		s.emit(llm.TextDelta{Refusal: it.refusal, Opaque: o})
	}
	it.partMembers = nil
}

func (s *decoder) text(ev *event, delta string, refusal bool) {
	it := s.open(ev.index, kindMessage)
	if it.hasText && (it.section != ev.section || it.refusal != refusal) {
		s.endText(it)
	}
	it.hasText, it.section, it.refusal = true, ev.section, refusal
	s.emit(llm.TextDelta{Text: delta, Refusal: refusal})
}

// textDone handles the whole text of a part. It counts if no delta came.
func (s *decoder) textDone(ev *event, refusal bool) {
	if it := s.at(ev.index); it != nil && it.hasText && it.section == ev.section && it.refusal == refusal {
		return
	}
	s.text(ev, ev.text, refusal)
}

const summaryDelta = "response.reasoning_summary_text.delta"

func (s *decoder) reasoningDelta(ev *event) {
	it := s.open(ev.index, kindReasoning)
	next := it.hasText && it.section != ev.section
	if next {
		s.emit(llm.ReasoningDelta{Text: summarySeparator})
	}
	if ev.kind == summaryDelta {
		if next || it.summary == nil {
			it.summary = append(it.summary, nil)
		}
		last := &it.summary[len(it.summary)-1]
		*last = append(*last, ev.delta...)
	}
	it.hasText, it.section = true, ev.section
	s.emit(llm.ReasoningDelta{Text: ev.delta})
}

func (s *decoder) added(ev *event) {
	it := s.begin(&openItem{index: ev.index, kind: ev.item.kind, added: ev.item})
	switch it.kind {
	case kindMessage:
		it.opaque = it.added.opaque
	case kindCall, kindCustomCall:
		if it.added.callID != "" || it.added.name != "" {
			s.startCall(it, &it.added)
		}
		s.advance(it, it.added.args)
	}
}

// done handles the end of an item, which repeats the whole item.
func (s *decoder) done(ev *event) error {
	it := s.itemOf(ev)
	if it == nil {
		it = s.begin(&openItem{index: ev.index, kind: ev.item.kind})
	}
	return s.end(it, &ev.item)
}

// itemOf returns the item of an output_item.done: among the unfinished ones of its kind, the
// one with the index and call id, else with the call id, else with the index.
func (s *decoder) itemOf(ev *event) (found *openItem) {
	best := 0
	for _, it := range s.items {
		if it.finished || it.kind != ev.item.kind {
			continue
		}
		fit := 0
		if it.index == ev.index {
			fit++
		}
		if it.call.index != 0 && it.call.id == ev.item.callID {
			fit += 2
		}
		if fit > 0 && fit >= best {
			found, best = it, fit
		}
	}
	return found
}

func (s *decoder) end(it *openItem, final *item) error {
	ended := it.closed && it.hasText
	it.closed, it.finished = true, true
	switch {
	case isCall(it.kind):
		it.finished = final.status != statusIncomplete
		s.startCall(it, final)
		it.call.itemDone = final.args
		s.advance(it, final.args)
		return nil
	case ended:
		return nil
	case !it.hasText:
		it.hasText = true
		return s.emitItem(final)
	case it.kind == kindMessage:
		s.doneText(it, final)
	default:
		s.emit(llm.ReasoningDelta{Opaque: final.reasoning().Opaque})
	}
	return final.err
}

// doneText ends a message whose text came in deltas. The last text gets its opaque data.
func (s *decoder) doneText(it *openItem, final *item) {
	it.opaque = final.opaque
	if final.content.Peek() != '"' {
		if parts := final.elements(final.content); len(parts) > 0 {
			it.partMembers = parts[len(parts)-1].opaque
		}
	}
	s.endText(it)
}

// endItems ends the open items, and emits the items of output that the stream did not contain.
func (s *decoder) endItems(output []item) error {
	streamed := s.streamed()
	for i := range output {
		final := &output[i]
		it := streamed.take(final)
		switch {
		case it == nil:
			if err := s.emitItem(final); err != nil {
				return err
			}
		case isCall(it.kind):
			it.call.terminal = final.args
			s.startCall(it, final)
		case !it.finished:
			if err := s.end(it, final); err != nil {
				return err
			}
		}
	}
	for _, it := range s.items {
		switch s.close(it); {
		case isCall(it.kind):
			s.endCall(it)
		case !it.finished && !it.isText():
			if err := s.emitItem(&it.added); err != nil {
				return err
			}
		}
	}
	return nil
}

// streamedItems are the items of the stream in order. Each is taken once.
type streamedItems map[itemKey][]*openItem

// itemKey is the kind of an item and, for calls, the id. A call without a start matches any id.
type itemKey struct {
	kind, id string
	any      bool
}

func (s *decoder) streamed() streamedItems {
	items := streamedItems{}
	for _, it := range s.items {
		key := itemKey{kind: it.kind, id: it.call.id, any: isCall(it.kind) && it.call.index == 0}
		items[key] = append(items[key], it)
	}
	return items
}

// take returns the streamed item for an item of the output, or nil: the first of its kind, for
// calls with its id, or else a call without a start.
func (items streamedItems) take(final *item) *openItem {
	key := itemKey{kind: final.kind}
	if isCall(final.kind) {
		key.id = final.callID
	}
	for _, key := range []itemKey{key, {kind: final.kind, any: true}} {
		if list := items[key]; len(list) > 0 {
			items[key] = list[1:]
			return list[0]
		}
	}
	return nil
}

func isCall(kind string) bool { return kind == kindCall || kind == kindCustomCall }

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

// advance emits the rest of complete arguments that begin with the deltas (quirk QR-06).
func (s *decoder) advance(it *openItem, final string) {
	c := &it.call
	if isComplete(final, it.kind) && strings.HasPrefix(final, string(c.deltas)) {
		c.deltas = append(c.deltas, final[len(c.deltas):]...)
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

// finalArguments returns the arguments that count: complete ones, or the deltas, or any others.
func (c *callState) finalArguments(kind string) string {
	joined := string(c.deltas)
	for _, args := range []string{c.terminal, c.itemDone, c.ownDone, joined} {
		if isComplete(args, kind) {
			return args
		}
	}
	return cmp.Or(joined, c.ownDone, c.itemDone, c.terminal)
}
