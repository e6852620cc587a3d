package anthropic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/protocol"
)

// TestResponseMembers checks that members without a field in llm are kept and written again,
// and that requests contain only the container.
func TestResponseMembers(t *testing.T) {
	const known, kept = `"container":{"id":"c"},"stop_sequence":"END"`, `"context_management":{"applied_edits":[1]},"novel":2`
	want := raw(`{` + known + `,"anthropic_answer":{` + kept + `}}`)
	buffered, err := decodeBuffered(head + `{"type":"text","text":"hi"}],` + known + `,"stop_reason":"stop_sequence","older":null,"padding":"` + strings.Repeat("x", 32<<10) + `",` + kept + `}`)
	if diff := cmp.Diff(want, buffered.Opaque); diff != "" || err != nil {
		t.Errorf("non-streaming: error %v (-want +got):\n%s", err, diff)
	}
	streamed, err := decode(strings.NewReader(stream(
		`{"type":"message_start","message":{"type":"message","role":"assistant","container":{"id":"older"},"stop_sequence":null,"context_management":{"applied_edits":[]}}}`,
		textStart, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi","p":"abc"},"p":"abc"}`, stop0,
		`{"type":"message_delta","delta":{"stop_reason":"stop_sequence",`+known+`,"novel":2},"context_management":{"applied_edits":[1]},"older":null}`, msgStop)))
	if diff := cmp.Diff(want, streamed.Opaque); diff != "" || err != nil {
		t.Errorf("streaming: error %v (-want +got):\n%s", err, diff)
	}

	body, err := anthropic.Messages{}.EncodeResponse(nil, protocol.ResponseMeta{}, buffered)
	for _, m := range []string{`"stop_sequence":"END","container":{"id":"c"},"usage":{`, `},` + kept + `}`} {
		if !strings.Contains(string(body), m) || err != nil {
			t.Errorf("error %v, no %s in %s", err, m, body)
		}
	}
	wire, err := encodeStream(protocol.ResponseMeta{}, []llm.Event{llm.Finish{Reason: llm.FinishStop, Raw: "stop_sequence", Opaque: want}})
	for _, m := range []string{`"stop_sequence":"END","container":{"id":"c"}},"usage":{`, `},` + kept + "}\n\n"} {
		if !strings.Contains(wire, m) || err != nil {
			t.Errorf("error %v, no %s in %s", err, m, wire)
		}
	}

	again := encodeRequest(t, &llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{llm.User("hi"), buffered.Message()}})
	if diff := cmp.Diff(`{"max_tokens":4096,"messages":[`+userHi+`,{"role":"assistant","content":[{"type":"text","text":"hi"}]}],"container":"c"}`, again); diff != "" {
		t.Errorf("sent back (-want +got):\n%s", diff)
	}
}
