package trace

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// AppendEvent appends the event as a JSON object, one line of a trace file without its line feed.
// It allocates only to grow dst and for maps with more than eight entries. It does not retain ev.
//
// Members have a fixed order and are absent where they are empty. Durations are integers in
// nanoseconds. A string that is not UTF-8 is written as base64 under its name and "_b64". Names
// of options and of extra members must be UTF-8.
func AppendEvent(dst []byte, ev *Event) []byte {
	return append(appendBody(appendEnvelope(dst, ev), ev.Body, nil), '}')
}

func appendEnvelope(dst []byte, ev *Event) []byte {
	dst = jsonio.AppendInt(append(dst, `{"seq":`...), int64(ev.Seq))
	dst = jsonio.AppendText(append(dst, ','), "run", ev.Run)
	if ev.Step != NoStep {
		dst = jsonio.AppendInt(append(dst, `,"step":`...), int64(ev.Step))
	}
	dst = appendInt(dst, "attempt", int64(ev.Attempt))
	dst = appendText(dst, "purpose", string(ev.Purpose))
	dst = appendInt(dst, "at", int64(ev.At))
	var kind Kind
	if ev.Body != nil {
		kind = ev.Body.Kind()
	}
	return jsonio.AppendString(append(dst, `,"kind":`...), string(kind))
}

// appendBody appends the members of a body, each after a comma. With a chain, a
// request gets its hash.
func appendBody(dst []byte, body Body, c *chain) []byte {
	switch b := body.(type) {
	case RunStart:
		return b.append(dst)
	case ModelConfig:
		return b.append(dst)
	case ModelRequest:
		return b.append(dst, c)
	case ModelDelta:
		dst = appendText(dst, "type", string(b.Type))
		dst = appendText(dst, "tool_call_id", b.ToolCallID)
		dst = appendText(dst, "name", b.Name)
		return appendText(dst, "text", b.Text)
	case ModelResponse:
		return b.append(dst)
	case ModelError:
		dst = b.Error.append(append(dst, `,"error":`...))
		dst = appendTrue(dst, "partial", b.Partial)
		if len(b.PartialContent) > 0 {
			dst = llm.AppendParts(append(dst, `,"partial_content":`...), b.PartialContent)
		}
		return appendUsage(dst, "usage", b.Usage)
	case ModelRetry:
		dst = appendInt(dst, "wait_ns", int64(b.Wait))
		return appendText(dst, "reason", b.Reason)
	case Decision:
		dst = appendText(dst, "action", string(b.Action))
		dst = appendText(dst, "reason", string(b.Reason))
		dst = appendInt(dst, "tool_calls", int64(b.ToolCalls))
		dst = appendText(dst, "by", b.By)
		return appendText(dst, "note", b.Note)
	case ToolArguments:
		dst = appendText(dst, "tool_call_id", b.ToolCallID)
		dst = appendText(dst, "arguments", b.Arguments)
		return appendText(dst, "reason", b.Reason)
	case ToolStart:
		dst = appendText(dst, "tool_call_id", b.ToolCallID)
		dst = appendText(dst, "name", b.Name)
		return appendText(dst, "arguments", b.Arguments)
	case ToolEnd:
		dst = appendText(dst, "tool_call_id", b.ToolCallID)
		dst = appendText(dst, "outcome", string(b.Outcome))
		return llm.AppendPart(append(dst, `,"result":`...), b.Result)
	case ToolSkip:
		dst = appendText(dst, "tool_call_id", b.ToolCallID)
		dst = appendText(dst, "name", b.Name)
		dst = appendText(dst, "reason", b.Reason)
		return llm.AppendPart(append(dst, `,"result":`...), b.Result)
	case Abandoned:
		return appendText(dst, "tool_call_id", b.ToolCallID)
	case HistoryRewrite:
		dst = appendText(dst, "reason", b.Reason)
		return appendText(dst, "by", b.By)
	case Canceled:
		return appendText(dst, "reason", b.Reason)
	case Suspended:
		dst = appendStrings(dst, "pending", b.Pending)
		return appendText(dst, "digest", b.Digest)
	case Resumed:
		return appendText(dst, "of", b.Of)
	case Warning:
		dst = appendText(dst, "code", b.Code)
		dst = appendText(dst, "message", b.Message)
		return appendText(dst, "tool_call_id", b.ToolCallID)
	case Custom:
		dst = appendText(dst, "name", b.Name)
		return appendRaw(dst, "data", b.Data)
	case RunEnd:
		return b.append(dst)
	case Unknown:
		return b.append(dst)
	case StepStart, StepEnd:
	}
	return dst
}

func (b *RunStart) append(dst []byte) []byte {
	if b.Parent != nil {
		dst = jsonio.AppendText(append(dst, `,"parent":{`...), "run", b.Parent.Run)
		dst = append(jsonio.AppendText(append(dst, ','), "tool_call_id", b.Parent.ToolCallID), '}')
	}
	dst = appendText(dst, "clock", b.Clock)
	dst = appendOptions(dst, "options", b.Options)
	for i, t := range b.Tools {
		dst = append(dst, listStart(i, `,"tools":[`)...)
		dst = jsonio.AppendText(append(dst, '{'), "name", t.Name)
		dst = append(appendTrue(dst, "client", t.Client), '}')
	}
	dst = listEnd(dst, len(b.Tools), ']')
	return appendMap(dst, "suppress", b.Suppress)
}

func (b *ModelConfig) append(dst []byte) []byte {
	dst = appendText(dst, "model", b.Model)
	dst = appendText(dst, "system", b.System)
	for i, t := range b.Tools {
		dst = t.AppendJSON(append(dst, listStart(i, `,"tools":[`)...))
	}
	dst = listEnd(dst, len(b.Tools), ']')
	if b.ToolChoice != (llm.ToolChoice{}) {
		dst = appendText(dst, "tool_choice", b.ToolChoice.String())
	}
	const member = `,"settings":`
	from := len(dst)
	dst = b.Settings.AppendJSON(append(dst, member...))
	if len(dst) == from+len(member)+len("{}") {
		dst = dst[:from]
	}
	return appendExtra(dst, "extra", b.Extra)
}

func appendExtra(dst []byte, key string, extra map[string]json.RawMessage) []byte {
	var buf [8]string
	for i, k := range sortedKeys(buf[:0], extra) {
		dst = appendEntry(dst, key, i, k)
		dst = jsonio.AppendRaw(dst, extra[k])
	}
	return listEnd(dst, len(extra), '}')
}

// sortedKeys appends the keys of m to buf, which lets small maps do without an
// allocation.
func sortedKeys[K ~string, V any](buf []K, m map[K]V) []K {
	for k := range m {
		buf = append(buf, k)
	}
	slices.Sort(buf)
	return buf
}

// appendEntry begins entry i of the object that the member key is.
func appendEntry(dst []byte, key string, i int, name string) []byte {
	if i == 0 {
		dst = appendKey(dst, key)
	}
	dst = append(dst, listStart(i, "{")...)
	return append(jsonio.AppendString(dst, name), ':')
}

func (b *ModelRequest) append(dst []byte, c *chain) []byte {
	dst = appendInt(dst, "prefix_messages", int64(b.PrefixMessages))
	hashed := c.keep(b.PrefixMessages)
	for i := range b.NewMessages {
		dst = append(dst, listStart(i, `,"new_messages":[`)...)
		from := len(dst)
		dst = b.NewMessages[i].AppendJSON(dst)
		if hashed {
			c.add(jsonio.View(dst[from:]))
		}
	}
	dst = listEnd(dst, len(b.NewMessages), ']')
	if hashed {
		dst = c.appendHash(append(dst, `,"hash":"`...))
		dst = append(dst, '"')
	}
	return dst
}

func (b *ModelResponse) append(dst []byte) []byte {
	dst = b.Message.AppendJSON(append(dst, `,"message":`...))
	dst = appendText(dst, "finish_reason", string(b.FinishReason))
	dst = appendText(dst, "raw_finish_reason", b.RawFinishReason)
	dst = appendText(dst, "finish_message", b.FinishMessage)
	dst = appendText(dst, "response_id", b.ResponseID)
	dst = appendText(dst, "model", b.Model)
	return appendUsage(dst, "usage", b.Usage)
}

func (b *RunEnd) append(dst []byte) []byte {
	dst = appendText(dst, "stop_reason", string(b.StopReason))
	dst = appendText(dst, "finish_reason", string(b.FinishReason))
	dst = appendInt(dst, "steps", int64(b.Steps))
	dst = appendInt(dst, "model_calls", int64(b.ModelCalls))
	dst = appendUsage(dst, "usage", b.Usage)
	var buf [8]Purpose
	for i, p := range sortedKeys(buf[:0], b.UsageBy) {
		dst = appendEntry(dst, "usage_by", i, string(p))
		dst = b.UsageBy[p].AppendJSON(dst)
	}
	dst = listEnd(dst, len(b.UsageBy), '}')
	dst = appendStrings(dst, "pending", b.Pending)
	for i := range b.AppendedMessages {
		dst = b.AppendedMessages[i].AppendJSON(append(dst, listStart(i, `,"appended_messages":[`)...))
	}
	dst = listEnd(dst, len(b.AppendedMessages), ']')
	if b.Error != nil {
		dst = b.Error.append(append(dst, `,"error":`...))
	}
	return dst
}

// append appends the error as an object, its type and message always.
func (e *Error) append(dst []byte) []byte {
	dst = jsonio.AppendText(append(dst, '{'), "type", e.Type)
	dst = jsonio.AppendText(append(dst, ','), "message", e.Message)
	dst = appendInt(dst, "status", int64(e.Status))
	dst = appendText(dst, "code", e.Code)
	dst = appendInt(dst, "retry_after_ns", int64(e.RetryAfter))
	return append(appendTrue(dst, "retryable", e.Retryable), '}')
}

// append appends what of Raw is not the envelope's.
func (u *Unknown) append(dst []byte) []byte {
	if !jsonio.Valid(u.Raw) {
		return appendRaw(dst, "raw", u.Raw)
	}
	d := jsonio.NewDec(string(u.Raw))
	if d.Peek() != '{' {
		return appendRaw(dst, "raw", u.Raw)
	}
	for key := range d.Members() {
		value := d.Raw()
		if !inEnvelope(key) {
			dst = append(jsonio.AppendString(append(dst, ','), key), ':')
			dst = jsonio.AppendRaw(dst, []byte(value))
		}
	}
	return dst
}

// The helpers below append one member after a comma, or nothing if it is empty.

func appendKey(dst []byte, key string) []byte {
	return append(append(append(dst, ',', '"'), key...), '"', ':')
}

func appendText(dst []byte, key, v string) []byte {
	if v == "" {
		return dst
	}
	return jsonio.AppendText(append(dst, ','), key, v)
}

func appendInt(dst []byte, key string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return jsonio.AppendInt(appendKey(dst, key), n)
}

func appendTrue(dst []byte, key string, v bool) []byte {
	if !v {
		return dst
	}
	return append(appendKey(dst, key), "true"...)
}

func appendRaw(dst []byte, key string, raw json.RawMessage) []byte {
	if raw == nil {
		return dst
	}
	return jsonio.AppendRaw(appendKey(dst, key), raw)
}

func appendUsage(dst []byte, key string, u llm.Usage) []byte {
	if u == (llm.Usage{}) {
		return dst
	}
	return u.AppendJSON(appendKey(dst, key))
}

// appendStrings appends an array of strings; one that is not UTF-8 is an object
// {"_b64":"…"}.
func appendStrings(dst []byte, key string, list []string) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = appendKey(dst, key)
	for i, s := range list {
		dst = append(dst, listStart(i, "[")...)
		if utf8.ValidString(s) {
			dst = jsonio.AppendString(dst, s)
			continue
		}
		dst = append(jsonio.AppendText(append(dst, '{'), "", s), '}')
	}
	return append(dst, ']')
}

// appendMap appends an object of strings, its names sorted.
func appendMap(dst []byte, key string, m map[string]string) []byte {
	if len(m) == 0 {
		return dst
	}
	dst = appendKey(dst, key)
	var buf [8]string
	for i, k := range sortedKeys(buf[:0], m) {
		dst = append(dst, listStart(i, "{")...)
		dst = appendNamed(dst, k, m[k])
	}
	return append(dst, '}')
}

// appendOptions appends an object in the order of o. It does not quote integers and booleans.
func appendOptions(dst []byte, key string, o Options) []byte {
	if len(o) == 0 {
		return dst
	}
	dst = appendKey(dst, key)
	for i, x := range o {
		dst = append(dst, listStart(i, "{")...)
		if bare(x.Value) && !strings.HasSuffix(x.Name, b64Suffix) {
			dst = append(append(jsonio.AppendString(dst, x.Name), ':'), x.Value...)
			continue
		}
		dst = appendNamed(dst, x.Name, x.Value)
	}
	return append(dst, '}')
}

const b64Suffix = "_b64"

// appendNamed appends a member of any name, whose value is base64 where it is
// not UTF-8 or where the name itself ends like one of base64.
func appendNamed(dst []byte, name, v string) []byte {
	if utf8.ValidString(v) && !strings.HasSuffix(name, b64Suffix) {
		return jsonio.AppendString(append(jsonio.AppendString(dst, name), ':'), v)
	}
	dst = append(jsonio.AppendString(dst, name+b64Suffix), `:"`...)
	return append(base64.StdEncoding.AppendEncode(dst, []byte(v)), '"')
}

// bare reports whether an option's value stands without quotes: a whole number
// of at most 18 digits, without a leading zero, or a truth value.
func bare(v string) bool {
	digits := strings.TrimPrefix(v, "-")
	if v == "true" || v == "false" || digits == "0" {
		return true
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return digits != "" && digits[0] != '0' && len(digits) <= 18
}

// listStart returns the text before element i of a list: start for the first, else a comma.
func listStart(i int, start string) string {
	if i == 0 {
		return start
	}
	return ","
}

func listEnd(dst []byte, n int, end byte) []byte {
	if n == 0 {
		return dst
	}
	return append(dst, end)
}

// appendHex appends the 16 hexadecimal digits of h.
func appendHex(dst []byte, h uint64) []byte {
	const digits = 16
	for i := len(strconv.FormatUint(h, 16)); i < digits; i++ {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, h, 16)
}
