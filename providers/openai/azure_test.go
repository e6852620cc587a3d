package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// TestAzure asks where Azure has OpenAI's models: under the path of a deployment, with
// the version of the API in the query, and under /openai/v1, where the deployment is the
// model; with a key, and with a token of Microsoft Entra.
func TestAzure(t *testing.T) {
	type asked struct{ URL, Key, Authorization, Body string }
	var got asked
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = asked{r.URL.String(), r.Header.Get("Api-Key"), r.Header.Get("Authorization"), string(body)}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],
			"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}`)
	}))
	defer s.Close()
	key := func(r *http.Request) error {
		r.Header.Set("Api-Key", "0123456789abcdef")
		return nil
	}
	const said = `"messages":[{"role":"user","content":"hello"}]}`
	for _, x := range []struct {
		name      string
		proto     protocol.Protocol
		base      string
		authorize func(*http.Request) error
		model     string
		want      asked
	}{
		{
			"a deployment", chat.Protocol{}, "/openai/deployments/my-gpt?api-version=2024-10-21", key, "",
			asked{URL: "/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21", Key: "0123456789abcdef", Body: `{` + said},
		},
		{
			"v1", chat.Protocol{}, "/openai/v1/", key, "my-gpt",
			asked{URL: "/openai/v1/chat/completions", Key: "0123456789abcdef", Body: `{"model":"my-gpt",` + said},
		},
		{
			"v1, Responses, a token", responses.Protocol{}, "/openai/v1/?api-version=preview", openai.Key("eyJ0eXAi"), "my-gpt",
			asked{
				URL: "/openai/v1/responses?api-version=preview", Authorization: "Bearer eyJ0eXAi",
				Body: `{"model":"my-gpt","input":[{"role":"user","content":"hello"}],"store":false,"include":["reasoning.encrypted_content"]}`,
			},
		},
	} {
		c := &protocol.Client{Protocol: x.proto, BaseURL: s.URL + x.base, HTTP: s.Client(), Authorize: x.authorize}
		turn, err := llm.Collect(c.Stream(t.Context(), &llm.Request{Model: x.model, Messages: []llm.Message{llm.User("hello")}, ResponseMode: llm.NonStreaming}))
		if err != nil || turn.Text() != "hi" {
			t.Errorf("%s: got %q, %v", x.name, turn.Text(), err)
		}
		if diff := cmp.Diff(x.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", x.name, diff)
		}
	}
}
