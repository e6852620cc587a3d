package chat_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
)

// Content elements of unknown kinds go back to the protocol that they came from.
func TestChatNovelKinds(t *testing.T) {
	for _, element := range []string{`{"type":"novel","x":1}`, `{"type":"novel","novel":1}`, `{}`, `{"x":1}`, `{"type":"input_image","x":1}`, `{"type":"document"}`} {
		body := `{"messages":[{"role":"user","content":[` + element + `]},{"role":"assistant","content":[{"type":"text","text":"a"},` + element + `]}]}`
		req, err := chat.Protocol{}.DecodeRequest("/chat/completions", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		out, err := chat.Protocol{}.EncodeRequest(req)
		if err != nil {
			t.Errorf("%s: %v", element, err)
			continue
		}
		if n := strings.Count(string(out.Body), element); n != 2 {
			t.Errorf("%s is %d times in %s", element, n, out.Body)
		}
		again, err := chat.Protocol{}.DecodeRequest("/chat/completions", out.Body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(req.Messages, again.Messages); diff != "" {
			t.Errorf("%s (-first +again):\n%s", element, diff)
		}
		if _, err := (responses.Protocol{}).EncodeRequest(&llm.Request{Messages: req.Messages[:1]}); err == nil && element != `{"x":1}` { // of no kind, which may be of any
			t.Errorf("%s is sent to another protocol", element)
		}
	}
}
