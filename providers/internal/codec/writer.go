// Package codec contains what the codecs of the providers share. Its readers skip values of an
// unexpected type, because servers deviate from their documentation. Its writers repair lone
// surrogates and copy unknown members unchanged. It also contains the rule for parts of other
// providers, the names of opaque members, and tables of finish reasons. The packages of the
// providers contain the names of members.
package codec

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// Writer appends JSON. It keeps its first error.
type Writer struct {
	Dst []byte
	Err error
	// Req is the request whose body is written; nil for a response.
	Req *llm.Request
	// Message, Part and Content are indexes plus 1, which errors begin with; 0 means none.
	Message, Part, Content int
	// OmitNull omits null members of Extra.
	OmitNull bool
	// Messages is the number of messages that were written.
	Messages int
}

// usual is how many bytes most messages do not go beyond.
const usual = 256

// NewWriter returns a writer of the body of a request, which it begins.
func NewWriter(req *llm.Request) Writer {
	return Writer{Req: req, Dst: append(make([]byte, 0, usual*(len(req.Messages)+1)), '{')}
}

// Fail sets the error, which begins with the position, unless there is one.
func (w *Writer) Fail(format string, args ...any) {
	if w.Err != nil {
		return
	}
	at := ""
	for _, in := range [...]struct {
		list  string
		index int
	}{{"messages", w.Message}, {"parts", w.Part}, {"content", w.Content}} {
		if in.index > 0 {
			at += fmt.Sprintf(".%s[%d]", in.list, in.index-1)
		}
	}
	if at != "" {
		format = at[1:] + ": " + format
	}
	w.Err = fmt.Errorf(format, args...)
}

// Next begins an element of an array; see [Writer.Add].
func (w *Writer) Next(format string, values ...any) {
	w.Dst = AppendComma(w.Dst)
	w.Add(format, values...)
}

// Add appends format, in which the values replace each % in order: strings, int64 numbers, and
// json.RawMessage, which is copied unchanged.
func (w *Writer) Add(format string, values ...any) {
	dst := w.Dst
	for _, value := range values {
		at := strings.IndexByte(format, '%')
		dst, format = append(dst, format[:at]...), format[at+1:]
		switch v := value.(type) {
		case string:
			dst = jsonio.AppendString(dst, v)
		case int64:
			dst = jsonio.AppendInt(dst, v)
		case json.RawMessage:
			dst = append(dst, v...)
		default:
			panic("codec: unknown type of value")
		}
	}
	w.Dst = append(dst, format...)
}

// Key begins a member.
func (w *Writer) Key(key string) { w.Dst = AppendKey(w.Dst, key) }

// Text writes a string.
func (w *Writer) Text(key, value string) { w.Dst = jsonio.AppendString(AppendKey(w.Dst, key), value) }

// OptionalText writes a string unless it is empty.
func (w *Writer) OptionalText(key, value string) {
	if value != "" {
		w.Text(key, value)
	}
}

// TextOrNull writes a string, or null if it is empty.
func (w *Writer) TextOrNull(key, value string) {
	if value == "" {
		w.Raw(key, "null")
		return
	}
	w.Text(key, value)
}

// Int writes an integer.
func (w *Writer) Int(key string, n int64) { w.Dst = jsonio.AppendInt(AppendKey(w.Dst, key), n) }

// Bool writes a value if there is one.
func (w *Writer) Bool(key string, value *bool) {
	if value != nil {
		w.Raw(key, strconv.FormatBool(*value))
	}
}

// Raw writes JSON, or the beginning of it, unchanged.
func (w *Writer) Raw(key, text string) {
	w.Key(key)
	w.Dst = append(w.Dst, text...)
}

// Value writes JSON without white space and repairs lone surrogates.
func (w *Writer) Value(key string, raw []byte) { w.Dst = AppendRaw(w.Dst, key, raw) }

// Members writes the members of an object, except those named.
func (w *Writer) Members(object json.RawMessage, except ...string) {
	w.Dst = MemberNames{}.Append(w.Dst, object, except...)
}

// Base64 writes bytes as a string that begins with prefix.
func (w *Writer) Base64(key, prefix string, data []byte) {
	w.Text(key, prefix)
	w.Dst = append(base64.StdEncoding.AppendEncode(w.Dst[:len(w.Dst)-1], data), '"')
}

// Builtin writes element i of the tools if the provider defines it, and reports whether it does.
func (w *Writer) Builtin(i int, t llm.Tool) bool {
	if t.Builtin == nil {
		return false
	}
	if !jsonio.IsObject(jsonio.View(t.Builtin)) {
		w.Fail("tools[%d]: the builtin tool %q is not a JSON object", i, t.Name)
		return true
	}
	w.Next("")
	w.Dst = AppendValue(w.Dst, t.Builtin)
	return true
}

// Unknown writes a part of an unknown kind. It fails if the part belongs to another protocol.
func (w *Writer) Unknown(protocol string, p llm.Unknown) {
	if err := CheckUnknown(protocol, p); err != nil {
		w.Fail("%w", err)
		return
	}
	w.Dst = AppendValue(w.Dst, p.Raw)
}

// Has reports whether the writer writes a member of the body: it does unless Extra has it.
func (w *Writer) Has(key string) bool {
	_, replaced := w.Req.Extra[key]
	return !replaced
}

// Member writes JSON as a member of the body, unless Extra has the member.
func (w *Writer) Member(key, raw string) {
	if w.Has(key) {
		w.Raw(key, raw)
	}
}

// TextMember writes a string to the body, unless it is empty or Extra has the member.
func (w *Writer) TextMember(key, value string) {
	if w.Has(key) {
		w.OptionalText(key, value)
	}
}

// Strings writes an array of strings, unless it is empty or Extra has the member.
func (w *Writer) Strings(key string, list []string) {
	if len(list) == 0 || !w.Has(key) {
		return
	}
	w.Raw(key, "[")
	for _, s := range list {
		w.Dst = jsonio.AppendString(AppendComma(w.Dst), s)
	}
	w.Add("]")
}

// Float writes a setting if it is set and Extra does not have the member.
func (w *Writer) Float(key string, value *float64) {
	switch {
	case value == nil || !w.Has(key):
	case math.IsNaN(*value) || math.IsInf(*value, 0):
		w.Fail("settings.%s: %v is not a JSON number", key, *value)
	default:
		w.Raw(key, strconv.FormatFloat(*value, 'g', -1, 64))
	}
}

// Extra writes the members of Extra in order, except those named.
func (w *Writer) Extra(except ...string) {
	for _, key := range slices.Sorted(maps.Keys(w.Req.Extra)) {
		if raw := w.Req.Extra[key]; !slices.Contains(except, key) && !(w.OmitNull && IsNull(raw)) {
			w.Value(key, raw)
		}
	}
}

// CheckExtra returns an error if a member of Extra is not JSON.
func CheckExtra(extra map[string]json.RawMessage) error {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		if !jsonio.Valid(extra[key]) {
			return fmt.Errorf("extra.%s: not JSON: set a JSON value", key)
		}
	}
	return nil
}

// IsNull reports whether JSON is null.
func IsNull(raw []byte) bool { return strings.TrimSpace(jsonio.View(raw)) == "null" }

// SystemPrompt returns the system prompt with the leading system messages as its end, and the number
// of these messages. They continue the last part, after an empty line, unless it has a cache mark.
func SystemPrompt(req *llm.Request) (prompt llm.System, messages int) {
	var said llm.System
	for messages < len(req.Messages) && req.Messages[messages].Role == llm.RoleSystem {
		said = append(said, llm.SystemPart{Text: req.Messages[messages].Text()})
		messages++
	}
	text, last := said.Text(), len(req.System)-1
	switch {
	case text == "":
		return req.System, messages
	case last < 0 || req.System[last].CacheMark:
		return slices.Concat(req.System, llm.SystemText(text)), messages
	}
	prompt = slices.Clone(req.System)
	prompt[last].Text = llm.System{prompt[last], {Text: text}}.Text()
	return prompt, messages
}
