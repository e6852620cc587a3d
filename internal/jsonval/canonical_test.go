package jsonval_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/internal/jsonval"
)

func TestCanonical(t *testing.T) {
	deep := func(depth int, members string) string {
		return strings.Repeat(`{"b":0,"a":`, depth) + members + strings.Repeat(`}`, depth)
	}
	sorted := func(depth int, members string) string {
		return strings.Repeat(`{"a":`, depth) + members + strings.Repeat(`,"b":0}`, depth)
	}
	for in, want := range map[string]string{
		` { "b" : [ 1 , 2.50 , null , true , false ] , "a" : { "d" : "<\u00e9>" , "c" : {} } } `: `{"a":{"c":{},"d":"<é>"},"b":[1,2.50,null,true,false]}`,
		`1e400`: `1e400`, `"x" y`: `"x" y`, "\"\xff\"": "\"\xff\"", ``: ``, ` [] `: `[]`, ` {}`: `{}`, `[[],{},"["]`: `[[],{},"["]`,
		`{"a":1}`: `{"a":1}`, `{"b":1,"a":2,"b":{"d":3,"c":4}}`: `{"a":2,"b":{"c":4,"d":3}}`, `{"a":1,"a":2}`: `{"a":2}`,
		`{"b":1,"a":}`: `{"b":1,"a":}`, `{"b":1,"a":2`: `{"b":1,"a":2`, `{"b":1 "a":2}`: `{"b":1 "a":2}`, `01`: `01`, ` nul`: ` nul`,
		`{"\u0061":1,"A":"\ud800"}`: "{\"A\":\"\ufffd\",\"a\":1}",
		deep(64, `[]`):              sorted(64, `[]`),
		deep(65, `[]`):              sorted(65, `[]`),
		deep(9999, `[]`):            sorted(9999, `[]`),
		deep(10000, `[]`):           deep(10000, `[]`), // deeper than a JSON text may be here
	} {
		if got := jsonval.Canonical(in); got != want {
			t.Errorf("Canonical(%.80s) = %.80s, want %.80s", in, got, want)
		}
	}
}

// TestCanonicalEncodings encodes a value in two ways. Both have the same canonical form, which
// represents the same value and is its own canonical form.
func TestCanonicalEncodings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(4).Draw(t, "value")
		from := func(name string) *rand.Rand {
			return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, name), 0))
		}
		one, other := encode(v, from("one")), encode(v, from("other"))
		got := jsonval.Canonical(one)
		if again := jsonval.Canonical(other); again != got {
			t.Errorf("%s\n%s\nbecome\n%s\n%s", one, other, got, again)
		}
		if again := jsonval.Canonical(got); again != got {
			t.Errorf("%s\nbecomes\n%s", got, again)
		}
		if diff := cmp.Diff(decoded(t, one), decoded(t, got)); diff != "" {
			t.Errorf("%s\n%s\nare not the same value (-first +second):\n%s", one, got, diff)
		}
	})
}

func anyValue(depth int) *rapid.Generator[any] {
	text := rapid.SampledFrom([]string{"", "a", "b", "ab", "B", "é😀", "<&>", "\u2028", "\x00\"\\\n{[", "_"})
	leaf := rapid.OneOf(
		rapid.Map(text, func(s string) any { return s }),
		rapid.SampledFrom([]any{nil, true, false, json.Number("0"), json.Number("-1.50e+3"), json.Number("12345678901234567890")}),
	)
	if depth == 0 {
		return leaf
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth - 1) })
	return rapid.OneOf(
		leaf,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), func(list []any) any { return list }),
		rapid.Map(rapid.MapOfN(text, inner, 0, 10), func(m map[string]any) any { return m }),
	)
}

// It returns JSON of a value. Members have any order, some of them occur twice, and white
// space and escapes are random.
func encode(v any, rng *rand.Rand) string {
	space := func() string { return []string{"", "", " ", "\n\t"}[rng.IntN(4)] }
	switch v := v.(type) {
	case map[string]any:
		var members []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			members = append(members, encode(key, rng)+space()+":"+encode(v[key], rng))
		}
		rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		if len(members) > 0 && rng.IntN(4) == 0 {
			key, _, _ := strings.Cut(members[len(members)-1], ":")
			members = append([]string{key + `:{"z":0,"y":1}`}, members...)
		}
		return space() + "{" + space() + strings.Join(members, space()+",") + "}" + space()
	case []any:
		var list []string
		for _, e := range v {
			list = append(list, encode(e, rng))
		}
		return space() + "[" + space() + strings.Join(list, ",") + "]" + space()
	case string:
		var b strings.Builder
		for _, c := range v {
			if c < 0x10000 && rng.IntN(2) == 0 || c < ' ' || c == '"' || c == '\\' {
				fmt.Fprintf(&b, `\u%04x`, c)
			} else {
				b.WriteRune(c)
			}
		}
		return space() + `"` + b.String() + `"`
	case json.Number:
		return space() + string(v)
	}
	b, _ := json.Marshal(v)
	return space() + string(b)
}

func decoded(t *rapid.T, text string) (v any) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func BenchmarkCanonical(b *testing.B) {
	for name, text := range map[string]string{
		"canonical": `{"city":"Graz","days":[1,2,3],"units":"metric"}`,
		"unsorted":  `{"units": "metric", "city": "Graz", "days": [1, 2, 3]}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				jsonval.Canonical(text)
			}
		})
	}
}
