package wire_test

import (
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// An unknown setting is rejected in each protocol, and the additional settings of a provider
// are accepted.
func TestStrictSettings(t *testing.T) {
	const chat, responses, messages, generate = "/openai/v1/chat/completions", "/openai/v1/responses", "/anthropic/v1/messages", "/gemini/v1beta/models/some-model:generateContent"
	user := `"messages":[` + chatUser + `]`
	content := `{"role":"user","parts":[{"text":"hi"}]}`
	for name, c := range map[string]struct{ to, wrong, right, param, code, said string }{
		"Chat Completions":            {chat, `{"model":"gpt-4o","num_keep":1,` + user + `}`, `{"model":"gpt-4o","verbosity":"low",` + user + `}`, "", "", "Unrecognized request argument supplied: num_keep"},
		"an OpenAI-compatible server": {chat, `{"model":"o4-mini","foo":1,` + user + `}`, `{"model":"gpt-oss-20b","foo":1,` + user + `}`, "", "", "Unrecognized request argument supplied: foo"},
		"a gateway":                   {chat, `{"model":"ft:gpt-4o:x","foo":1,` + user + `}`, `{"model":"openai/gpt-4o","foo":1,` + user + `}`, "", "", "Unrecognized request argument supplied: foo"},
		"Responses":                   {responses, `{"model":"m","foo":1,"input":"hi"}`, `{"model":"m","truncation":"auto","input":"hi"}`, "foo", "unknown_parameter", "Unknown parameter: 'foo'."},
		"Chat's on Responses":         {responses, `{"model":"m","max_tokens":9,"input":"hi"}`, `{"model":"m","max_output_tokens":9,"input":"hi"}`, "max_tokens", "unknown_parameter", "Unknown parameter: 'max_tokens'."},
		"messages":                    {responses, `{"model":"m","messages":[],"input":"hi"}`, `{"model":"m","input":"hi"}`, "messages", "unknown_parameter", "Unknown parameter: 'messages'."},
		"Anthropic":                   {messages, `{"model":"m","max_tokens":9,"response_format":{},` + user + `}`, `{"model":"m","max_tokens":9,"mcp_servers":[],` + user + `}`, "", "", "response_format: Extra inputs are not permitted"},
		"Chat's on Anthropic":         {messages, `{"model":"m","max_tokens":9,"frequency_penalty":1,` + user + `}`, `{"model":"m","max_tokens":9,"top_k":1,` + user + `}`, "", "", "frequency_penalty: Extra inputs are not permitted"},
		"Gemini":                      {generate, `{"foo":1,"contents":[` + content + `]}`, `{"safety_settings":[],"cachedContent":"x","contents":[` + content + `]}`, "", "", `Invalid JSON payload received. Unknown name "foo": Cannot find field.`},
		"generationConfig":            {generate, `{"generationConfig":{"foo":1},"contents":[` + content + `]}`, `{"generation_config":{"top_k":1,"topP":0.5},"contents":[` + content + `]}`, "", "", `Invalid JSON payload received. Unknown name "foo" at 'generation_config': Cannot find field.`},
		"a content":                   {generate, `{"contents":[` + content + `,{"role":"user","foo":1,"parts":[{"text":"x"}]}]}`, `{"contents":[` + content + `,` + content + `]}`, "", "", `Invalid JSON payload received. Unknown name "foo" at 'contents[1]': Cannot find field.`},
		"a content's contents":        {generate, `{"contents":[{"content":"x","parts":[{"text":"x"}]}]}`, `{"contents":[{"parts":[{"text":"x"}]}]}`, "", "", `Invalid JSON payload received. Unknown name "content" at 'contents[0]': Cannot find field.`},
	} {
		t.Run(name, func(t *testing.T) {
			s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})})
			w := post(t, s, c.to, c.wrong)
			want := []wire.RejectedRequest{{Request: 1, Status: http.StatusBadRequest, Type: "invalid_request_error", Param: c.param, Code: c.code, Message: c.said}}
			if strings.HasPrefix(c.to, "/gemini") {
				want[0].Type = "INVALID_ARGUMENT"
			}
			got := s.Report().RejectedRequests
			for i := range got {
				got[i].Protocol, got[i].Session = "", ""
			}
			if diff := gocmp.Diff(want, got); diff != "" || w.Code != http.StatusBadRequest {
				t.Errorf("%d %s; refusals (-want +got):\n%s", w.Code, w.Body, diff)
			}
			if w := post(t, s, c.to, c.right); w.Code != http.StatusOK {
				t.Errorf("the right request got %d %s", w.Code, w.Body)
			}
		})
	}
}
