package anthropic

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// maxNesting is how deeply JSON that comes from elsewhere may nest in a body:
// readers of JSON differ in what they bear, and none needs more.
const maxNesting = 500

// sane reports whether raw is one JSON value that may stand in a body.
func sane(raw []byte) bool { return nesting(raw) <= maxNesting && jsonio.Valid(raw) }

// nesting counts how deeply raw nests, if it is JSON.
func nesting(raw []byte) int {
	depth, most, in := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			in = !in
		case in:
			if c == '\\' {
				i++
			}
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

// appendRaw appends a JSON value, which is sane, in compact form. Halves of
// surrogate pairs, which the provider refuses (SA-20), become U+FFFD.
func appendRaw(dst, raw []byte) []byte {
	from := len(dst)
	dst = jsonio.AppendRaw(dst, raw)
	if bytes.Contains(dst[from:], []byte(`\u`)) {
		mendSurrogates(dst[from:])
	}
	return dst
}

// mendSurrogates writes \ufffd over each escape of half a surrogate pair in b,
// which is JSON.
func mendSurrogates(b []byte) {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		if i++; b[i] != 'u' {
			continue
		}
		switch {
		case surrogate(b[i+1:], "89ab") && bytes.HasPrefix(b[i+5:], []byte(`\u`)) && surrogate(b[i+7:], "cdef"):
			i += 10
		case surrogate(b[i+1:], "89abcdef"):
			copy(b[i+1:], "fffd")
			i += 4
		default:
			i += 4
		}
	}
}

// surrogate reports whether b begins with the digits of half a surrogate pair
// whose second digit is one of these.
func surrogate(b []byte, second string) bool {
	return len(b) > 1 && b[0]|0x20 == 'd' && strings.IndexByte(second, b[1]|0x20) >= 0
}

// members gathers the members of an object that are kept as they are.
type members []byte

// read takes the next value of d as the member key, unless it is null.
func (m *members) read(d *jsonio.Dec, key string) {
	if d.Null() {
		return
	}
	m.add(key, []byte(d.Raw()))
}

func (m *members) add(key string, raw []byte) {
	sep := byte(',')
	if *m == nil {
		sep = '{'
	}
	*m = append(jsonio.AppendString(append(*m, sep), key), ':')
	*m = jsonio.AppendRaw(*m, raw)
}

// object returns what was gathered as an object, or nil.
func (m members) object() json.RawMessage {
	if m == nil {
		return nil
	}
	return json.RawMessage(append(m, '}'))
}

// eachMember calls f for the members of an opaque datum, if it is an object.
func eachMember(opaque json.RawMessage, f func(key string, raw []byte)) {
	if len(opaque) == 0 || !sane(opaque) {
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
		f(key, []byte(d.Raw()))
	}
}

// member returns a member of an opaque datum, or nil.
func member(opaque json.RawMessage, key string) (value []byte) {
	eachMember(opaque, func(k string, raw []byte) {
		if k == key {
			value = raw
		}
	})
	return value
}

// memberText returns a member that is a string; ok tells whether it is one.
func memberText(opaque json.RawMessage, key string) (text string, ok bool) {
	d := jsonio.NewDec(string(member(opaque, key)))
	if d.Peek() != '"' {
		return "", false
	}
	return d.String(), true
}

// keyOther holds, in an opaque datum, the members that this package does not know.
const keyOther = "anthropic"

// The members of blocks that stand in opaque data by themselves.
var (
	textMembers   = []string{"cache_control", "citations"}
	callMembers   = []string{"cache_control", "caller", "server_name"}
	resultMembers = []string{"cache_control"}
	mediaMembers  = []string{"cache_control", "citations", "context"}
)

// rest gathers what is kept of a block or a message beside what it says.
type rest struct {
	plain      []string // the members that stand by themselves
	own, other members
}

// read takes the next value of d as the member key, unless it is null.
func (r *rest) read(d *jsonio.Dec, key string) {
	if slices.Contains(r.plain, key) {
		r.own.read(d, key)
		return
	}
	r.other.read(d, key)
}

// object returns what was gathered as an opaque datum, or nil.
func (r *rest) object() json.RawMessage {
	if r.other != nil {
		r.own.add(keyOther, r.other.object())
	}
	return r.own.object()
}

// appendMembers appends the members that an opaque datum adds to a block, each
// behind a comma: those that are named here, and those that came from Anthropic and
// are not known. All else is of other protocols: a history may have begun with
// another provider.
func appendMembers(dst []byte, opaque json.RawMessage, plain ...string) []byte {
	eachMember(opaque, func(key string, raw []byte) {
		switch {
		case key == keyOther:
			eachMember(raw, func(key string, raw []byte) { dst = appendMember(dst, key, raw) })
		case slices.Contains(plain, key):
			dst = appendMember(dst, key, raw)
		}
	})
	return dst
}

// appendMember appends a member behind a comma.
func appendMember(dst []byte, key string, raw []byte) []byte {
	return appendRaw(append(jsonio.AppendString(append(dst, ','), key), ':'), raw)
}

// text reads a string; null is empty.
func text(d *jsonio.Dec) string {
	if d.Null() {
		return ""
	}
	return d.String()
}

// word reads a string; what is none is passed over, and is empty.
func word(d *jsonio.Dec) string {
	if d.Peek() == '"' {
		return d.String()
	}
	d.Skip()
	return ""
}

// count reads a number of tokens; of what is none, ok is false.
func count(d *jsonio.Dec) (n int64, ok bool) {
	const most = 1 << 50
	if c := d.Peek(); c < '0' || c > '9' {
		d.Skip()
		return 0, false
	}
	f := d.Float()
	if f > most {
		return 0, false
	}
	return int64(f), true
}

// typeOf begins an object and tells its type, which may stand anywhere in it.
// First is as for the Key of d, which gives the type again if it does not come
// first.
func typeOf(d *jsonio.Dec) (kind string, first bool) {
	ahead := *d
	first = true
	if d.Object() && d.Member("type", &first) {
		return word(d), false
	}
	ahead.Object()
	for begun := true; ; {
		key, ok := ahead.Key(&begun)
		if !ok {
			return "", true
		}
		if key == "type" {
			return word(&ahead), true
		}
		ahead.Skip()
	}
}
