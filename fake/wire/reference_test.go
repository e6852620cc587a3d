package wire_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// Some clients leave the version of a provider out of the path, or ask for another.
func TestBasePaths(t *testing.T) {
	for path, body := range map[string]string{
		"/anthropic/v1/messages":                                `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
		"/lane/a/anthropic/messages":                            `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
		"/gemini/v1beta/models/m:generateContent":               `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
		"/lane/a/gemini/v1/models/m:streamGenerateContent?alt=": `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
	} {
		s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "hi"})})
		if w := post(t, s, path, body); w.Code != 200 {
			t.Errorf("%s: status %d, %s", path, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/gemini/v2/models/m:generateContent", "/gemini/models/m:generateContent", "/gemini/v1beta1/models/m:generateContent"} {
		if w := post(t, wire.New(wire.Config{Model: fake.NewModel()}), path, "{}"); w.Code != 404 {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
}

// A reference in a request of Responses has the same effect as the item.
func TestReference(t *testing.T) {
	for name, c := range map[string]struct {
		echo string // of the text, which has the id %[1]s
		want []string
	}{
		"the item":              {`{"type":"message","id":"%[1]s","role":"assistant","content":[{"type":"output_text","text":"I will \"look\".","annotations":[]}]}`, nil},
		"a reference to it":     {`{"type":"item_reference","id":"%[1]s"}`, nil},
		"another text":          {`{"type":"message","id":"%[1]s","role":"assistant","content":[{"type":"output_text","text":"Hm.","annotations":[]}]}`, []string{"2 INV-05"}},
		"a reference elsewhere": {`{"type":"item_reference","id":"msg_x"}`, []string{"2 INV-24"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := wire.New(wire.Config{Model: fake.NewModel(
				fake.Response{Text: `I will "look".`, Calls: []fake.Call{{ID: "call_1", Name: "weather", Arguments: `{"city":"Bern"}`}}}, fake.Response{Text: "Rain."},
			)})
			const form = `{"model":"m","input":[{"role":"user","content":"How is the weather?"}%s]}`
			first := post(t, s, "/openai/v1/responses", fmt.Sprintf(form, ""))
			text, call := gjson.Get(first.Body.String(), "output.0"), gjson.Get(first.Body.String(), "output.1")
			rest := "," + fmt.Sprintf(c.echo, text.Get("id").Str) + "," + call.Raw + `,{"type":"function_call_output","call_id":"call_1","output":"rain"}`
			post(t, s, "/openai/v1/responses", fmt.Sprintf(form, rest))
			if diff := cmp.Diff(c.want, broke(s.Report())); diff != "" {
				t.Errorf("violations (-want +got):\n%s\n%+v", diff, s.Report().Violations)
			}
		})
	}
}
