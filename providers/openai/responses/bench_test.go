package responses_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/responses"
)

// BenchmarkResponsesDecodeStream decodes a stream into a response.
func BenchmarkResponsesDecodeStream(b *testing.B) {
	wires := map[string]string{"text": longText(b)}
	text, err := os.ReadFile(filepath.Join("testdata", "stream.txt"))
	if err != nil {
		b.Fatal(err)
	}
	wires["all kinds"] = string(text)
	for name, wire := range wires {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(wire)))
			b.ReportAllocs()
			var acc llm.Accumulator
			for b.Loop() {
				acc.Reset()
				emit := func(ev llm.Event) { acc.Add(ev) }
				events := sse.NewReader(strings.NewReader(wire), 32<<20)
				dec := responses.Protocol{}.NewDecoder()
				for {
					ev, err := events.Next()
					if errors.Is(err, io.EOF) {
						break
					}
					if _, err := dec.Event(ev.Name, ev.Data, emit); err != nil {
						b.Fatal(err)
					}
				}
				if acc.Response().RawFinishReason != "completed" {
					b.Fatal("the stream did not end")
				}
			}
		})
	}
}

// longText is a stream of a text in 200 deltas.
func longText(b *testing.B) string {
	b.Helper()
	var events []llm.Event
	for range 200 {
		events = append(events, llm.TextDelta{Text: " word"})
	}
	return writeStream(b, answer, append(events, llm.Finish{Reason: llm.FinishStop})...)
}
