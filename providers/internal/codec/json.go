package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
)

// BeginObject opens an object. It skips any other value and reports false.
func BeginObject(d *jsonio.Dec) bool {
	if d.Peek() != '{' {
		d.Skip()
		return false
	}
	return d.Object()
}

// Fields returns the names of the members of an object, as [jsonio.Dec.Members]. It skips any
// other value. It moves d to the heap, unlike BeginObject and [jsonio.Dec.MembersAfter].
func Fields(d *jsonio.Dec) iter.Seq[string] {
	return func(yield func(string) bool) {
		if BeginObject(d) {
			d.MembersAfter(true)(yield)
		}
	}
}

// Items counts the elements of an array, as [jsonio.Dec.Elements]. It skips any other value.
func Items(d *jsonio.Dec) iter.Seq[int] {
	return func(yield func(int) bool) {
		if d.Peek() != '[' {
			d.Skip()
			return
		}
		d.Elements()(yield)
	}
}

// String reads a string. It skips any other value and returns "".
func String(d *jsonio.Dec) string {
	if d.Peek() == '"' {
		return d.String()
	}
	d.Skip()
	return ""
}

// Text reads a string, or the JSON of any other value. It returns "" for null.
func Text(d *jsonio.Dec) string {
	switch {
	case d.Peek() == '"':
		return d.String()
	case d.Null():
		return ""
	}
	return d.Raw()
}

// Count reads a number of tokens. It returns 0 for any other value.
func Count(d *jsonio.Dec) int64 { return CountOr(d, 0) }

// CountOr reads a number of tokens. It returns otherwise for any other value.
func CountOr(d *jsonio.Dec, otherwise int64) int64 {
	const maxCount = 1 << 53
	if d.Peek()-'0' > 9 {
		d.Skip()
		return otherwise
	}
	if n := d.Float(); n <= maxCount {
		return int64(n)
	}
	return otherwise
}

// Beginning returns the first 200 bytes of a body, for an error.
func Beginning(body []byte) string {
	const maxBytes = 200
	text := strings.TrimSpace(string(body[:min(len(body), 4*maxBytes)]))
	if len(text) <= maxBytes {
		return text
	}
	end := maxBytes
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// UnexpectedBody returns the error of a body that is no response of the protocol, such as
// the error page of a proxy.
func UnexpectedBody(body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return errors.New("the response is empty")
	}
	return fmt.Errorf("the response does not have the format of the protocol; it begins with %q", Beginning(body))
}

// Depth returns how deeply arrays and objects nest in valid JSON.
func Depth(raw string) int {
	depth, deepest, inString := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			inString = !inString
		case inString:
			if c == '\\' {
				i++
			}
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// Compact returns a JSON value without white space.
func Compact(raw string) json.RawMessage { return jsonio.AppendRaw(nil, []byte(raw)) }

// AppendComma appends the comma before the next member or element of an open object or array.
func AppendComma(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '{' || last == '[' {
		return dst
	}
	return append(dst, ',')
}

// AppendKey appends the name of the next member of an open object.
func AppendKey(dst []byte, key string) []byte {
	return append(jsonio.AppendString(AppendComma(dst), key), ':')
}

// AppendString appends a member that is a string to an open object.
func AppendString(dst []byte, key, value string) []byte {
	return jsonio.AppendString(AppendKey(dst, key), value)
}

// AppendInt appends a member that is an integer to an open object.
func AppendInt(dst []byte, key string, n int64) []byte {
	return jsonio.AppendInt(AppendKey(dst, key), n)
}

// AppendRaw appends a member of any type to an open object. It repairs lone surrogates.
func AppendRaw[T string | []byte | json.RawMessage](dst []byte, key string, raw T) []byte {
	return AppendValue(AppendKey(dst, key), raw)
}

// AppendValue appends a JSON value without white space and repairs lone surrogates (quirk
// QT-09).
func AppendValue[T string | []byte | json.RawMessage](dst []byte, raw T) []byte {
	from := len(dst)
	dst = jsonio.AppendRaw(dst, []byte(raw))
	RepairSurrogates(dst[from:])
	return dst
}

// AppendMembers appends the members of an object to an open object, except those named.
func AppendMembers(dst []byte, object json.RawMessage, except ...string) []byte {
	EachMember(object, func(key, raw string) {
		if !slices.Contains(except, key) {
			dst = AppendRaw(dst, key, raw)
		}
	})
	return dst
}

// EachMember calls f for each member of an object. It ignores invalid JSON and other values.
func EachMember(object json.RawMessage, f func(key, raw string)) {
	if !jsonio.Valid(object) {
		return
	}
	d := jsonio.NewDec(string(object))
	if d.Peek() != '{' {
		return
	}
	for key := range d.Members() {
		f(key, d.Raw())
	}
}

// Member is a member of an object.
type Member struct{ Key, Raw string }

// MembersOf returns the members of an object, except null. Other values have no members.
func MembersOf(object json.RawMessage) (list []Member) {
	EachMember(object, func(key, raw string) {
		if raw != "null" {
			list = append(list, Member{key, raw})
		}
	})
	return list
}

// Find returns the value of a member, or "" if it is null or missing.
func Find(list []Member, key string) string {
	for _, m := range list {
		if m.Key == key && m.Raw != "null" {
			return m.Raw
		}
	}
	return ""
}

// EachElement calls f for each element of an array. It ignores other values.
func EachElement(array json.RawMessage, f func(raw string)) {
	d := jsonio.NewDec(string(array))
	if d.Peek() != '[' {
		return
	}
	for range d.Elements() {
		f(d.Raw())
	}
}

// Get returns a member of an object, or nil.
func Get(object json.RawMessage, key string) (value json.RawMessage) {
	EachMember(object, func(k, raw string) {
		if k == key {
			value = json.RawMessage(raw)
		}
	})
	return value
}

// GetString returns a member of an object if it is a string, or "".
func GetString(object json.RawMessage, key string) string {
	raw := Get(object, key)
	if raw == nil {
		return ""
	}
	d := jsonio.NewDec(jsonio.View(raw))
	return String(&d)
}

// Members builds an object from members that are copied unchanged. The zero value is empty.
type Members []byte

// Add reads the next value as a member. It ignores null.
func (m *Members) Add(d *jsonio.Dec, key string) { m.AddRaw(key, d.Raw()) }

// AddRaw adds a member. It ignores null and "".
func (m *Members) AddRaw(key, raw string) {
	if raw == "null" || raw == "" {
		return
	}
	if *m == nil {
		*m = append(*m, '{')
	}
	*m = jsonio.AppendRaw(AppendKey(*m, key), []byte(raw))
}

// AddString adds a member that is a string.
func (m *Members) AddString(key, value string) {
	m.AddRaw(key, string(jsonio.AppendString(nil, value)))
}

// AddObject adds a member that is an object, unless inner is empty.
func (m *Members) AddObject(key string, inner Members) {
	m.AddRaw(key, string(inner.Object()))
}

// Object returns the object, or nil if it has no members.
func (m Members) Object() json.RawMessage {
	if m == nil {
		return nil
	}
	return json.RawMessage(append(m, '}'))
}

// Elements builds an array from elements that are copied unchanged. The zero value is empty.
type Elements []byte

// Add adds an element.
func (e *Elements) Add(raw string) {
	if *e == nil {
		*e = append(*e, '[')
	}
	*e = jsonio.AppendRaw(AppendComma(*e), []byte(raw))
}

// Array returns the array, or nil if it has no elements.
func (e Elements) Array() json.RawMessage {
	if e == nil {
		return nil
	}
	return json.RawMessage(append(e, ']'))
}

// RepairSurrogates overwrites each escape of a lone surrogate in JSON with \ufffd. JSON
// readers reject lone surrogates or interpret them differently.
func RepairSurrogates(b []byte) {
	for {
		next := bytes.IndexByte(b, '\\')
		if next < 0 {
			return
		}
		b = b[next:]
		high, ok := surrogate(b)
		size := min(2, len(b))
		if ok {
			size = 6
			if low, isPair := surrogate(b[6:]); high && isPair && !low {
				size = 12
			} else {
				copy(b, `\ufffd`)
			}
		}
		b = b[size:]
	}
}

// surrogate reports whether b begins with the escape of a surrogate, and whether that is
// the first half of a pair.
func surrogate(b []byte) (high, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' || b[2]|0x20 != 'd' || !isHex(b[3]) || !isHex(b[4]) || !isHex(b[5]) {
		return false, false
	}
	return b[3] < 'C' || b[3] > 'F' && b[3] < 'c', b[3] >= '8'
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// CleanName replaces each byte that no provider accepts in the name of a tool with "_".
func CleanName(name string) string {
	b := []byte(name)
	for i, c := range b {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' {
			b[i] = '_'
		}
	}
	return string(b)
}
