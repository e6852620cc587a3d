package arguments

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"
)

const shapeSchema = `{"type":"object","additionalProperties":false,"required":["s","i"],"properties":{
	"s":{"type":"string","description":"a string"},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},
	"l":{"type":["null","array"],"items":{"type":"string"}},"any":{},
	"o":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]},
	"m":{"type":"object","additionalProperties":{}}}}`

func parse(t testing.TB, schema string) *Schema {
	t.Helper()
	s, err := ParseSchema(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestShapeAccepts(t *testing.T) {
	s := parse(t, shapeSchema)
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for args, want := range map[string]bool{
		`{"s":"","i":1}`:                                 true,
		` { "i" : -12 , "s" : "é\u00e9" } `:              true,
		`{"s":"","i":1,"n":1.5,"b":true}`:                true,
		`{"s":"","i":1,"n":2,"b":false}`:                 true,
		`{"s":"","i":1,"l":null}`:                        true,
		`{"s":"","i":1,"l":["a","b"]}`:                   true,
		`{"s":"","i":1,"any":{"a":[15,null]}}`:           true,
		`{"s":"","i":1,"o":{"x":1,"y":{}},"m":{"z":[]}}`: true,
		`{"s":"","i":123456789012345}`:                   true,
		`{"s":"","i":1,"any":` + deep(999) + `}`:         true,
		// Invalid, or not plain.
		`{"s":"","i":1,"any":` + deep(1000) + `}`: false,
		`{"s":"","i":1234567890123456}`:           false,
		`{"s":"","i":1.0}`:                        false,
		`{"s":"","i":1e2}`:                        false,
		`{"s":"","i":1,"n":1e2}`:                  false,
		`{"s":"","i":1,"any":[1e999]}`:            false,
		`{"s":"","i":"1"}`:                        false,
		`{"s":1,"i":1}`:                           false,
		`{"s":"","i":true}`:                       false,
		`{"s":"","i":null}`:                       false,
		`{"s":"","i":{}}`:                         false,
		`{"s":"","i":[]}`:                         false,
		`{"s":"","i":1,"b":1}`:                    false,
		`{"s":"","i":1,"l":[1]}`:                  false,
		`{"s":"","i":1,"l":{}}`:                   false,
		`{"s":"","i":1,"o":[]}`:                   false,
		`{"s":"","i":1,"o":{}}`:                   false,
		`{"s":"","i":1,"other":1}`:                false,
		`{"s":"","s":"","i":1}`:                   false,
		`{"s":"","i":1,"any":{"a":1,"a":1}}`:      false,
		`{"s":"","i":1,"m":{"a":1,"a":1}}`:        false,
		`{"s":""}`:                                false,
		`{}`:                                      false,
		``:                                        false,
		`[]`:                                      false,
		`{"s":"","i":1}x`:                         false,
		`{"s":"","i":1`:                           false,
		`{"s":"","i":1,}`:                         false,
		`{"s":"\ud800","i":1}`:                    false,
		"{\"s\":\"\xff\",\"i\":1}":                false,
		`{"s":"","i":1,"l":["a"`:                  false,
		`{"s":"","i":-}`:                          false,
		`{"s":"","i":1,"o":{"x":1}`:               false,
	} {
		if got := s.Accepts(args); got != want {
			t.Errorf("Accepts(%.60q) = %v, want %v", args, got, want)
		}
	}
}

func TestNewShapeOfPlainSchemas(t *testing.T) {
	nested := func(n int) string {
		return `{"type":"object","properties":{"a":` + strings.Repeat(`{"type":"array","items":`, n) + `{}` + strings.Repeat("}", n) + `}}`
	}
	for schema, want := range map[string]bool{
		`{"type":"object"}`: true,
		shapeSchema:         true,
		nested(3):           true,
		`{"type":"object","required":["1","2","3","4","5","6","7","8"]}`:                                true,
		`{"type":"object","required":["1","2","3","4","5","6","7","8","9"]}`:                            false,
		`{"type":"object","properties":{"a":{"enum":["x"]}}}`:                                           false,
		`{"type":"object","properties":{"a":{"type":"integer","minimum":1}}}`:                           false,
		`{"type":"object","properties":{"a":{"type":"string","default":"x"}}}`:                          false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","maxLength":1}}}}`: false,
		`{"type":"object","additionalProperties":{"type":"string"}}`:                                    false,
		`{"type":"object","minProperties":1}`:                                                           false,
	} {
		if got := parse(t, schema).shape != nil; got != want {
			t.Errorf("the shape of %.80s: %v, want %v", schema, got, want)
		}
	}
}

// CheckObject and the schema accept all that a shape accepts, and fill in nothing.
func TestShapeAcceptsOnlyValidArguments(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		schema := drawSchema(t, 2)
		schema.Type, schema.Types = "object", nil
		raw, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseSchema(raw)
		if err != nil {
			t.Fatal(err)
		}
		args := drawObject(t, 2)
		if !s.Accepts(args) {
			return
		}
		accepted++
		if err := CheckObject(args); err != nil {
			t.Fatalf("%s was accepted: %v", args, err)
		}
		if got, changed, err := s.Prepare(args); err != nil || changed {
			t.Fatalf("%s of %s was accepted: Prepare returns %q, %v, %v", args, raw, got, changed, err)
		}
	})
	if accepted == 0 {
		t.Error("no arguments were accepted")
	}
}

var shapeNames = []string{"a", "b"}

func drawSchema(t *rapid.T, depth int) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	kinds := []string{"object", "array", "string", "integer", "number", "boolean", "null"}
	if n := rapid.IntRange(0, 3).Draw(t, "types"); n == 1 {
		s.Type = rapid.SampledFrom(kinds).Draw(t, "type")
	} else if n > 1 {
		s.Types = rapid.SliceOfNDistinct(rapid.SampledFrom(kinds), n, n, rapid.ID[string]).Draw(t, "types")
	}
	s.Required = rapid.SliceOfDistinct(rapid.SampledFrom(shapeNames), rapid.ID[string]).Draw(t, "required")
	if rapid.Bool().Draw(t, "closed") {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	if depth == 0 {
		return s
	}
	if rapid.Bool().Draw(t, "items?") {
		s.Items = drawSchema(t, depth-1)
	}
	s.Properties = map[string]*jsonschema.Schema{}
	for _, name := range shapeNames {
		if rapid.Bool().Draw(t, "member?") {
			s.Properties[name] = drawSchema(t, depth-1)
		}
	}
	return s
}

func drawObject(t *rapid.T, depth int) string {
	var b strings.Builder
	for i := range rapid.IntRange(0, 3).Draw(t, "members") {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(`"` + rapid.SampledFrom(append(shapeNames, "c")).Draw(t, "name") + `":` + drawValue(t, depth))
	}
	return "{" + b.String() + "}"
}

func drawValue(t *rapid.T, depth int) string {
	switch n := rapid.IntRange(0, 4).Draw(t, "value"); {
	case depth > 0 && n == 0:
		return drawObject(t, depth-1)
	case depth > 0 && n == 1:
		return "[" + drawValue(t, depth-1) + "]"
	}
	return rapid.SampledFrom([]string{`"x"`, `"\ud83d\ude00"`, `"\udc00"`, "1", "-0", "1.5", "1.0", "1e2", "1e999", "12345678901234567890", "true", "false", "null", "tru"}).Draw(t, "plain")
}
