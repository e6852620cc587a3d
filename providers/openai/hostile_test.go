package openai_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// many is n elements, each with its number in it.
func many(n int, format string) string {
	var out strings.Builder
	for i := range n {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, format, i)
	}
	return out.String()
}

// decoded counts the events of a stream of such data.
func decoded(t *testing.T, p protocol.Protocol, data ...string) (calls, ends int) {
	t.Helper()
	dec := p.NewDecoder()
	emit := func(ev llm.Event) {
		switch ev.(type) {
		case llm.ToolCallStart, llm.PartDone:
			calls++
		case llm.ToolCallEnd:
			ends++
		}
	}
	for _, d := range data {
		if _, err := dec.Event("", []byte(d), emit); err != nil {
			t.Fatal(err)
		}
	}
	if err := dec.End(emit); err != nil {
		t.Fatal(err)
	}
	return calls, ends
}

// A chunk may hold very many calls. The number is such that the test does not end if a
// call costs more, the more there are before it.
func TestChatManyCalls(t *testing.T) {
	const n = 60_000
	for name, format := range map[string]string{
		"ids":                 `{"index":0,"id":"c%d"}`,
		"ids without indexes": `{"id":"c%d"}`,
		"indexes":             `{"index":%d,"function":{"name":"f"}}`,
	} {
		calls, ends := decoded(t, chat.Protocol{}, `{"choices":[{"delta":{"tool_calls":[`+many(n, format)+`]}}]}`, "[DONE]")
		if diff := cmp.Diff([2]int{n, n}, [2]int{calls, ends}); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// memory is what f takes, in bytes.
func memory(f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// Many deltas are joined at a cost that grows with their number.
func TestChatManyDeltas(t *testing.T) {
	for name, c := range map[string][2]string{
		"arguments before the name": {`"tool_calls":[`, `{"index":0,"function":{"arguments":"a%d"}}`},
		"thinking":                  {`"content":[{"type":"thinking","thinking":[`, `{"type":"text","text":"a%d"}`},
		"details":                   {`"reasoning_details":[`, `{"type":"reasoning.text","text":"a%d"}`},
	} {
		const n = 4000
		closed := map[bool]string{true: "]}]", false: "]"}[name == "thinking"]
		used := func(n int) float64 {
			data := `{"choices":[{"delta":{` + c[0] + many(n, c[1]) + closed + `}}]}`
			return memory(func() { decoded(t, chat.Protocol{}, data, "[DONE]") })
		}
		used(1)
		if few, more := used(n), used(4*n); more > 6*few {
			t.Errorf("%s: %d deltas allocate %.0f bytes, and four times that number %.0f", name, n, few, more)
		}
	}
}

// The last event repeats many items of the stream; their number is such that the test does not
// end if the decoder compares each with all.
func TestResponsesManyItems(t *testing.T) {
	const n = 60_000
	data := make([]string, 0, n+1)
	for i := range n {
		data = append(data, fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"function_call","call_id":"c%[1]d"}}`, i))
	}
	for name, c := range map[string]struct {
		format      string
		calls, ends int
	}{
		"the same calls": {`{"type":"function_call","call_id":"c%d","arguments":"{}"}`, n, 0},
		"others":         {`{"type":"x%d"}`, 2 * n, 0},
	} {
		calls, ends := decoded(t, responses.Protocol{}, append(data, `{"type":"response.completed","response":{"output":[`+many(n, c.format)+`]}}`)...)
		if diff := cmp.Diff([2]int{c.calls, c.ends}, [2]int{calls, ends}); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// The decoder keeps a limited number of unknown members.
func TestKeptNames(t *testing.T) {
	var turn llm.Accumulator
	if err := (chat.Protocol{}).DecodeResponse([]byte(`{"choices":[{"message":{},"finish_reason":"stop"}],`+many(5000, `"k%d":1`)+`,"k0":2}`), func(ev llm.Event) { turn.Add(ev) }); err != nil {
		t.Fatal(err)
	}
	opaque := string(turn.Response().Opaque)
	if n := strings.Count(opaque, `"k`); n != 4096 || !strings.Contains(opaque, `"k0":2`) {
		t.Errorf("%d members are kept, want 4096: %.100s", n, opaque)
	}
}
