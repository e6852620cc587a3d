package clients

import (
	"testing"

	"google.golang.org/genai"

	"github.com/looptape/looptape/fake/wire"
)

// TestGeminiChats plays the scenario with the SDK's own keeper of histories. Streamed,
// it makes a turn of each chunk, so that calls that came at once are apart, which
// Google refuses too (googleapis/go-genai#692).
func TestGeminiChats(t *testing.T) {
	t.Run("buffered", func(t *testing.T) { geminiScript.once(t, playGeminiChats, false) })
	t.Run("streamed", func(t *testing.T) {
		l := open(t, geminiScript.signs.turns()...)
		playGeminiChats(t, l.base(wire.Gemini), true)
		if r := l.wire.Report(); len(r.Refusals) == 0 && len(r.Violations) == 0 {
			t.Error("the server has nothing to say: if the SDK keeps calls together now, play the scenario streamed too")
		}
	})
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
