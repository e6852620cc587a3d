// Package shape finds the values in responses of models, in events of streams and in media that have another type of
// JSON than the API of the provider has. Codecs, which are tolerant, skip such values.
package shape

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// A shape is what the API of a provider has as a value: a kind, an object, a list or either. A nil shape is any value.
type (
	kind   string
	object map[string]any   // the shapes of members; null is as if a member were missing
	list   struct{ of any } // the shape of each element
	either []any            // the first one that begins as the value does counts
	must   struct{ be any } // a member that is never missing nor null
	some   struct{ be any } // a member that is never null
	about  struct{ be any } // a member that is no content: an object with only such members has none
)

const (
	text  kind = "a string"
	flag  kind = "a boolean"
	count kind = "a whole number of at least 0"
	usage kind = "an object with counts"
	label kind = "a string or the number of an enumeration"
)

// open is a name in an object that may have other members and none of these.
const open = "…"

// Response calls add for each value of another type in a response in a protocol, or in a list of them.
func Response(protocol string, data json.RawMessage, add func(format string, args ...any)) {
	w := newWalker(protocol, add)
	if d := jsonio.NewDec(jsonio.View(data)); d.Peek() == '[' {
		w.find(list{responses[protocol]}, data)
		return
	}
	w.find(responses[protocol], data)
}

// Request calls add for each value of another type in a request.
func Request(protocol string, data json.RawMessage, add func(format string, args ...any)) {
	w := newWalker(protocol, add)
	w.root = "the request"
	w.find(requests[protocol], data)
}

// Events returns a function that calls add for each value of another type in an event of a type. A protocol may have
// no types.
func Events(protocol string, add func(format string, args ...any)) func(kind string, data json.RawMessage) {
	w, types, untyped := newWalker(protocol, add), events[protocol], responses[protocol]
	return func(kind string, data json.RawMessage) {
		shape, known := types[kind]
		switch {
		case types == nil:
			shape = untyped
		case !known:
			shape = object{"type": text, open: nil}
		}
		w.find(shape, data)
	}
}

// Usage calls add for each value that is no count in a usage that a tool has recorded, possibly with its counts as
// strings. Place is where the usage is in its record.
func Usage(place string, value json.RawMessage, add func(format string, args ...any)) {
	findRecorded(usage, place, value, add)
}

// Count is Usage for a single count.
func Count(place string, value json.RawMessage, add func(format string, args ...any)) {
	findRecorded(count, place, value, add)
}

func findRecorded(shape kind, place string, value json.RawMessage, add func(format string, args ...any)) {
	if value != nil {
		w := walker{text: value, d: jsonio.NewDec(jsonio.View(value)), add: add, path: []step{{name: place}}, recorded: true}
		w.value(shape)
	}
}

func newWalker(protocol string, add func(format string, args ...any)) *walker {
	return &walker{needs: events[protocol] != nil, add: add}
}

// find adds the values of another type in JSON.
func (w *walker) find(shape any, data json.RawMessage) {
	if shape != nil {
		w.text, w.d = data, jsonio.NewDec(jsonio.View(data))
		w.path = w.path[:0]
		w.value(shape)
	}
}

type walker struct {
	text json.RawMessage
	d    jsonio.Dec
	root string // what the value itself is, if it is not a response
	path []step
	// needs is true for a protocol with members that are never missing; only those with types of events have some.
	needs bool
	// recorded is true for a usage that a tool has recorded.
	recorded bool
	add      func(format string, args ...any)
}

// step is a step from a value to one in it.
type step struct {
	name  string // of a member; empty for an element
	index int
}

// wrong adds a value of a wrong type, and skips it.
func (w *walker) wrong(want string) {
	var got string
	value := w.d.Raw()
	if value == "" { // it is not JSON
		return
	}
	switch value[0] {
	case '"':
		got = "a string"
	case '{':
		got = "an object"
	case '[':
		got = "a list"
	default:
		got = value
	}
	w.add("%s is %s: want %s", w.place(), got, want)
}

func (w *walker) place() string {
	if len(w.path) == 0 {
		return cmp.Or(w.root, "the response")
	}
	var place []byte
	for n, s := range w.path {
		switch {
		case s.name == "":
			place = fmt.Appendf(place, "[%d]", s.index)
		case n > 0:
			place = append(place, '.')
			fallthrough
		default:
			place = append(place, s.name...)
		}
	}
	return string(place)
}

func (w *walker) value(shape any) {
	c := w.d.Peek()
	switch s := shape.(type) {
	case nil:
		w.d.Skip()
	case must:
		w.notNull(s.be)
	case some:
		w.notNull(s.be)
	case about:
		w.value(s.be)
	case either:
		at := max(0, slices.IndexFunc(s, func(one any) bool { return one == nil || begins(one) == c }))
		w.value(s[at])
	case object:
		w.object(s)
	case list:
		w.list(s)
	case kind:
		w.kind(s)
	}
}

func (w *walker) notNull(shape any) {
	if w.d.Peek() == 'n' {
		w.wrong(want(shape))
		return
	}
	w.value(shape)
}

// begins returns the first byte of the values of a shape.
func begins(shape any) byte {
	switch shape.(type) {
	case object:
		return '{'
	case list:
		return '['
	}
	return '"'
}

// want describes a shape.
func want(shape any) string {
	switch s := shape.(type) {
	case object:
		return "an object"
	case list:
		return "a list"
	case kind:
		return string(s)
	}
	return "a value"
}

func (w *walker) list(s list) {
	switch w.d.Peek() {
	case '[':
	case 'n':
		w.d.Skip()
		return
	default:
		w.wrong("a list")
		return
	}
	w.path = append(w.path, step{})
	last := len(w.path) - 1
	for n := range w.d.Elements() {
		w.path[last].index = n
		w.value(s.of)
	}
	w.path = w.path[:last]
}

func (w *walker) object(o object) {
	switch w.d.Peek() {
	case '{':
	case 'n':
		w.d.Skip()
		return
	default:
		w.wrong("an object")
		return
	}
	var needed []string // those that came
	read := false
	var others []member
	w.path = append(w.path, step{})
	last := len(w.path) - 1
	for name := range w.d.Members() {
		shape, known := o.member(name)
		if !known {
			if value := tree.Next(w.text, &w.d); !read {
				others = append(others, member{name, value})
			}
			continue
		}
		switch shape.(type) {
		case must:
			needed, read = append(needed, name), true
		case some: // null is reported
			read = true
		case about:
		default:
			read = read || !w.atEmpty()
		}
		w.path[last].name = name
		w.value(shape)
	}
	if w.path = w.path[:last]; w.d.Err() != nil {
		return
	}
	var missing []string
	if w.needs {
		missing = o.missing(needed)
	}
	if missing != nil {
		for _, name := range missing {
			w.add("%s has no member %q: want %s", w.place(), name, want(o[name].(must).be))
		}
	} else if !read {
		w.others(o, others)
	}
}

// atEmpty reports whether the next value is null, or an empty string, list or object.
func (w *walker) atEmpty() bool {
	c := w.d.Peek() // which skips space
	switch rest := w.text[w.d.Offset():]; c {
	case 'n':
		return true
	case '"':
		return bytes.HasPrefix(rest, []byte(`""`))
	case '[':
		return bytes.HasPrefix(rest, []byte("[]"))
	case '{':
		return bytes.HasPrefix(rest, []byte("{}"))
	}
	return false
}

// missing returns the members that an object needs and that are not among those that came.
func (o object) missing(came []string) (missing []string) {
	for name, shape := range o {
		if _, ok := shape.(must); ok && !slices.Contains(came, name) {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

type member struct {
	name  string
	value json.RawMessage
}

// others adds an object that has only members that its shape does not have.
func (w *walker) others(o object, members []member) {
	members = slices.DeleteFunc(members, func(m member) bool { return message.IsEmpty(m.value) })
	var names []string
	for _, m := range members {
		if isIn(m.value, o.has) {
			w.add("%s is nested in the member %q, which is not read", w.place(), m.name)
			return
		}
		names = append(names, strconv.Quote(m.name))
	}
	if _, isOpen := o[open]; !isOpen && names != nil {
		w.add("%s has no member that is read, and has %s", w.place(), strings.Join(names, ", "))
	}
}

// isIn reports whether a value, or an object in it, has a member of a name.
func isIn(value json.RawMessage, has func(name string) bool) bool {
	for name, inner := range tree.Members(value) {
		if has(name) || isIn(inner, has) {
			return true
		}
	}
	return false
}

func (o object) has(name string) bool {
	_, known := o.member(name)
	return known
}

// member returns the shape of a member. Google's libraries write names in snake case, too.
func (o object) member(name string) (shape any, known bool) {
	if shape, known = o[name]; !known && strings.Contains(name, "_") {
		shape, known = o[jsonval.CamelCase(name)]
	}
	return shape, known
}

func (w *walker) kind(k kind) {
	c := w.d.Peek()
	ok := c == 'n'
	switch k {
	case text:
		ok = ok || c == '"'
	case flag:
		ok = ok || c == 't' || c == 'f'
	case label:
		ok = ok || c == '"' || '0' <= c && c <= '9'
	case usage:
		if c == '{' {
			w.usage()
			return
		}
	case count:
		start := w.d
		if number := w.d.Raw(); isCount(number) || w.recorded && isCount(strings.Trim(number, `"`)) {
			return
		}
		w.d = start
	}
	if !ok {
		w.wrong(string(k))
		return
	}
	w.d.Skip()
}

// isCount reports whether a number is a count. Some providers write it with a fraction of 0.
func isCount(number string) bool {
	n, err := strconv.ParseFloat(number, 64)
	return err == nil && n >= 0 && n <= tree.MaxCount && n == math.Trunc(n)
}

// usage reads an object with counts and with details of them.
func (w *walker) usage() {
	some, nested := false, ""
	w.path = append(w.path, step{})
	last := len(w.path) - 1
	for name := range w.d.Members() {
		w.path[last].name = name
		switch snake := tree.Snake(name); {
		case snake == "tokens" || snake == "billed_units" || strings.HasSuffix(snake, "_tokens_details"):
			some = true
			if d := w.d; d.Peek() == '[' && tree.Member(tree.Element(tree.Next(w.text, &d), "0"), "modality") != nil {
				w.d.Skip() // Gemini counts by modality, too
				continue
			}
			w.kind(usage)
		case strings.HasSuffix(snake, "_token_details"): // of LangChain, whose details have names of their own
			w.value(details)
		case w.isCountName(name):
			some = true
			w.kind(count)
		default:
			if isIn(tree.Next(w.text, &w.d), w.isCountName) {
				nested = name
			}
		}
	}
	if w.path = w.path[:last]; !some && nested != "" {
		w.add("%s is nested in the member %q, which is not read", w.place(), nested)
	}
}

// isCountName reports whether a name is that of a count, which ends in the same way in all APIs.
func (w *walker) isCountName(name string) bool {
	name = tree.Snake(name)
	return w.recorded && slices.Contains([]string{"input", "output", "total", "prompt", "completion", "cached", "tokens_sent", "tokens_received"}, name) ||
		strings.HasSuffix(name, "_tokens") || strings.HasSuffix(name, "_token_count")
}
