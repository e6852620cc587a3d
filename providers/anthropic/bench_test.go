package anthropic_test

import (
	"strings"
	"testing"

	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
)

// BenchmarkDecodeStream reads a response with 200 text deltas and a call with 50 deltas.
func BenchmarkDecodeStream(b *testing.B) {
	data := []string{begin, textStart}
	for range 200 {
		data = append(data, says(`" some words, and \"more\""`))
	}
	data = append(data, stop0, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}}`)
	data = append(data, input("1", `"{\"a\":\""`))
	for range 50 {
		data = append(data, input("1", `"xyz"`))
	}
	body := stream(append(data, input("1", `"\"}"`), stop1, endTool, msgStop)...)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	n := 0
	emit := func(llm.Event) { n++ }
	for b.Loop() {
		events := sse.NewReader(strings.NewReader(body), 1<<20)
		dec := anthropic.Messages{}.NewDecoder()
		for {
			ev, err := events.Next()
			if err != nil {
				b.Fatal(err)
			}
			done, err := dec.Event(ev.Name, ev.Data, emit)
			if err != nil {
				b.Fatal(err)
			}
			if done {
				break
			}
		}
		if err := dec.End(emit); err != nil {
			b.Fatal(err)
		}
	}
}
