package gemini

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// member is a member of a JSON object, its value as text.
type member struct{ key, raw string }

// membersOf returns the members of an object; what is no object has none.
func membersOf(raw json.RawMessage) []member {
	if !jsonio.Valid(raw) {
		return nil
	}
	d := jsonio.NewDec(string(raw))
	if d.Peek() != '{' {
		return nil
	}
	var out []member
	eachMember(&d, func(key string) { out = append(out, member{key, d.Raw()}) })
	return out
}

// eachMember reads an object; f reads the value of each member. A null counts as
// no member, as in the JSON form of protocol buffers.
func eachMember(d *jsonio.Dec, f func(key string)) {
	if !d.Object() {
		return
	}
	for first := true; ; {
		key, ok := d.Key(&first)
		switch {
		case !ok:
			return
		case !d.Null():
			f(key)
		}
	}
}

// eachElement reads an array; f reads each element. An object is an array of it alone:
// Google takes it so, and its own examples in REST leave the brackets out.
func eachElement(d *jsonio.Dec, f func()) {
	if d.Peek() == '{' {
		f()
		return
	}
	if !d.Array() {
		return
	}
	for first := true; d.More(&first); {
		f()
	}
}

// find returns the value of a member, or "".
func find(members []member, key string) string {
	for _, m := range members {
		if m.key == key {
			return m.raw
		}
	}
	return ""
}

// camel returns the name of a field as Google writes it: both this form and the
// one with underscores are accepted.
func camel(key string) string {
	if !strings.Contains(key, "_") {
		return key
	}
	words := strings.Split(key, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// appendKey appends the name of the next member of an object.
func appendKey(dst []byte, key string) []byte {
	return append(jsonio.AppendString(appendComma(dst), key), ':')
}

// appendComma appends the comma before the next member or element, if there was
// one before it.
func appendComma(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '{' || last == '[' {
		return dst
	}
	return append(dst, ',')
}

// appendMember appends a member that is a string.
func appendMember(dst []byte, key, value string) []byte {
	return jsonio.AppendString(appendKey(dst, key), value)
}

// appendMembers appends members but for those that are named.
func appendMembers(dst []byte, members []member, but ...string) []byte {
	for _, m := range members {
		if !slices.Contains(but, m.key) {
			dst = appendValue(appendKey(dst, m.key), m.raw)
		}
	}
	return dst
}

// appendValue appends valid JSON without white space. A lone surrogate, which no
// provider takes, becomes U+FFFD.
func appendValue(dst []byte, raw string) []byte { return appendCompact(dst, raw, true) }

// appendCompact appends valid JSON without white space, with lone surrogates
// mended or left.
func appendCompact(dst []byte, raw string, mend bool) []byte {
	in := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case in && c == '\\':
			n, lone := escape(raw[i:])
			if lone && mend {
				dst = append(dst, `\ufffd`...)
			} else {
				dst = append(dst, raw[i:i+n]...)
			}
			i += n - 1
			continue
		case c == '"':
			in = !in
		case !in && isSpace(c):
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// escape returns the length of the escape that s begins with, a pair of
// surrogates taken as one, and whether it is a surrogate alone.
func escape(s string) (n int, lone bool) {
	switch {
	case s[1] != 'u':
		return 2, false
	case !surrogate(s):
		return 6, false
	case high(s) && s[6] == '\\' && s[7] == 'u' && surrogate(s[6:]) && !high(s[6:]):
		return 12, false
	}
	return 6, true
}

// surrogate reports whether the \uXXXX that s begins with is one.
func surrogate(s string) bool {
	return s[2]|0x20 == 'd' && s[3] >= '8'
}

// high reports whether the surrogate that s begins with is the first of a pair.
func high(s string) bool { return s[3] <= '9' || s[3]|0x20 == 'a' || s[3]|0x20 == 'b' }

// compact returns a JSON value without white space, and else as it is.
func compact(raw string) string {
	in := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case in && c == '\\':
			i++
		case c == '"':
			in = !in
		case !in && isSpace(c):
			return string(appendCompact(make([]byte, 0, len(raw)), raw, false))
		}
	}
	return raw
}

// fits reports whether text is a JSON object that nests no deeper than most.
func fits(text string, most int) bool {
	if !jsonio.Valid([]byte(text)) || strings.TrimLeft(text, " \n\r\t")[0] != '{' {
		return false
	}
	depth, in := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case in && c == '\\':
			i++
		case c == '"':
			in = !in
		case in:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}
