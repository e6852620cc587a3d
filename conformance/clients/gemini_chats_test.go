package clients

import (
	"errors"
	"net/http"
	"testing"

	"google.golang.org/genai"

	"github.com/looptape/looptape/fake/wire"
)

// TestGeminiChats runs the scenario with the chat of the SDK, which keeps the history.
func TestGeminiChats(t *testing.T) { geminiScript.once(t, playGeminiChats, false) }

// TestGeminiChatsStreaming runs the scenario with the chat of the SDK and streaming responses. The chat
// makes a message of each chunk, which separates the calls of a response. The server rejects the next
// request, as Google does (googleapis/go-genai#692). If the SDK is fixed, add streaming to
// TestGeminiChats.
func TestGeminiChatsStreaming(t *testing.T) {
	l := open(t, geminiScript.signs.turns()...)
	chat, err := newGemini(t, l.base(wire.Gemini)).Chats.Create(t.Context(), "gemini-3-pro-preview", geminiConfig, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, said := hear(t, chat.SendStream(t.Context(), &genai.Part{Text: question}))
	for _, got := range chat.SendStream(t.Context(), answer(t, &s, said)...) {
		err = got
	}
	apiErr, ok := errors.AsType[genai.APIError](err)
	refusals := l.wire.Report().RejectedRequests
	if !ok || apiErr.Code != http.StatusBadRequest || apiErr.Status != "INVALID_ARGUMENT" || len(refusals) != 1 || refusals[0].ID != "SG-02" {
		t.Errorf("the SDK returned %v, the server rejected %+v, want SG-02", err, refusals)
	}
}

func playGeminiChats(t *testing.T, base string, stream bool) (steps []step) {
	chat, err := newGemini(t, base).Chats.Create(t.Context(), "gemini-3-pro-preview", geminiConfig, nil)
	if err != nil {
		t.Fatal(err)
	}
	next := []*genai.Part{{Text: question}}
	for {
		answers := chat.SendStream(t.Context(), next...)
		if !stream {
			answers = one(chat.Send(t.Context(), next...))
		}
		s, said := hear(t, answers)
		next = answer(t, &s, said)
		if steps = append(steps, s); len(s.Calls) == 0 || len(steps) > 3 {
			return steps
		}
	}
}
