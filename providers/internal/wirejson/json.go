package wirejson

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// object begins to read an object; what is none is passed over.
func BeginObject(d *jsonio.Dec) bool {
	if d.Peek() != '{' {
		d.Skip()
		return false
	}
	return d.Object()
}

// array begins to read an array; what is none is passed over.
func BeginArray(d *jsonio.Dec) bool {
	if d.Peek() != '[' {
		d.Skip()
		return false
	}
	return d.Array()
}

// word reads a string; what is none is passed over, and is empty.
func String(d *jsonio.Dec) string {
	if d.Peek() == '"' {
		return d.String()
	}
	d.Skip()
	return ""
}

// anyText reads a string, or the text of any other value; null is empty.
func Text(d *jsonio.Dec) string {
	switch {
	case d.Peek() == '"':
		return d.String()
	case d.Null():
		return ""
	}
	return d.Raw()
}

// count reads a number of tokens; what is none, or cannot be one, is 0.
func Count(d *jsonio.Dec) int64 {
	const most = 1 << 53
	if d.Peek()-'0' > 9 {
		d.Skip()
		return 0
	}
	n := d.Float()
	if n > most {
		return 0
	}
	return int64(n)
}

// members gathers the members of an object that are kept as they are.
type Members []byte

// add takes the next value of d as the member key, unless it is null.
func (m *Members) Add(d *jsonio.Dec, key string) { m.AddRaw(key, d.Raw()) }

// addRaw takes a value as the member key, unless it is null or there is none.
func (m *Members) AddRaw(key, raw string) {
	if raw == "null" || raw == "" {
		return
	}
	sep := byte(',')
	if *m == nil {
		sep = '{'
	}
	*m = append(jsonio.AppendString(append(*m, sep), key), ':')
	*m = jsonio.AppendRaw(*m, []byte(raw))
}

// addText takes a string as the member key.
func (m *Members) AddString(key, value string) {
	m.AddRaw(key, string(jsonio.AppendString(nil, value)))
}

// addObject takes gathered members as one object, the member key, if there are
// any.
func (m *Members) AddObject(key string, inner Members) {
	m.AddRaw(key, string(inner.Object()))
}

// addElement gathers an element of an array instead of members.
func (m *Members) AddElement(raw string) {
	sep := byte(',')
	if *m == nil {
		sep = '['
	}
	*m = jsonio.AppendRaw(append(*m, sep), []byte(raw))
}

// object returns what was gathered as an object, or nil.
func (m Members) Object() json.RawMessage {
	if m == nil {
		return nil
	}
	return json.RawMessage(append(m, '}'))
}

// appendMembers appends the members of an object to one that is begun, but for
// those that the codec writes.
func AppendMembers(dst []byte, object json.RawMessage, own ...string) []byte {
	EachMember(object, func(key, raw string) {
		if !slices.Contains(own, key) {
			dst = AppendMember(dst, key, raw)
		}
	})
	return dst
}

// appendMember appends a member to an object that is begun.
func AppendMember(dst []byte, key, raw string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return jsonio.AppendRaw(append(jsonio.AppendString(dst, key), ':'), []byte(raw))
}

// member returns the member key of opaque, or nil.
func Get(opaque json.RawMessage, key string) (value json.RawMessage) {
	EachMember(opaque, func(k, raw string) {
		if k == key {
			value = json.RawMessage(raw)
		}
	})
	return value
}

// memberText returns the member key of opaque if it is a string.
func GetString(opaque json.RawMessage, key string) string {
	raw := Get(opaque, key)
	if raw == nil {
		return ""
	}
	d := jsonio.NewDec(jsonio.View(raw))
	return String(&d)
}

// eachMember calls f for the members of opaque, if it is an object.
func EachMember(opaque json.RawMessage, f func(key, raw string)) {
	if !jsonio.Valid(opaque) {
		return
	}
	d := jsonio.NewDec(string(opaque))
	if d.Peek() != '{' {
		return
	}
	d.Object()
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return
		}
		f(key, d.Raw())
	}
}

// eachElement calls f for the elements of an array, if it is one.
func EachElement(array json.RawMessage, f func(raw string)) {
	d := jsonio.NewDec(string(array))
	if d.Peek() != '[' {
		return
	}
	d.Array()
	for first := true; d.More(&first); {
		f(d.Raw())
	}
}

// wellFormed returns JSON text without escapes of lone surrogates: each becomes
// \ufffd. Readers of JSON refuse them or differ on what they mean.
func RepairSurrogates(s string) string {
	var out []byte
	from := 0
	for i := 0; ; {
		next := strings.IndexByte(s[i:], '\\')
		if next < 0 {
			break
		}
		i += next
		size, lone := escape(s[i:])
		if lone {
			out = append(append(out, s[from:i]...), `\ufffd`...)
			from = i + size
		}
		i += size
	}
	if from == 0 {
		return s
	}
	return string(append(out, s[from:]...))
}

func RepairSurrogatesBytes(b []byte) []byte {
	if !bytes.Contains(b, []byte(`\u`)) {
		return b
	}
	return []byte(RepairSurrogates(string(b)))
}

// escape returns the length of the escape that s begins with, and whether it is
// a lone surrogate.
func escape(s string) (size int, lone bool) {
	high, ok := surrogate(s)
	switch {
	case !ok:
		return min(2, len(s)), false
	case high:
		if low, ok := surrogate(s[6:]); ok && !low {
			return 12, false
		}
	}
	return 6, true
}

// surrogate reports whether s begins with the escape of a surrogate, and whether
// it is the first half of a pair.
func surrogate(s string) (high, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' || s[2]|0x20 != 'd' {
		return false, false
	}
	for _, c := range s[4:6] {
		if !strings.ContainsRune("0123456789abcdefABCDEF", c) {
			return false, false
		}
	}
	switch s[3] {
	case '8', '9', 'a', 'b', 'A', 'B':
		return true, true
	case 'c', 'd', 'e', 'f', 'C', 'D', 'E', 'F':
		return false, true
	}
	return false, false
}

// appendKey appends the name of a member, with the comma before it.
func AppendKey(dst []byte, key string) []byte {
	return append(jsonio.AppendString(append(dst, ','), key), ':')
}

// appendWord appends a member that is a string, with the comma before it.
func AppendString(dst []byte, key, value string) []byte {
	return jsonio.AppendString(AppendKey(dst, key), value)
}

// appendSound appends a member that is any JSON value, with the comma before it.
// Surrogates without a partner do not reach the wire (quirk QT-09).
func AppendRaw(dst []byte, key string, raw []byte) []byte {
	return AppendRepaired(AppendKey(dst, key), raw)
}

// appendWell appends any JSON value as appendSound does.
func AppendRepaired(dst, raw []byte) []byte {
	from := len(dst)
	dst = jsonio.AppendRaw(dst, raw)
	return append(dst[:from], RepairSurrogates(jsonio.View(dst[from:]))...) // onto itself, if it is
}

// compact returns a JSON value without white space.
func Compact(raw string) json.RawMessage { return jsonio.AppendRaw(nil, []byte(raw)) }
