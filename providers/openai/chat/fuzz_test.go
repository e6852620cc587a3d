package chat_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/chat"
)

// FuzzChatRequest reads a body and writes it; from then on it stays the same.
func FuzzChatRequest(f *testing.F) {
	for _, c := range chatSent {
		f.Add([]byte(c.body))
	}
	for _, c := range chatBodies {
		f.Add([]byte(c.want))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		chat := chat.Protocol{}
		req, err := chat.DecodeRequest("", body)
		if err != nil {
			return
		}
		first := chatBody(t, chat, req)
		req, err = chat.DecodeRequest("", []byte(first))
		if err != nil {
			t.Fatalf("%v: %s", err, first)
		}
		if again := chatBody(t, chat, req); again != first {
			t.Fatalf("first:\n%s\nagain:\n%s", first, again)
		}
	})
}

// chatOtherMembers are members in addition to the text.
const chatOtherMembers = `"content":null,"audio":{"id":"a","data":"AA","transcript":"hi","expires_at":7},"annotations":[{"type":"file"}],"images":[{"index":0}],"extra_content":{},"novel":[1]`

// FuzzChatResponse decodes a response and encodes it; from then on it stays the same.
func FuzzChatResponse(f *testing.F) {
	for _, q := range chatQuirks {
		for _, body := range q.bodies {
			f.Add([]byte(body))
		}
	}
	f.Add([]byte(chatWhole(chatOtherMembers, `"stop"`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		turn, err := chatAnswer(string(body))
		if err != nil {
			return
		}
		first := chatAgain(t, turn)
		if turn, err = chatAnswer(first); err != nil {
			t.Fatalf("%v: %s", err, first)
		}
		second := chatAgain(t, turn)
		if turn, err = chatAnswer(second); err != nil {
			t.Fatalf("%v: %s", err, second)
		}
		if third := chatAgain(t, turn); third != second {
			t.Fatalf("second:\n%s\nthird:\n%s", second, third)
		}
	})
}

func chatAgain(t *testing.T, turn *llm.Response) string {
	t.Helper()
	turn.Usage = llm.Usage{} // huge counts do not add up
	body, err := chat.Protocol{}.EncodeResponse(nil, chatAnswered, turn)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// FuzzChatStream decodes a stream and plays its events; decoding those gives the same
// response.
func FuzzChatStream(f *testing.F) {
	for _, q := range chatQuirks {
		for _, wire := range q.wires {
			if len(wire) < 4<<10 {
				f.Add([]byte(wire))
			}
		}
	}
	f.Add([]byte(chatStream(chatDelta(chatOtherMembers), chatDelta(chatOtherMembers, "stop"))))
	f.Fuzz(func(t *testing.T, wire []byte) {
		_, events, err := chatListen(string(wire))
		if err != nil {
			return
		}
		first := chatStream(chatWritten(t, events...)...)
		turn, events, err := chatListen(first)
		if err != nil {
			t.Fatalf("%v: %s", err, first)
		}
		again := chatStream(chatWritten(t, events...)...)
		got, _, err := chatListen(again)
		if err != nil {
			t.Fatalf("%v: %s", err, again)
		}
		turn.Usage, got.Usage = llm.Usage{}, llm.Usage{} // huge counts do not add up
		if diff := cmp.Diff(turn, got); diff != "" {
			t.Fatalf("%s\n(-want +got):\n%s", again, diff)
		}
	})
}

// chatListen is chatTurn with the events.
func chatListen(wire string) (*llm.Response, []llm.Event, error) {
	var events []llm.Event
	var acc llm.Accumulator
	dec := chat.Protocol{}.NewDecoder()
	emit := func(ev llm.Event) { events = append(events, ev); acc.Add(ev) }
	for block := range strings.SplitSeq(wire, "\n\n") {
		data, ok := strings.CutPrefix(block, "data: ")
		if !ok {
			continue
		}
		done, err := dec.Event("", []byte(data), emit)
		if err != nil {
			return nil, nil, err
		}
		if done {
			break
		}
	}
	err := dec.End(emit)
	return acc.Response(), events, err
}

// FuzzChatError reads an error, which always is one, and writes it.
func FuzzChatError(f *testing.F) {
	f.Add(429, []byte(`{"error":{"message":"m","type":"t","param":null,"code":"c","metadata":{"raw":"r"}}}`))
	f.Add(200, []byte(`[{"error":{"code":503}}]`))
	f.Add(500, []byte(`<html>`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		chat := chat.Protocol{}
		e := chat.DecodeError(status, http.Header{}, body)
		if e.Error() == "" {
			t.Fatal("an error without words")
		}
		e.Message = strings.ToValidUTF8(e.Message, "?")
		e.Code = strings.ToValidUTF8(e.Code, "?")
		again := chat.DecodeError(e.Status, http.Header{}, chat.EncodeError(e))
		if e.Code != "" && again.Code != e.Code || again.Message != e.Message {
			t.Fatalf("%+v is read back as %+v", e, again)
		}
	})
}

// BenchmarkDecodeStream reads a stream of text and a call, as OpenAI writes them,
// and a recorded one where there are recordings.
func BenchmarkDecodeStream(b *testing.B) {
	var events []llm.Event
	for range 200 {
		events = append(events, llm.TextDelta{Text: " token"})
	}
	events = append(events, llm.ToolCallStart{Index: 1, ID: "call_abcdefghijklmnopqrstuvwx", Name: "weather"})
	for range 50 {
		events = append(events, llm.ToolCallDelta{Index: 1, Arguments: `"a":1,`})
	}
	events = append(events, llm.Usage{InputTokens: 10, OutputTokens: 250}, llm.Finish{Reason: llm.FinishToolCalls})
	streams := map[string][]string{"written": chatWritten(b, events...)}
	if dir := os.Getenv("LOOPTAPE_SHARED"); dir != "" {
		wire, err := os.ReadFile(filepath.Join(dir, "data", "wire", "openai-chat", "TestOpenRouterThinking__anthropic__thinking-streaming.0.sse"))
		if err != nil {
			b.Fatal(err)
		}
		streams["recorded"] = append(chatData(string(wire)), "[DONE]")
	}
	for name, stream := range streams {
		var data [][]byte
		size := 0
		for _, d := range stream {
			data = append(data, []byte(d))
			size += len(d)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			n := 0
			emit := func(llm.Event) { n++ }
			for b.Loop() {
				dec := chat.Protocol{}.NewDecoder()
				for _, d := range data {
					if _, err := dec.Event("", d, emit); err != nil {
						b.Fatal(err)
					}
				}
				if err := dec.End(emit); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(data)), "ns/event")
		})
	}
}
