package wire_test

import (
	"net/http"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// The examples of the providers are accepted and break no invariant.
func TestStrictAccepts(t *testing.T) {
	for name, c := range map[string]struct{ to, body string }{
		"the output of a computer": {"SR", responsesBody(itemUser + `,{"type":"computer_call","id":"cu_1","call_id":"c1","action":{"type":"screenshot"},"pending_safety_checks":[],"status":"completed"},
			{"type":"computer_call_output","call_id":"c1","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,AAAA"}}`)},
		"the output of a shell": {"SR", responsesBody(itemUser + `,{"type":"local_shell_call","id":"lsh_1","call_id":"c1","status":"completed","action":{"type":"exec","command":["ls"],"env":{}}},
			{"type":"local_shell_call_output","id":"c1","output":"{}"}`)},
		"an approval": {"SR", responsesBody(itemUser + `,{"type":"mcp_approval_request","id":"mcpr_1","name":"f","arguments":"{}","server_label":"a"},
			{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true}`)},
		"a function, as it was before there were tools": {"SO", `{"model":"gpt-5","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"x"}]}`},
		"the audio of a response":                       {"SO", `{"model":"gpt-5","messages":[{"role":"user","content":"hi"},{"role":"assistant","audio":{"id":"audio_1"}},{"role":"user","content":"go on"}]}`},
		"a signature without a text, after one":         {"SG", generateBody(geminiUser + `,{"role":"model","parts":[{"text":"hm"},{"thoughtSignature":"c2ln"}]},` + geminiUser)},
		"objects without the brackets around them":      {"SG", `{"contents":{"parts":{"text":"hi"}},"tools":{"function_declarations":{"name":"f","parameters":{"type":"object","properties":{"a":{"anyOf":{"type":"string"}}}}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})})
			if w := post(t, s, strictPaths[c.to], c.body); w.Code != http.StatusOK {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if v := s.Report().Violations; len(v) > 0 {
				t.Errorf("violations: %+v", v)
			}
		})
	}
}
