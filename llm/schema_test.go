package llm_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
)

// strictSchema returns the published schema, which accepts unknown members, without these.
func strictSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	b, err := os.ReadFile("schema/llm-v2.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err = json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	for name, def := range s.Defs {
		if name != "part" && name != "event" && def.Type == "object" {
			def.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		}
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func validate(s *jsonschema.Resolved, text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	return s.Validate(v)
}

// TestSchemaHasEveryMember encodes random values. The schema, without unknown members, accepts
// all of them, so it has each member that the codec writes.
func TestSchemaHasEveryMember(t *testing.T) {
	s := strictSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		r := anyRequest().Draw(t, "request")
		for _, text := range [][]byte{r.AppendJSON(nil), llm.AppendEvent(nil, anyEvent().Draw(t, "event"))} {
			if strings.Contains(string(text), `_b64":"`) {
				continue // the schema describes this form in words
			}
			if err := validate(s, text); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		}
	})
}

func TestSchemaRejects(t *testing.T) {
	s := strictSchema(t)
	for _, text := range []string{
		`{"model":5,"messages":[]}`, `{"model":"m"}`, `{"model":"m","messages":[{"role":"user"}]}`, `{"model":"m","messages":[{"role":"user","parts":[{"text":"a"}]}]}`,
		`{"model":"m","messages":[],"tool_choice":"any"}`, `{"type":"text_delta","text":1}`, `{"type":"part"}`, `{"model":"m","messages":[],"new":1}`,
	} {
		if validate(s, []byte(text)) == nil {
			t.Errorf("the schema accepts %s", text)
		}
	}
}
