// Package tree finds values in JSON that is known to be valid, without decoding all of it.
// A lookup in a value of another kind, nil included, finds nothing. Functions with names read the
// value at the end of this path of names.
package tree

import (
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/looptape/looptape/internal/jsonio"
)

// Members yields the members of an object. The values share its memory, as those of all functions
// of this package do.
func Members(raw json.RawMessage, names ...string) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		var c cursor
		c.open(Member(raw, names...), '{')
		for c.member() {
			if !yield(c.name, c.value) {
				return
			}
		}
	}
}

// Names returns the names of the members of an object, in quotes, for a message.
func Names(object json.RawMessage) string {
	var names []string
	for name := range Members(object) {
		names = append(names, strconv.Quote(name))
	}
	return strings.Join(names, ", ")
}

// Next reads the next value with a reader of text, and returns it without a copy.
func Next(text json.RawMessage, d *jsonio.Dec) json.RawMessage {
	value := d.Raw()
	end := d.Offset()
	if value == "" { // an error
		return json.RawMessage{}
	}
	return text[end-len(value) : end : end]
}

// Member returns the value at the end of a path of names. The last of equal names counts.
func Member(raw json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		object := raw
		raw = nil
		for key, value := range Members(object) {
			if key == name {
				raw = value
			}
		}
	}
	return raw
}

// First returns the first of the members that the object has.
func First(raw json.RawMessage, names ...string) (first json.RawMessage) {
	for key, value := range Members(raw) {
		if i := slices.Index(names, key); i >= 0 {
			first, names = value, names[:i+1]
		}
	}
	return first
}

// Without returns the object without some members; nil if no other is left.
func Without(raw json.RawMessage, names ...string) json.RawMessage {
	var x Index
	x.Read(raw)
	return x.Without(names...)
}

// Fields reads members of an object, and returns those that it has not read.
type Fields struct {
	Object json.RawMessage

	read []string
}

// take notes that a member is read, if it is of the right kind.
func (f *Fields) take(name string, ok bool) {
	if ok {
		f.read = append(f.read, name)
	}
}

// Text reads a string; ok is false for any other value.
func (f *Fields) Text(name string) (text string, ok bool) {
	text, ok = Text(f.Object, name)
	f.take(name, ok)
	return text, ok
}

// Scalar reads a string or a number; any other value is empty.
func (f *Fields) Scalar(name string) string {
	value := Member(f.Object, name)
	text := Scalar(value)
	f.take(name, text != "" || string(value) == `""`)
	return text
}

// IsTrue reads a boolean; any other value is false.
func (f *Fields) IsTrue(name string) bool {
	value := string(Member(f.Object, name))
	f.take(name, value == "true" || value == "false")
	return value == "true"
}

// Name returns the first of the names that the object has as a member; the first one if it has none.
func (f *Fields) Name(names ...string) string {
	for _, name := range names {
		if Member(f.Object, name) != nil {
			return name
		}
	}
	return names[0]
}

// First reads the first of the members that the object has; nil if it has none.
func (f *Fields) First(names ...string) json.RawMessage {
	for _, name := range names {
		if value := Member(f.Object, name); value != nil {
			f.take(name, true)
			return value
		}
	}
	return nil
}

// Rest returns the object without the members that were read and without null; nil if no other is
// left.
func (f *Fields) Rest() json.RawMessage {
	var rest Object
	for key, value := range Members(f.Object) {
		if !slices.Contains(f.read, key) && !IsNull(value) {
			rest.Add(key, value)
		}
	}
	return rest.JSON()
}

// Field is Member for names in snake case that the object has in snake or camel case: Google's
// libraries write both. The first that is not null counts.
func Field(raw json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		object := raw
		raw = nil
		for key, value := range Members(object) {
			if raw == nil && Snake(key) == name && !IsNull(value) {
				raw = value
			}
		}
	}
	return raw
}

// Snake returns a camel-case name in snake case.
func Snake(name string) string {
	if !strings.ContainsFunc(name, unicode.IsUpper) {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Elements yields the elements of an array.
func Elements(raw json.RawMessage, names ...string) iter.Seq2[int, json.RawMessage] {
	return func(yield func(int, json.RawMessage) bool) {
		var c cursor
		c.open(Member(raw, names...), '[')
		for n := 0; c.element(); n++ {
			if !yield(n, c.value) {
				return
			}
		}
	}
}

// Element returns an element of an array. The index is in decimal, as in a JSON pointer.
func Element(array json.RawMessage, index string) json.RawMessage {
	for n, value := range Elements(array) {
		if strconv.Itoa(n) == index {
			return value
		}
	}
	return nil
}

// Text returns a string; ok is false if the value is not one.
func Text(raw json.RawMessage, names ...string) (text string, ok bool) {
	d := jsonio.NewValidDec(jsonio.View(Member(raw, names...)))
	if d.Peek() != '"' {
		return "", false
	}
	return d.String(), true
}

// IsText reports whether a value is a string.
func IsText(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

// String returns a string, or the JSON of any other value.
func String(raw json.RawMessage, names ...string) string {
	raw = Member(raw, names...)
	if text, ok := Text(raw); ok {
		return text
	}
	return string(raw)
}

// Scalar returns a string or the digits of a number; empty for any other value.
func Scalar(raw json.RawMessage, names ...string) string {
	raw = Member(raw, names...)
	if text, ok := Text(raw); ok {
		return text
	}
	if len(raw) > 0 && (raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') {
		return string(raw)
	}
	return ""
}

// Set returns the set of these names of members, or of kinds.
func Set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}

// Count returns a count that is a number, possibly with a fraction of zero, or a string with one; 0 for any other value.
func Count(raw json.RawMessage, names ...string) int64 {
	number := Scalar(raw, names...)
	if number == "" { // which most have none of; an error takes memory
		return 0
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n < 0 || n > MaxCount || n != math.Trunc(n) {
		return 0
	}
	return int64(n)
}

// MaxCount is the largest count that each number in JSON can represent.
const MaxCount = 1 << 53

// Amount returns a cost or another amount of at least 0, which is a number or a string with one, as exports of decimal
// numbers have it. It is 0 for null, and ok is false for any other value.
func Amount(raw json.RawMessage) (amount float64, ok bool) {
	if IsNull(raw) {
		return 0, true
	}
	amount, err := strconv.ParseFloat(Scalar(raw), 64)
	if err != nil || !(amount >= 0) || math.IsInf(amount, 0) {
		return 0, false
	}
	return amount, true
}

// Embedded returns a value that may be written as a string with JSON in it; nil if the
// string is not JSON.
func Embedded(raw json.RawMessage) json.RawMessage {
	text, ok := Text(raw)
	switch {
	case !ok:
		return raw
	case !jsonio.ValidText(text):
		return nil
	}
	return jsonio.Bytes(text)
}

// IsNull reports whether a value is null or missing.
func IsNull(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }

// IsTrue reports whether a value is true.
func IsTrue(raw json.RawMessage, names ...string) bool {
	return string(Member(raw, names...)) == "true"
}

// QuoteNonFinite puts NaN, Infinity and -Infinity in quotes. Python writes them as numbers,
// and JSON does not have them. The rest of the text stays as it is.
func QuoteNonFinite(text string) string {
	if !strings.Contains(text, "NaN") && !strings.Contains(text, "Infinity") {
		return text
	}
	var b strings.Builder
	done := 0 // up to here
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
		case 'N', 'I', '-':
			if word := nonFinite(text[i:]); word != "" {
				b.WriteString(text[done:i] + `"` + word + `"`)
				i += len(word) - 1
				done = i + 1
			}
		}
	}
	b.WriteString(text[done:])
	return b.String()
}

// stringEnd returns the index of the quote that ends the string at i, or of the end of the text.
func stringEnd(text string, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// nonFinite returns the number at the beginning of a text that is not finite; empty if none is.
func nonFinite(text string) string {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if strings.HasPrefix(text, word) {
			return word
		}
	}
	return ""
}

// Object builds a JSON object. Its zero value has no members.
type Object []byte

// Raw adds a member with a JSON value.
func (o *Object) Raw(key, value string) {
	sep := byte(',')
	if len(*o) == 0 {
		sep = '{'
		*o = slices.Grow(*o, minObjectSize+len(key)+len(value))
	}
	*o = append(jsonio.AppendString(append(*o, sep), key), ':')
	*o = append(*o, value...)
}

// minObjectSize is how many bytes an object gets in addition to those of its first member.
const minObjectSize = 64

// Add adds a member unless its value is nil.
func (o *Object) Add(key string, value json.RawMessage) {
	if value != nil {
		o.Raw(key, jsonio.View(value))
	}
}

// Text adds a member with a string.
func (o *Object) Text(key, value string) {
	o.Raw(key, "")
	*o = jsonio.AppendString(*o, value)
}

// JSON returns the object, or nil if it has no members.
func (o Object) JSON() json.RawMessage {
	if len(o) == 0 {
		return nil
	}
	return append(json.RawMessage(o), '}')
}

// List builds a JSON array. Its zero value has no elements.
type List []byte

// Add adds an element.
func (l *List) Add(value json.RawMessage) {
	sep := byte(',')
	if *l == nil {
		sep = '['
	}
	*l = append(append(*l, sep), value...)
}

// JSON returns the array.
func (l List) JSON() json.RawMessage {
	if l == nil {
		return json.RawMessage("[]")
	}
	return append(json.RawMessage(l), ']')
}
