package responses

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/openai/internal/api"
	"github.com/looptape/looptape/providers/protocol"
)

// WarnArguments is the code of the warning that events contain different arguments for a call
// (quirk QR-05).
const WarnArguments = "conflicting_arguments"

// NewDecoder implements [protocol.Protocol].
func (Protocol) NewDecoder() protocol.Decoder { return &decoder{} }

// decoder reads a stream. The output_index identifies an item. The decoder ignores item_id,
// because some servers change it with every event (quirk QR-09). A call ends with the response,
// because up to four events repeat its arguments and the last one counts (QR-05).
type decoder struct {
	emit     func(llm.Event) // of the Event or End that is running
	mem      jsonio.Arena
	items    []*openItem
	places   map[int64]int // of the last item at each index
	textItem int           // the place of the last message or reasoning
	calls    int           // that were started
	hasCall  bool          // the caller has to answer a call
	ended    bool
	id       string
	model    string
}

type openItem struct {
	index    int64
	kind     string
	closed   bool // its parts ended; further deltas are ignored
	finished bool // output_item.done arrived

	hasText     bool // text or reasoning was emitted
	section     int64
	refusal     bool
	opaque      codec.Members // of the item, for its texts
	partMembers codec.Members // of the content part that ended last
	added       item          // in output_item.added
	summary     [][]byte      // of reasoning, from its deltas

	call callState
}

// Event types with a response before its end.
const (
	kindCreated    = "response.created"
	kindInProgress = "response.in_progress"
)

type event struct {
	kind     string
	delta    string
	text     string // the whole text, refusal, arguments or input at the end of a part
	index    int64  // output_index
	section  int64  // content_index or summary_index
	item     item
	part     contentPart
	response jsonio.Dec
	errorRaw string
	raw      string
}

// Event implements [protocol.Decoder].
func (s *decoder) Event(name string, data []byte, emit func(llm.Event)) (done bool, err error) {
	s.emit = emit
	if string(data) == "[DONE]" {
		s.ended = true
		return true, s.endItems(nil)
	}
	if !jsonio.ValidUTF8(data) {
		data = []byte(strings.ToValidUTF8(string(data), "\ufffd"))
	}
	var ev event
	if err := s.read(&ev, name, data); err != nil {
		return false, fmt.Errorf("openai-responses: an event: %w; it begins with %q", err, codec.Beginning(data))
	}
	done, err = s.event(&ev)
	s.ended = s.ended || done
	return done, err
}

// read reads an event. The caller reuses data. Of the frequent transient events, read copies
// only the delta.
func (s *decoder) read(ev *event, name string, data []byte) error {
	if isTransient(kindAtFront(data)) {
		err := s.readText(ev, name, jsonio.View(data))
		if err == nil && isTransient(ev.kind) {
			ev.delta = strings.Clone(ev.delta)
			return nil
		}
	}
	return s.readText(ev, name, string(data))
}

// kindAtFront returns the type of an event if it is the first member.
func kindAtFront(data []byte) string {
	d := jsonio.NewDec(jsonio.View(data))
	first := true
	if d.Peek() == '{' && d.Object() && d.Member("type", &first) {
		return codec.String(&d)
	}
	return ""
}

// isTransient reports whether the decoder keeps only the delta of an event or clones.
func isTransient(kind string) bool {
	return strings.HasSuffix(kind, ".delta") || kind == kindCreated || kind == kindInProgress
}

func latest(was, now string) string {
	if now == "" || now == was {
		return was
	}
	return strings.Clone(now)
}

// readText reads an event whose strings share the memory of text.
func (s *decoder) readText(ev *event, name, text string) error {
	*ev = event{raw: text}
	d := jsonio.NewDecIn(&s.mem, text)
	ev.read(&d)
	ev.kind = cmp.Or(ev.kind, name)
	return d.End()
}

func (ev *event) read(d *jsonio.Dec) {
	for key := range codec.RequiredFields(d) {
		switch isObject := d.Peek() == '{'; {
		case key == "type":
			ev.kind = codec.String(d)
		case key == "delta":
			ev.delta = codec.String(d)
		case key == "output_index":
			ev.index = codec.Count(d)
		case key == "content_index" || key == "summary_index":
			ev.section = max(codec.Count(d), ev.section)
		case key == "text" || key == "refusal" || key == "arguments" || key == "input":
			ev.text = cmp.Or(codec.Text(d), ev.text)
		case key == "item" && isObject:
			ev.item = readItem(d)
		case key == "part" && isObject:
			ev.part = readContentPart(d)
		case key == "response":
			ev.response = *d
		case key == "error":
			ev.errorRaw = d.Raw()
		}
	}
}

func (s *decoder) event(ev *event) (done bool, err error) {
	refusal := strings.HasPrefix(ev.kind, "response.refusal.")
	callKind := kindCall
	if strings.HasPrefix(ev.kind, "response.custom_tool_call_input.") {
		callKind = kindCustomCall
	}
	switch ev.kind {
	case "response.output_text.delta", "response.refusal.delta":
		s.text(ev, ev.delta, refusal)
	case "response.output_text.done", "response.refusal.done":
		s.textDone(ev, refusal)
	case "response.content_part.done":
		if it := s.at(ev.index); it != nil {
			it.partMembers = ev.part.opaque
		}
	case summaryDelta, "response.reasoning_text.delta":
		s.reasoningDelta(ev)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		s.argumentsDelta(ev, callKind)
	case "response.function_call_arguments.done", "response.custom_tool_call_input.done":
		it := s.open(ev.index, callKind)
		it.call.ownDone = ev.text
		s.advance(it, ev.text)
	case "response.output_item.added":
		if ev.item.raw != "" {
			s.added(ev)
		}
	case "response.output_item.done":
		if ev.item.raw != "" {
			return false, s.done(ev)
		}
	case kindCreated, kindInProgress:
		r, err := ev.readResponse()
		s.id, s.model = latest(s.id, r.id), latest(s.model, r.model)
		return false, err
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return s.terminal(ev)
	case "error", "":
		return s.failed(ev)
	}
	return false, nil
}

// failed handles an error event, with or without an error object.
func (s *decoder) failed(ev *event) (bool, error) {
	if ev.errorRaw != "" {
		var r response
		r.failed(ev.errorRaw)
		return false, r.failure
	}
	t, ok := api.ReadError(ev.raw)
	if !ok || ev.kind == "" && t.Message == "" {
		return false, nil
	}
	if t.Type == "error" { // that is the type of the event
		t.Type = ""
	}
	return false, t.APIError(0)
}

func (ev *event) readResponse() (response, error) {
	if ev.response.Peek() != '{' {
		return response{}, nil
	}
	r, err := readResponse(&ev.response)
	if err != nil {
		return r, fmt.Errorf("openai-responses: %s: %w", ev.kind, err)
	}
	return r, nil
}

func (s *decoder) terminal(ev *event) (bool, error) {
	r, err := ev.readResponse()
	if err != nil {
		return false, err
	}
	status := strings.TrimPrefix(ev.kind, "response.")
	if status == "failed" {
		r.failed("{}")
	}
	if r.failure != nil {
		return false, r.failure
	}
	if r.status == "" || status == statusIncomplete {
		r.status = status
	}
	if err := s.endItems(r.output); err != nil {
		return false, fmt.Errorf("openai-responses: %s: %w", ev.kind, err)
	}
	s.finish(&r)
	return true, nil
}

// End implements [protocol.Decoder].
func (s *decoder) End(emit func(llm.Event)) error {
	s.emit = emit
	if !s.ended {
		return fmt.Errorf("%w: missing response.completed", protocol.ErrTruncated)
	}
	return nil
}
