package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/chat"
)

// chatKeptMembers contains what is kept of the responses below.
const chatKeptMembers = `{` +
	`"annotations":[{"type":"url_citation","url_citation":{"url":"u"}},{"type":"file","file":{"hash":"h"}}],` +
	`"extra_content":{"google":{"thought_signature":"c2ln"}},` +
	`"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"},"index":0},{"type":"image_url","index":1}],` +
	`"audio":{"data":"AABB","expires_at":7,"id":"audio_1","transcript":"Hel\"lo"},` +
	`"logprobs":{"content":[{"token":"a"},{"token":"a"}],"refusal":[{"token":"b"}]},` +
	`"chat_answer":{"message":{"list":[1,2],"novel":{"x":1},"word":"last"},"choice":{"matched_stop":2},"response":{"citations":["u"]}}}`

// TestChatResponseMembers checks that members without a field in llm are kept: the same for a
// stream and a non-streaming response.
func TestChatResponseMembers(t *testing.T) {
	padding := `"padding":"` + strings.Repeat("x", 32<<10) + `"`
	whole := `{"id":"c1","object":"chat.completion","created":1,"model":"m","citations":["u"],"service_tier":"flex","system_fingerprint":"fp",` + padding + `,
		"choices":[{"index":1,"message":{"novel":2},"logprobs":{"content":[0]}},{"index":0,"finish_reason":"stop","native_finish_reason":"STOP","matched_stop":2,` + padding + `,
		"logprobs":{"content":[{"token":"a"},{"token":"a"}],"refusal":[{"token":"b"}]},
		"message":{"role":"assistant","content":null,"novel":{"x":1},"word":"last","list":[1,2],"none":[],"null":null,` + padding + `,
			"annotations":[{"type":"url_citation","url_citation":{"url":"u"}},{"type":"file","file":{"hash":"h"}}],
			"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"},"index":0},{"type":"image_url","index":1}],
			"extra_content":{"google":{"thought_signature":"c2ln"}},"audio":{"id":"audio_1","data":"AABB","expires_at":7,"transcript":"Hel\"lo"}}}]}`
	chunk := func(top, choice, delta string) string {
		return `{"id":"c1","model":"m","obfuscation":"p",` + top + `"choices":[{"delta":{"role":"assistant",` + delta + `},` + choice + `"index":0}]}`
	}
	streamed := chatStream(
		chunk(`"citations":["older"],`, `"logprobs":{"content":[{"token":"a"}],"refusal":null},`, `"audio":{"id":"audio_1","transcript":"Hel\""},"word":"first","list":[1]`),
		`{"citations":null,"choices":[{"delta":{"novel":2},"index":1,"matched_stop":1}]}`,
		chunk(``, `"logprobs":{"content":[{"token":"a"}],"refusal":[{"token":"b"}]},"matched_stop":1,`, `"annotations":[{"type":"url_citation","url_citation":{"url":"u"}}],"audio":{"data":"AA","transcript":"lo"},"images":[{"type":"older","index":0},{"type":"image_url","index":1}]`),
		chunk(`"citations":["u"],`, `"logprobs":null,`, `"annotations":[{"type":"file","file":{"hash":"h"}}],"audio":{"data":"BB","expires_at":7},"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"},"index":0}],"word":"last","list":[2],"novel":{"x":1},"extra_content":{"google":{"thought_signature":"c2ln"}}`),
		chunk(``, `"finish_reason":"stop","matched_stop":2,`, `"audio":{"id":null},"word":null`),
	)
	want := &llm.Response{
		Parts: chatParts(chatText(`Hel"lo`)), FinishReason: llm.FinishStop, ResponseID: "c1", Model: "m", Opaque: chatOpaque(chatKeptMembers),
	}
	got, err := chatAnswer(whole)
	chatSameTurn(t, "non-streaming", want, got, err)
	got, err = chatTurn(strings.NewReader(streamed))
	chatSameTurn(t, "streamed", want, got, err)
}

// TestChatResponseMembersAgain checks that kept members are written again in a response.
func TestChatResponseMembersAgain(t *testing.T) {
	want := &llm.Response{
		Parts: chatParts(chatText(`Hel"lo`)), FinishReason: llm.FinishStop, ResponseID: chatAnswered.ID, Model: chatAnswered.Model, Opaque: chatOpaque(chatKeptMembers),
	}
	body, err := chat.Protocol{}.EncodeResponse(nil, chatAnswered, want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := chatAnswer(string(body))
	chatSameTurn(t, string(body), want, got, err)
	wire := chatStream(chatWritten(t, llm.TextDelta{Text: `Hel"lo`}, llm.Finish{Reason: llm.FinishStop, Opaque: want.Opaque})...)
	got, err = chatTurn(strings.NewReader(wire))
	chatSameTurn(t, wire, want, got, err)
}

// A member that is not known is kept up to a length.
func TestChatResponseMembersBounded(t *testing.T) {
	const most = 32 << 10
	for size, want := range map[int]bool{most: true, most + 1: false} {
		got, err := chatAnswer(chatWhole(`"novel":"`+strings.Repeat("x", size-2)+`"`, `"stop"`))
		if err != nil || (got.Opaque != nil) != want {
			t.Errorf("%d bytes: %v, %d are kept", size, err, len(got.Opaque))
		}
	}
}

// TestChatSendsBack shows what of it goes back: what servers take.
func TestChatSendsBack(t *testing.T) {
	for opaque, want := range map[string]string{
		chatKeptMembers: `,"extra_content":{"google":{"thought_signature":"c2ln"}},"audio":{"id":"audio_1"},"annotations":[{"type":"file","file":{"hash":"h"}}]`,
		`{"audio":{"data":"AA"},"annotations":[{"type":"url_citation"},7],"images":[1],"logprobs":{}}`: ``,
		`{"audio":1,"annotations":{"type":"file"},"chat:annotations":[],"chat_answer":{"x":1}}`:        `,"annotations":[]`,
	} {
		turn := llm.Message{Role: llm.RoleAssistant, Parts: chatParts(chatText("hi")), Opaque: chatOpaque(opaque)}
		if diff := cmp.Diff(`[{"role":"assistant","content":"hi"`+want+`}]`, said(t, "messages", turn)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", opaque, diff)
		}
	}
}

// The transcript of audio is the text of a response without other content.
func TestChatTranscripts(t *testing.T) {
	for content, want := range map[string]string{`null`: "spoken", `""`: "spoken", `"written"`: "written", `[{"type":"text","text":"written"}]`: "written"} {
		message := `"audio":{"transcript":"spoken"},"content":` + content
		got, err := chatAnswer(chatWhole(message, `"stop"`))
		if err != nil || got.Text() != want {
			t.Errorf("non-streaming %s: got %q, %v", content, got.Text(), err)
		}
		got, err = chatTurn(strings.NewReader(chatStream(chatDelta(`"content":`+content), chatDelta(`"audio":{"transcript":"spoken"}`), chatDelta("", "stop"))))
		if err != nil || got.Text() != want {
			t.Errorf("streaming %s: got %q, %v", content, got.Text(), err)
		}
	}
}

// Details of very many members are not put together, which would cost the more, the more
// they have.
func TestChatLargeDetails(t *testing.T) {
	for members, want := range map[int]int{10: 1, 31: 1, 32: 2, 100: 2} {
		more := ""
		for i := range members - 1 {
			more += fmt.Sprintf(`,"k%d":1`, i)
		}
		detail := `{"type":"reasoning.text","text":"a"` + more + `}`
		told := ""
		for _, ev := range chatEvents(t, chatDelta(`"reasoning_details":[`+detail+`,`+detail+`]`)) {
			if r, ok := ev.(llm.ReasoningDelta); ok {
				told += string(r.Opaque)
			}
		}
		if got := strings.Count(told, "reasoning.text"); got != want {
			t.Errorf("two details of %d members each: %d go back, want %d", members+1, got, want)
		}
	}
}
