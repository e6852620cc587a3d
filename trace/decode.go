package trace

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// UnmarshalEvent decodes one line of a trace file, as [AppendEvent] writes it. It does not verify
// hashes, because they depend on the earlier lines.
//
// Members may have any order; unknown members are ignored. Strings of the event share the memory
// of one copy of line.
func UnmarshalEvent(line []byte) (Event, error) {
	var x decoder
	ev, err := x.event(line)
	if err != nil {
		return Event{}, fmt.Errorf("trace: %w", err)
	}
	return ev, nil
}

// decoder reads lines. It holds one body of each kind, so that reading a line
// allocates what the event keeps and no more.
type decoder struct {
	mem jsonio.Arena // of the lines' texts
	run string       // of the last line
	// version is the version of the lines; 0 means unknown.
	version int
	members jsonio.Renames // of the kind that is read, in version 1

	runStart     RunStart
	stepStart    StepStart
	modelSetup   ModelConfig
	modelRequest requestReader
	modelDelta   ModelDelta
	modelTurn    ModelResponse
	modelError   ModelError
	modelRetry   ModelRetry
	decision     Decision
	argsResolved ToolArguments
	toolStart    ToolStart
	toolEnd      ToolEnd
	toolSkip     ToolSkip
	abandoned    Abandoned
	stepEnd      StepEnd
	rewrite      HistoryRewrite
	cancelled    Canceled
	suspended    Suspended
	resumed      Resumed
	warning      Warning
	custom       Custom
	runEnd       RunEnd
	unknown      unknownReader
}

// bodyReader is a body that is being read.
type bodyReader interface {
	// member reads the value of a member, if it knows one of that name.
	member(d *jsonio.Dec, key string) bool
	body() Body
}

// event decodes a line. If it returns an error, the event contains the run that the line names,
// if the decoder reached it.
func (x *decoder) event(line []byte) (Event, error) {
	if !jsonio.ValidUTF8(line) {
		return Event{}, fmt.Errorf("the line is not UTF-8 (byte %d)", invalidAt(line)+1)
	}
	s := x.mem.String(line)
	d := jsonio.NewDecIn(&x.mem, s)
	d.Version = x.version
	ev := Event{Step: NoStep}
	d.Object()
	first := true
	b := x.usual(&d, &first, &ev)
	for key := range d.MembersAfter(first) {
		if b == nil && !inEnvelope(key) {
			if b = x.find(&d, s); b == nil {
				break
			}
		}
		if b != nil {
			key = x.members.Name(&d, key)
		}
		switch {
		case b != nil && b.member(&d, key):
		case key == "kind":
			kind := d.String()
			if b == nil {
				b = x.beginIn(&d, Kind(kind))
			}
		case !x.envelope(&d, key, &ev):
			d.Skip()
		}
	}
	if d.Err() == nil && b == nil {
		d.Fail(`the event has no "kind"`)
	}
	if err := d.End(); err != nil {
		return Event{Run: ev.Run}, err
	}
	ev.Body = b.body()
	if d.Version == 1 {
		v1Words.replace(&ev)
	}
	return ev, nil
}

// usual reads the envelope as the writer writes it, as far as it is like that,
// and begins the body if it comes to the kind.
func (x *decoder) usual(d *jsonio.Dec, first *bool, ev *Event) bodyReader {
	for _, key := range [...]string{"seq", "run", "step", "attempt", "purpose", "at"} {
		if d.Member(key, first) {
			x.envelope(d, key, ev)
		}
	}
	if d.Member("kind", first) {
		return x.beginIn(d, Kind(d.String()))
	}
	return nil
}

// invalidAt is where the first byte is that is not UTF-8.
func invalidAt(b []byte) int {
	i := 0
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return i
}

// find begins the body of a line whose kind does not come first.
func (x *decoder) find(line *jsonio.Dec, s string) bodyReader {
	d := jsonio.NewDec(s)
	for key := range d.Members() {
		if key == "kind" {
			return x.beginIn(line, Kind(d.String()))
		}
		d.Skip()
	}
	return nil
}

// envelope reads a member of the envelope, of which kind is one but is read
// elsewhere.
func (x *decoder) envelope(d *jsonio.Dec, key string, ev *Event) bool {
	switch key {
	case "seq":
		ev.Seq = int(d.Int())
	case "run", "run_b64":
		if run := d.Text(key); run != x.run {
			x.run = strings.Clone(run)
		}
		ev.Run = x.run
	case "step":
		ev.Step = int(d.Int())
	case "attempt":
		ev.Attempt = int(d.Int())
	case "purpose", "purpose_b64":
		ev.Purpose = Purpose(word(d.Text(key)))
	case "at":
		ev.At = time.Duration(d.Int())
	default:
		return false
	}
	return true
}

func inEnvelope(key string) bool {
	switch key {
	case "seq", "run", "run_b64", "step", "attempt", "purpose", "purpose_b64", "at", "kind":
		return true
	}
	return false
}

// begin returns the empty body of a kind.
func (x *decoder) begin(kind Kind) bodyReader {
	switch kind {
	case KindRunStart:
		return cleared(&x.runStart)
	case KindStepStart:
		return &x.stepStart
	case KindModelConfig:
		return cleared(&x.modelSetup)
	case KindModelRequest:
		x.modelRequest.reset()
		return &x.modelRequest
	case KindModelDelta:
		return cleared(&x.modelDelta)
	case KindModelResponse:
		return cleared(&x.modelTurn)
	case KindModelError:
		return cleared(&x.modelError)
	case KindModelRetry:
		return cleared(&x.modelRetry)
	case KindDecision:
		return cleared(&x.decision)
	case KindToolArguments:
		return cleared(&x.argsResolved)
	case KindToolStart:
		return cleared(&x.toolStart)
	case KindToolEnd:
		return cleared(&x.toolEnd)
	case KindToolSkip:
		return cleared(&x.toolSkip)
	case KindAbandoned:
		return cleared(&x.abandoned)
	case KindStepEnd:
		return &x.stepEnd
	case KindHistoryRewrite:
		return cleared(&x.rewrite)
	case KindCanceled:
		return cleared(&x.cancelled)
	case KindSuspended:
		return cleared(&x.suspended)
	case KindResumed:
		return cleared(&x.resumed)
	case KindWarning:
		return cleared(&x.warning)
	case KindCustom:
		return cleared(&x.custom)
	case KindRunEnd:
		return cleared(&x.runEnd)
	}
	x.unknown = unknownReader{name: Kind(strings.Clone(string(kind))), raw: []byte{'{'}}
	return &x.unknown
}

func cleared[T any, P interface {
	*T
	bodyReader
}](b P) P {
	var zero T
	*b = zero
	return b
}

// requestReader reads a request and keeps what its hash needs.
type requestReader struct {
	ModelRequest
	hash string
	raw  []string // the encoded messages of the line
}

func (r *requestReader) reset() { *r = requestReader{raw: r.raw[:0]} }

func (r *requestReader) body() Body { return r.ModelRequest }

func (r *requestReader) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "prefix_messages":
		r.PrefixMessages = int(d.Int())
	case "new_messages":
		r.NewMessages, r.raw = readMessages(d, r.raw)
	case "hash":
		r.hash = d.String()
	default:
		return false
	}
	return true
}

// readMessages reads an array of messages; it appends their texts to raw.
func readMessages(d *jsonio.Dec, raw []string) ([]llm.Message, []string) {
	var list []llm.Message
	for range d.Elements() {
		from := d.Offset()
		m := llm.ReadMessage(d)
		list, raw = append(list, m), append(raw, d.Since(from))
	}
	return list, raw
}

// unknownReader keeps the members of a body of unknown kind.
type unknownReader struct {
	name Kind
	raw  []byte
}

func (u *unknownReader) body() Body {
	return Unknown{Name: u.name, Raw: append(u.raw, '}')}
}

func (u *unknownReader) member(d *jsonio.Dec, key string) bool {
	if inEnvelope(key) {
		return false
	}
	if len(u.raw) > 1 {
		u.raw = append(u.raw, ',')
	}
	u.raw = append(jsonio.AppendString(u.raw, key), ':')
	u.raw = jsonio.AppendRaw(u.raw, []byte(d.Raw()))
	return true
}

// word returns the constant of a word that the vocabulary defines, so that the
// line it was read from need not be kept.
func word(s string) string {
	if w, ok := words[s]; ok {
		return w
	}
	return s
}

var words = func() map[string]string {
	m := map[string]string{}
	for _, w := range [...]string{
		ClockReal, ClockVirtual,
		string(PurposeRepair), string(PurposeSummary), string(PurposeGrade),
		string(DeltaText), string(DeltaReasoning), string(DeltaCall), string(DeltaArguments), string(DeltaCallEnd),
		string(Continue), string(End), string(Stop), string(ForceFinal), string(Suspend),
		string(ReasonToolCalls), string(ReasonEndTurn), string(ReasonMaxSteps), string(ReasonBudget), string(ReasonStopCondition),
		string(ReasonRunawayGuard), string(ReasonClientTools), string(ReasonHandoff), string(ReasonEndHook),
		string(ReasonContinuedResponse), string(ReasonForced), string(ReasonMalformedCall), string(ReasonCancel),
		string(ReasonDeadline), string(ReasonError), string(ReasonApproval), string(ReasonMiddleware),
		string(OutcomeOK), string(OutcomeError), string(OutcomePanic), string(OutcomeTimeout), string(OutcomeCanceled),
		string(llm.FinishStop), string(llm.FinishToolCalls), string(llm.FinishLength), string(llm.FinishContentFilter),
		string(llm.FinishRefusal), string(llm.FinishPause), string(llm.FinishMalformedCall), string(llm.FinishUnknown),
		"empty_object", "defaults", "edit",
		SkipUnknownTool, SkipMalformedArguments, SkipInvalidArguments, SkipTruncated, SkipDenied, SkipDuplicate,
		"compaction", "middleware", "resume",
	} {
		m[w] = w
	}
	return m
}()

// The readers of values that several bodies have.

func readRaw(d *jsonio.Dec) json.RawMessage { return json.RawMessage(d.Raw()) }

func readStrings(d *jsonio.Dec) []string {
	var list []string
	for range d.Elements() {
		if d.Peek() != '{' {
			list = append(list, d.String())
			continue
		}
		for key := range d.Members() {
			list = append(list, d.Text(key))
		}
	}
	return list
}

func readMap(d *jsonio.Dec) map[string]string {
	m := map[string]string{}
	for key := range d.Members() {
		m[strings.TrimSuffix(key, b64Suffix)] = d.Text(key)
	}
	return m
}

// readOptions reads options, whose values are any scalars.
func readOptions(d *jsonio.Dec) Options {
	var o Options
	for key := range d.Members() {
		var value string
		switch d.Peek() {
		case '"':
			value = d.Text(key)
		case '{', '[':
			d.Fail("an option is a word, a number, true, false or null")
		default:
			value = d.Raw()
		}
		o = append(o, Option{Name: strings.TrimSuffix(key, b64Suffix), Value: value})
	}
	return o
}

func readExtra(d *jsonio.Dec) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	for key := range d.Members() {
		m[key] = readRaw(d)
	}
	return m
}

func readResult(d *jsonio.Dec) llm.ToolResult {
	r, ok := llm.ReadPart(d).(llm.ToolResult)
	if !ok {
		d.Fail(`expected a part of type "tool_result"`)
	}
	return r
}
