package scorers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
)

// parse reads one JSON value. Numbers become json.Numbers in one representation, so that equal
// values are deeply equal.
func parse(raw []byte) (any, error) {
	v, err := decode(raw)
	return jsonval.Leaves(v, func(leaf any) any {
		if n, ok := leaf.(json.Number); ok {
			return jsonval.CanonicalNumber(n)
		}
		return leaf
	}), err
}

// decode reads one JSON value, with numbers as they are written.
func decode(raw []byte) (any, error) {
	v, err := jsonval.Decode(raw)
	return v, jsonio.Words(err)
}

// decodeInto reads one JSON value, with numbers in values of type any as they are written.
func decodeInto(raw []byte, to any) error {
	return jsonio.Words(jsonval.DecodeAll(json.NewDecoder(bytes.NewReader(raw)), to))
}

// decodeKnown reads one JSON value and rejects unknown members.
func decodeKnown(raw []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return jsonio.Words(jsonval.DecodeAll(dec, to))
}

// copied returns a copy of a decoded value, as parse returns it.
func copied(v any) any {
	raw, _ := json.Marshal(v) // what was read can be written
	v, _ = parse(raw)
	return v
}

type absent struct{}

// change is a difference between two values: those at a path, or absent{}.
type change struct {
	path          string
	before, after any
}

// comparison finds the changes between two values in the order of paths: of objects by member,
// of arrays by element. If whole is set, arrays of other lengths differ as a whole; else the
// elements between their common beginning and end differ.
type comparison struct {
	whole bool
	found []change
}

func (c *comparison) compare(at string, before, after any) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			union := maps.Clone(b)
			maps.Copy(union, a)
			for _, name := range slices.Sorted(maps.Keys(union)) {
				c.compare(at+"/"+jsonval.Escape(name), member(b, name), member(a, name))
			}
			return
		}
	case []any:
		if a, ok := after.([]any); ok && (!c.whole || len(a) == len(b)) {
			c.elements(at, b, a)
			return
		}
	}
	if !equal(before, after) {
		c.found = append(c.found, change{at, before, after})
	}
}

func (c *comparison) elements(at string, before, after []any) {
	from := 0
	for from < min(len(before), len(after)) && equal(before[from], after[from]) {
		from++
	}
	for b, a := len(before)-1, len(after)-1; min(b, a) >= from && equal(before[b], after[a]); b, a = b-1, a-1 {
		before, after = before[:b], after[:a]
	}
	for i := from; i < max(len(before), len(after)); i++ {
		c.compare(at+"/"+strconv.Itoa(i), elementOf(before, i), elementOf(after, i))
	}
}

func elementOf(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

func member(object map[string]any, name string) any {
	if v, ok := object[name]; ok {
		return v
	}
	return absent{}
}

// equal reports whether two values that were parsed are the same.
func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// shown returns the JSON of a value, shortened, or "nothing".
func shown(v any) string { return shorten(jsonOf(v)) }

// jsonOf returns the JSON of a value, or "nothing".
func jsonOf(v any) string {
	if v == (absent{}) {
		return "nothing"
	}
	raw, _ := json.Marshal(v) // what was read can be written
	return string(raw)
}

// Explanations contain values up to maxWhole characters as they are. Of a longer value they contain the beginning
// and the end, or what is around the first difference.
const (
	maxWhole      = 300
	beginning     = 200
	ending        = 60
	contextBefore = 60 // a difference
	contextAfter  = 140
)

// shorten returns a text, or the beginning and the end of a long one.
func shorten(text string) string {
	r := []rune(text)
	if len(r) <= maxWhole {
		return text
	}
	return fmt.Sprintf("%s… (%d more characters) …%s", string(r[:beginning]), len(r)-beginning-ending, string(r[len(r)-ending:]))
}

func quote(text string) string { return strconv.Quote(shorten(text)) }

// around returns the parts of two different texts around their first difference, and where it is; empty if
// both are short enough to be shown as they are.
func around(a, b string) (partA, partB, where string) {
	x, y := []rune(a), []rune(b)
	if max(len(x), len(y)) <= maxWhole {
		return a, b, ""
	}
	at := 0
	for at < min(len(x), len(y)) && x[at] == y[at] {
		at++
	}
	part := func(r []rune) string {
		from, to := max(0, at-contextBefore), min(len(r), at+contextAfter)
		text := string(r[from:to])
		if from > 0 {
			text = "…" + text
		}
		if to < len(r) {
			text += "…"
		}
		return text
	}
	return part(x), part(y), fmt.Sprintf("from character %d on: ", at+1)
}

// unlike describes two different texts.
func unlike(want, got string) string {
	want, got, where := around(want, got)
	return fmt.Sprintf("%swant %s, got %s", where, strconv.Quote(want), strconv.Quote(got))
}

// nearest returns the text that has the most in common with the beginning of another.
func nearest(texts []string, to string) string {
	best, most := "", -1
	for _, text := range texts {
		n := 0
		for n < min(len(text), len(to)) && text[n] == to[n] {
			n++
		}
		if n > most {
			best, most = text, n
		}
	}
	return best
}

// quoted returns the quoted strings, shortened, with "or" between them.
func quoted(texts []string) string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = quote(text)
	}
	return strings.Join(all, " or ")
}

func first(all []string) string {
	const most = 20
	text := strings.Join(all[:min(most, len(all))], "; ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func parsePointer(text string) (jsonval.Pointer, error) {
	p, err := jsonval.ParsePointer(text)
	if err != nil {
		return nil, fmt.Errorf("the JSON pointer %q: %w", text, err)
	}
	return p, nil
}

func parsePointers(texts []string) (all []jsonval.Pointer, err error) {
	for _, text := range texts {
		p, err := parsePointer(text)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// without removes the values of pointers; the name * matches all members or elements. It may
// change the value.
func without(v any, all []jsonval.Pointer) any {
	for _, p := range all {
		v = p.Remove(v)
	}
	return v
}

// Difference is a place where two JSON values differ.
type Difference struct {
	At string `json:"at"` // a JSON pointer (RFC 6901)
	// Want and Got are the JSON values, or "nothing". Of long values they are what is around the first
	// difference.
	Want string `json:"want"`
	Got  string `json:"got"`
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: want %s, got %s", d.At, d.Want, d.Got)
}

// Differ compares JSON values: numbers by value, members in any order. It is safe for concurrent
// use.
type Differ struct{ ignore []jsonval.Pointer }

// NewDiffer returns a Differ that ignores the values at these JSON pointers on both sides; the
// name * matches all members or elements. It returns an error for an invalid pointer.
func NewDiffer(ignore ...string) (*Differ, error) {
	all, err := parsePointers(ignore)
	return &Differ{all}, err
}

// Differences returns the places where two values differ, in the order of pointers. It returns an
// error if want or got is not JSON.
func (d *Differ) Differences(want, got string) ([]Difference, error) {
	w, err := parse([]byte(want))
	if err != nil {
		return nil, fmt.Errorf("want: %w", err)
	}
	g, err := parse([]byte(got))
	if err != nil {
		return nil, fmt.Errorf("got: %w", err)
	}
	return differences(without(w, d.ignore), without(g, d.ignore)), nil
}

func differences(want, got any) (all []Difference) {
	c := comparison{whole: true}
	c.compare("", want, got)
	for _, d := range c.found {
		want, got, _ := around(jsonOf(d.before), jsonOf(d.after))
		all = append(all, Difference{d.path, want, got})
	}
	return all
}

// describeDifference describes the first places where two values differ; empty if they are equal.
func describeDifference(want, got any) string {
	var all []string
	for _, d := range differences(want, got) {
		all = append(all, d.String())
	}
	return first(all)
}
