package llm_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
)

// FuzzAccumulator feeds lines of event JSON. For any input, the response can be written and
// read, it contains every call once, and valid JSON arguments are never repaired.
func FuzzAccumulator(f *testing.F) {
	f.Add([]byte(`{"type":"text_delta","text":"a"}
{"type":"tool_call_start","index":1,"id":"x","name":"f"}
{"type":"tool_call_delta","index":1,"arguments":"{}"}
{"type":"tool_call_delta","index":1,"arguments":"{\"a\":1}"}
{"type":"tool_call_end","index":1}
{"type":"finish","reason":"stop"}`))
	f.Add([]byte(`{"type":"part","part":{"type":"tool_call","id":"x","arguments":"{}{}"}}
{"type":"tool_call_end"}
{"type":"usage","input_tokens":1}
{"type":"new"}`))
	f.Add([]byte(`{"type":"tool_call_start","id":"x"}
{"type":"tool_call_start","id":"x"}
{"type":"tool_call_delta","arguments":"{\"a"}
{"type":"tool_call_delta","arguments":"{\"a\":1}"}`))
	f.Fuzz(func(t *testing.T, lines []byte) {
		var acc llm.Accumulator
		starts := 0
		for line := range bytes.Lines(lines) {
			ev, err := llm.UnmarshalEvent(line)
			if err != nil {
				continue
			}
			before := llm.AppendEvent(nil, ev)
			if again, err := llm.UnmarshalEvent(before); err != nil || !bytes.Equal(before, llm.AppendEvent(nil, again)) {
				t.Fatalf("%s is read back as %v, %v", before, again, err)
			}
			call := acc.Add(ev)
			switch e := ev.(type) {
			case llm.ToolCallStart:
				if call == nil {
					t.Fatal("a start without a call")
				}
			case llm.PartDone:
				if c, ok := e.Part.(llm.ToolCall); ok && !c.ProviderExecuted {
					starts++
				}
			}
		}
		turn := acc.Response()
		if len(turn.Calls()) < starts {
			t.Fatalf("%d calls of %d complete ones", len(turn.Calls()), starts)
		}
		m := turn.Message()
		written := m.AppendJSON(nil)
		if !utf8.Valid(written) {
			t.Fatalf("not UTF-8: %q", written)
		}
		var back llm.Message
		if err := back.UnmarshalJSON(written); err != nil {
			t.Fatalf("%v: %s", err, written)
		}
		if diff := cmp.Diff(string(written), string(back.AppendJSON(nil))); diff != "" {
			t.Fatalf("written again (-first +again):\n%s", diff)
		}
	})
}
