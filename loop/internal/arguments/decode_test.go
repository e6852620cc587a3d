package arguments

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type (
	word  string
	inner struct {
		Deep  *float32 `json:"deep,omitempty"`
		Words []word   `json:"words"`
	}
	plain struct {
		City   string `json:"city"`
		Day    int    `json:"day,omitempty"`
		Small  int8   `json:"small"`
		Count  uint16
		Share  float64   `json:"share,omitzero"`
		Sure   bool      `json:"sure-ly"`
		Names  []string  `json:"names"`
		Grid   [][]int64 `json:"grid"`
		Inner  inner     `json:"inner"`
		Maybe  *inner    `json:"maybe"`
		Secret string    `json:"-"`
		hidden int       //nolint:unused // for encoding/json not to see
	}
)

var plainInputs = []string{
	`{"city":"Bern","day":3,"small":-128,"Count":65535,"share":1.5e3,"sure-ly":true,"names":["a","\u00e9\ud83d\ude00\n",""],"grid":[[1,-2],[]],"inner":{"deep":0.1,"words":["x"]},"maybe":{"words":[]}}`,
	`{}`, `{ "city" : "x" , "names" : [ ] }`, `{"maybe":{}}`,
	`{"city":"\ud800 \uD83D\u0041"}`, `{"day":-0,"share":-0}`, `{"share":12345678901234567890}`,
}

// Only encoding/json decodes these.
var otherInputs = []string{
	`{"city":null}`, `{"maybe":null}`, `{"City":"x"}`, `{"other":1}`, `{"city":"a","city":"b"}`, `{"day":1.0}`, `{"day":1e2}`, `{"small":128}`,
	`{"Count":-1}`, `{"share":1e999}`, `{"city":1}`, `{"sure-ly":"true"}`, `{"names":{}}`, `{"inner":[]}`, `{"names":["a",null]}`, `{"day":"1"}`,
	`{"Secret":"x"}`, `{"-":"x"}`, `{"hidden":1}`, `{"city":"a"}}`, `{"city":"a"`, `{"city":"` + "\xff" + `"}`, `[]`, `null`, ``, `{"deep":1}`,
	strings.Repeat(`{"inner":`, 20000),
}

func TestDecode(t *testing.T) {
	fast := NewDecoder(reflect.TypeFor[plain]())
	for i, texts := range [][]string{plainInputs, otherInputs} {
		for _, text := range texts {
			if sameAsJSON(t, fast, text) != (i == 0) {
				t.Errorf("the decoder supports %[2]q: got %[1]t", i != 0, text)
			}
		}
	}
}

func TestDecodeWithoutDecoder(t *testing.T) {
	got, err := Decode[map[string]int](nil, `{"a":1}`)
	if diff := cmp.Diff(map[string]int{"a": 1}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// sameAsJSON compares with encoding/json, and reports whether it was not needed.
func sameAsJSON(t *testing.T, fast Decoder, text string) (alone bool) {
	t.Helper()
	var want plain
	wrong := json.Unmarshal([]byte(text), &want)
	got, err := Decode[plain](fast, text)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(plain{})); diff != "" || (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() {
		t.Fatalf("%.100s: error %v, want %v (-want +got):\n%s", text, err, wrong, diff)
	}
	_, ok := decodeFast[plain](fast, text)
	return ok
}

// Types that are not decoded by their members have no decoder.
func TestNewDecoder(t *testing.T) {
	many := make([]reflect.StructField, maxMembers+1)
	for i := range many {
		many[i] = reflect.StructField{Name: "F" + strings.Repeat("x", i), Type: reflect.TypeFor[int]()}
	}
	for want, types := range map[bool][]reflect.Type{
		true: {reflect.TypeFor[plain](), reflect.TypeFor[struct{}](), reflect.TypeFor[word](), reflect.TypeFor[[]*uint](), reflect.StructOf(many[:maxMembers])},
		false: {
			reflect.TypeFor[time.Time](), reflect.TypeFor[json.Number](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[[]byte](), reflect.TypeFor[map[string]int](),
			reflect.TypeFor[any](), reflect.TypeFor[[2]int](), reflect.TypeFor[*time.Time](), reflect.TypeFor[[]any](), reflect.TypeFor[struct{ plain }](),
			reflect.TypeFor[struct {
				A int `json:"a,string"`
			}](),
			reflect.TypeFor[struct {
				A int `json:"a;b"`
			}](),
			reflect.TypeFor[struct {
				A int `json:"B"`
				B int
			}](),
			reflect.TypeFor[struct{ A any }](),
			reflect.StructOf(many),
		},
	} {
		for _, typ := range types {
			if got := NewDecoder(typ) != nil; got != want {
				t.Errorf("%v has a decoder: %t, want %t", typ, got, want)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range append(plainInputs, otherInputs[:len(otherInputs)-1]...) {
		f.Add(text)
	}
	fast := NewDecoder(reflect.TypeFor[plain]())
	f.Fuzz(func(t *testing.T, text string) { sameAsJSON(t, fast, text) })
}
