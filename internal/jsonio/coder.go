package jsonio

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Coder decodes objects, or encodes them if it is [Encoder].
//
// A codec calls one method for each member, in the order of an encoder, and repeats the calls as
// long as [Coder.Next] returns true. An encoder appends each member to dst. A decoder reads the
// value if its member comes next, and returns dst as it is. One pass suffices for members in this
// order. Next skips unknown members.
type Coder struct {
	Encoding bool
	Dec      Dec
	// Words, if set, keeps copies of the strings that [Coder.Word] decodes, so that equal strings
	// share memory and the input need not stay in memory.
	Words map[string]string
	// Other, if set, decodes a member of the outermost object that the codec does not have, and
	// calls [Coder.Advance]. It reports whether it did.
	Other func(name string) bool
	// Depth counts lists of parts in lists of parts.
	Depth int

	name  string // of the member whose value comes next
	text  string // name without _b64
	found bool   // the codec has decoded a member in this pass
	ended bool   // the object has no further member
}

// Encoder encodes objects. It has no state.
var Encoder = &Coder{Encoding: true, ended: true}

// Out is the output of an encoder.
type Out []byte

// Key appends the name of a member.
func (dst Out) Key(key string) Out { return append(append(append(dst.comma(), '"'), key...), '"', ':') }

// Name is Key for any string.
func (dst Out) Name(name string) Out { return append(AppendString(dst.comma(), name), ':') }

// comma appends a comma except before the first element.
func (dst Out) comma() Out {
	if c := dst[len(dst)-1]; c != '{' && c != '[' {
		return append(dst, ',')
	}
	return dst
}

// Unless returns dst if the object that with ends with is empty.
func (dst Out) Unless(with Out) Out {
	if n := len(with); n > 1 && with[n-2] == '{' {
		return dst
	}
	return with
}

// Begin begins to decode an object.
func (c *Coder) Begin() {
	c.Dec.Object()
	c.next(true)
}

// Type begins an object and returns the value of its member type, which may have any position.
// From is the offset of the object.
func (c *Coder) Type() (kind string, from int) {
	from = c.Dec.Offset()
	first := true
	if c.Dec.Object() && c.Dec.Member("type", &first) {
		kind = c.Dec.String()
		c.Advance()
		return kind, from
	}
	ahead := Dec{s: c.Dec.s, i: from}
	c.next(true)
	for key := range ahead.Members() {
		if key == "type" {
			return ahead.String(), from
		}
		ahead.Skip()
	}
	return "", from
}

// Rest skips the rest of an object and returns the whole object.
func (c *Coder) Rest(from int) json.RawMessage {
	for !c.ended {
		c.Dec.Skip()
		c.Advance()
	}
	return AppendRaw(nil, []byte(c.Dec.Since(from)))
}

// Member returns the name of the member whose value comes next; ok is false at the end of the
// object.
func (c *Coder) Member() (name string, ok bool) { return c.name, !c.ended }

// Advance ends a value: it reads the name of the next member.
func (c *Coder) Advance() { c.next(false) }

func (c *Coder) next(first bool) {
	name, ok := c.Dec.Key(&first)
	c.name, c.text, c.found, c.ended = name, name, true, !ok
	if n := len(name) - len(b64Suffix); n >= 0 && name[n:] == b64Suffix {
		c.text = name[:n]
	}
}

// Next reports whether the codec has to decode the members again. V1 contains the names of members
// in version 1.
func (c *Coder) Next(v1 Renames) bool {
	if c.ended {
		return false
	}
	if !c.found {
		c.unknown(v1)
	}
	c.found = false
	return !c.ended
}

// unknown handles a member that the codec does not have.
func (c *Coder) unknown(v1 Renames) {
	if now := v1.Name(&c.Dec, c.name); now != c.name {
		c.name, c.text = now, strings.TrimSuffix(now, b64Suffix)
		return
	}
	if c.Dec.depth > 1 || c.Other == nil || !c.Other(c.name) {
		c.Dec.Skip()
		c.Advance()
	}
}

// Take reports whether the member comes next in the input. The caller decodes the value and calls
// [Coder.Advance].
func (c *Coder) Take(key string) bool { return c.name == key }

// TakeText is Take for a string, which may be base64. It returns the string.
func (c *Coder) TakeText(key string) (value string, ok bool) {
	if c.text != key {
		return "", false
	}
	return c.Dec.Text(c.name), true
}

// Text codes a string. One that is not UTF-8 is base64; see [AppendText].
func (c *Coder) Text(dst Out, key string, v *string) Out {
	if c.Encoding || c.text == key {
		return c.codeText(dst, key, v)
	}
	return dst
}

// OptionalText is Text for a member that is absent if the string is empty.
func (c *Coder) OptionalText(dst Out, key string, v *string) Out {
	if c.Encoding && *v != "" || c.text == key {
		return c.codeText(dst, key, v)
	}
	return dst
}

func (c *Coder) codeText(dst Out, key string, v *string) Out {
	if c.Encoding {
		return AppendText(dst.comma(), key, *v)
	}
	*v = c.Dec.Text(c.name)
	c.Advance()
	return dst
}

// Word is Text for members of which many values are equal.
func (c *Coder) Word(dst Out, key string, v *string) Out {
	if c.Encoding || c.text == key {
		return c.codeWord(dst, key, v)
	}
	return dst
}

// OptionalWord is Word for a member that is absent if the string is empty.
func (c *Coder) OptionalWord(dst Out, key string, v *string) Out {
	if c.Encoding && *v != "" || c.text == key {
		return c.codeWord(dst, key, v)
	}
	return dst
}

func (c *Coder) codeWord(dst Out, key string, v *string) Out {
	if dst = c.codeText(dst, key, v); !c.Encoding {
		*v = c.Intern(*v)
	}
	return dst
}

// Intern returns the copy of s in Words.
func (c *Coder) Intern(s string) string {
	const maxWords, maxLength = 256, 64
	w, ok := c.Words[s]
	switch {
	case ok:
		return w
	case c.Words == nil || len(c.Words) == maxWords || len(s) > maxLength:
		return s
	}
	w = strings.Clone(s)
	c.Words[w] = w
	return w
}

// Int codes an integer.
func Int[T ~int | ~int64](c *Coder, dst Out, key string, v *T) Out {
	if c.Encoding || c.name == key {
		return codeInt(c, dst, key, v)
	}
	return dst
}

// OptionalInt is Int for a member that is absent if the integer is 0.
func OptionalInt[T ~int | ~int64](c *Coder, dst Out, key string, v *T) Out {
	if c.Encoding && *v != 0 || c.name == key {
		return codeInt(c, dst, key, v)
	}
	return dst
}

func codeInt[T ~int | ~int64](c *Coder, dst Out, key string, v *T) Out {
	if c.Encoding {
		return strconv.AppendInt(dst.Key(key), int64(*v), 10)
	}
	*v = T(c.Dec.Int())
	c.Advance()
	return dst
}

// OptionalBool codes a boolean that is absent if it is false.
func (c *Coder) OptionalBool(dst Out, key string, v *bool) Out {
	switch {
	case c.Encoding && *v:
		return append(dst.Key(key), "true"...)
	case c.Take(key):
		*v = c.Dec.Bool()
		c.Advance()
	}
	return dst
}

// BoolPointer codes a boolean that is absent if the pointer is nil.
func (c *Coder) BoolPointer(dst Out, key string, v **bool) Out {
	switch {
	case c.Encoding && *v != nil:
		return strconv.AppendBool(dst.Key(key), **v)
	case c.Take(key):
		*v = new(c.Dec.Bool())
		c.Advance()
	}
	return dst
}

// IntPointer codes an integer that is absent if the pointer is nil.
func (c *Coder) IntPointer(dst Out, key string, v **int64) Out {
	switch {
	case c.Encoding && *v != nil:
		return codeInt(c, dst, key, *v)
	case c.Take(key):
		*v = new(c.Dec.Int())
		c.Advance()
	}
	return dst
}

// FloatPointer codes a number that is absent if the pointer is nil.
func (c *Coder) FloatPointer(dst Out, key string, v **float64) Out {
	switch {
	case c.Encoding && *v != nil:
		return strconv.AppendFloat(dst.Key(key), **v, 'g', -1, 64)
	case c.Take(key):
		*v = new(c.Dec.Float())
		c.Advance()
	}
	return dst
}

// Raw codes a value of any type that is absent if it is nil.
func (c *Coder) Raw(dst Out, key string, v *json.RawMessage) Out {
	if c.Encoding && *v != nil || c.name == key {
		return c.codeRaw(dst, key, v)
	}
	return dst
}

func (c *Coder) codeRaw(dst Out, key string, v *json.RawMessage) Out {
	if c.Encoding {
		return AppendRaw(dst.Key(key), *v)
	}
	*v = json.RawMessage(c.Dec.Raw())
	c.Advance()
	return dst
}

// Bytes codes bytes as base64. They are absent if they are nil.
func (c *Coder) Bytes(dst Out, key string, v *[]byte) Out {
	switch {
	case c.Encoding && *v != nil:
		return append(base64.StdEncoding.AppendEncode(append(dst.Key(key), '"'), *v), '"')
	case c.Take(key):
		b, err := base64.StdEncoding.DecodeString(c.Dec.String())
		if err != nil {
			c.Dec.Fail("not base64: " + key)
		}
		*v = b
		c.Advance()
	}
	return dst
}

// OptionalTexts codes an array of strings that is absent if it is empty. A string that is not
// UTF-8 is an object {"_b64":"…"}.
func (c *Coder) OptionalTexts(dst Out, key string, v *[]string) Out {
	if c.Encoding && len(*v) == 0 {
		return dst
	}
	if dst = c.TextsOrNil(dst, key, v); !c.Encoding && len(*v) == 0 {
		*v = nil
	}
	return dst
}

// TextsOrNil is OptionalTexts for an array that is absent if it is nil.
func (c *Coder) TextsOrNil(dst Out, key string, v *[]string) Out {
	switch {
	case c.Encoding && *v != nil:
		dst = append(dst.Key(key), '[')
		for _, s := range *v {
			if dst = dst.comma(); utf8.ValidString(s) {
				dst = AppendString(dst, s)
				continue
			}
			dst = append(AppendText(append(dst, '{'), "", s), '}')
		}
		return append(dst, ']')
	case c.Take(key):
		*v = []string{}
		for range c.Dec.Elements() {
			if c.Dec.Peek() != '{' {
				*v = append(*v, c.Dec.String())
				continue
			}
			for name := range c.Dec.Members() {
				*v = append(*v, c.Dec.Text(name))
			}
		}
		c.Advance()
	}
	return dst
}

// OptionalTextMap codes an object of strings, sorted by name, that is absent if it is empty. A
// value that is not UTF-8 is base64, as in [AppendText].
func (c *Coder) OptionalTextMap(dst Out, key string, v *map[string]string) Out {
	switch {
	case c.Encoding && len(*v) > 0:
		dst = append(dst.Key(key), '{')
		var buf [mapBuffer]string
		for _, name := range SortedKeys(buf[:0], *v) {
			dst = AppendNamed(dst.comma(), name, (*v)[name])
		}
		return append(dst, '}')
	case c.Take(key):
		*v = map[string]string{}
		for name := range c.Dec.Members() {
			(*v)[strings.TrimSuffix(name, b64Suffix)] = c.Dec.Text(name)
		}
		c.Advance()
	}
	return dst
}

// OptionalRawMap codes an object of values of any type, sorted by name, that is absent if it is
// empty.
func (c *Coder) OptionalRawMap(dst Out, key string, v *map[string]json.RawMessage) Out {
	switch {
	case c.Encoding && len(*v) > 0:
		dst = append(dst.Key(key), '{')
		var buf [mapBuffer]string
		for _, name := range SortedKeys(buf[:0], *v) {
			dst = AppendRaw(dst.Name(name), (*v)[name])
		}
		return append(dst, '}')
	case c.Take(key):
		*v = map[string]json.RawMessage{}
		for name := range c.Dec.Members() {
			(*v)[name] = json.RawMessage(c.Dec.Raw())
		}
		c.Advance()
	}
	return dst
}

// mapBuffer is how many keys of a map are sorted without an allocation.
const mapBuffer = 8

// SortedKeys appends the sorted keys of m to buf.
func SortedKeys[K ~string, V any](buf []K, m map[K]V) []K {
	for k := range m {
		buf = append(buf, k)
	}
	slices.Sort(buf)
	return buf
}
