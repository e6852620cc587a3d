package scorers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/trace/importer"
)

// jsonSettings scores 1 if the final answer is one of the expected JSON values: the whole answer,
// or else its last fenced block. Numbers are compared by value and members in any order.
type jsonSettings struct {
	// Expected is the value; none means that of the recording.
	Expected json.RawMessage `json:"expected,omitempty"`
	// Ignore are JSON pointers (RFC 6901) to ignored values; the name * matches all members or
	// elements.
	Ignore []string `json:"ignore,omitempty"`
}

func (s jsonSettings) scorer() (scoreFunc, error) {
	ignore, err := parsePointers(s.Ignore)
	if err != nil {
		return nil, err
	}
	var want []string
	if len(s.Expected) > 0 {
		want = []string{string(s.Expected)}
	}
	return single(func(run *importer.Run) (float64, string, error) {
		answer, want, err := expected(run, want)
		if err != nil {
			return 0, "", err
		}
		should := make([]any, len(want))
		for i, text := range want {
			if should[i], err = parse([]byte(text)); err != nil {
				return 0, "", fmt.Errorf("the expected value is not JSON: %s: %w", quote(text), err)
			}
		}
		is, ok := valueIn(answer)
		if !ok {
			return 0, fmt.Sprintf("want %s, got no JSON: %s", quoted(want), quote(answer)), nil
		}
		is = without(is, ignore)
		var diff string
		for _, value := range should {
			if diff = difference(without(value, ignore), is); diff == "" {
				return 1, "the value expected", nil
			}
		}
		return 0, diff, nil
	}), nil
}

var fence = regexp.MustCompile("(?s)```[a-zA-Z]*\\s(.*?)```")

// valueIn returns the JSON that a text is, or else that of its last block.
func valueIn(text string) (any, bool) {
	v, err := parse([]byte(text))
	if blocks := fence.FindAllStringSubmatch(text, -1); err != nil && len(blocks) > 0 {
		v, err = parse([]byte(blocks[len(blocks)-1][1]))
	}
	return v, err == nil
}

// parse reads one JSON value. Numbers become json.Numbers in one representation, so that equal
// values are deeply equal.
func parse(raw []byte) (any, error) {
	v, err := decode(raw)
	return jsonval.Leaves(v, func(leaf any) any {
		if n, ok := leaf.(json.Number); ok {
			return canonicalNumber(n)
		}
		return leaf
	}), err
}

// decode reads one JSON value, with numbers as they are written.
func decode(raw []byte) (any, error) {
	var v any
	err := decodeAll(json.NewDecoder(bytes.NewReader(raw)), &v)
	return v, err
}

// decodeAll reads one value without trailing data. Numbers stay as they are written.
func decodeAll(dec *json.Decoder, to any) error { return jsonio.Words(jsonval.DecodeAll(dec, to)) }

// canonicalNumber removes needless zeros, and uses an exponent only instead of 18 zeros or more.
// It does not change a number with an exponent beyond 2⁶¹.
func canonicalNumber(n json.Number) json.Number {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	positive, minus := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(positive, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	e, err := strconv.ParseInt(cmp.Or(exponent, "0"), 10, 62) // so that it can be added to
	if err != nil {
		return n
	}
	significant := strings.TrimRight(digits, "0")
	text := pointed(significant, e+int64(len(digits)-len(significant)-len(fraction)))
	if minus {
		text = "-" + text
	}
	return json.Number(text)
}

// pointed writes digits times a power of ten.
func pointed(digits string, e int64) string {
	const most = 18
	point := int64(len(digits)) + e // digits before it
	switch {
	case e >= 0 && e <= most:
		return digits + strings.Repeat("0", int(e))
	case e < 0 && point > 0:
		return digits[:point] + "." + digits[point:]
	case e < 0 && point > -most:
		return "0." + strings.Repeat("0", int(-point)) + digits
	}
	return digits + "e" + strconv.FormatInt(e, 10)
}

// difference describes the first places where two values differ; empty if they are equal.
func difference(want, got any) string {
	var all []string
	for _, d := range differences("", want, got, nil) {
		all = append(all, d.String())
	}
	return first(all)
}

// first joins the first items.
func first(all []string) string {
	const most = 3
	text := strings.Join(all[:min(most, len(all))], "; ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// absent represents a missing member.
type absent struct{}

func differences(at string, want, got any, found []Difference) []Difference {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			union := maps.Clone(w)
			maps.Copy(union, g)
			for _, name := range slices.Sorted(maps.Keys(union)) {
				found = differences(at+"/"+jsonval.Escape(name), member(w, name), member(g, name), found)
			}
			return found
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			for i := range w {
				found = differences(at+"/"+strconv.Itoa(i), w[i], g[i], found)
			}
			return found
		}
	}
	if equal(want, got) {
		return found
	}
	return append(found, Difference{at, shown(want), shown(got)})
}

func member(object map[string]any, name string) any {
	if v, ok := object[name]; ok {
		return v
	}
	return absent{}
}

func shown(v any) string {
	if v == (absent{}) {
		return "nothing"
	}
	raw, _ := json.Marshal(v) // what was read can be written
	text := []rune(string(raw))
	const most = 80
	if len(text) > most {
		return string(text[:most-1]) + "…"
	}
	return string(raw)
}

// equal reports whether two values that were parsed are the same.
func equal(a, b any) bool { return reflect.DeepEqual(a, b) }
