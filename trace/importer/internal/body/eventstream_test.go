package body_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/internal/eventstream"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer/internal/body"
)

// stream returns an event stream with a message for each line: a name and a payload.
func stream(lines string) (out []byte) {
	for line := range strings.Lines(lines) {
		name, payload, _ := strings.Cut(strings.TrimSpace(line), " ")
		kind, header := "event", ":event-type"
		if strings.HasSuffix(name, "Exception") {
			kind, header = "exception", ":exception-type"
		}
		headers := appendHeader(appendHeader(nil, header, name), ":message-type", kind)
		out = eventstream.Append(out, headers, []byte(payload))
	}
	return out
}

func appendHeader(dst []byte, name, value string) []byte {
	const str = 7
	dst = append(append(dst, byte(len(name))), name...)
	return append(append(dst, str, 0, byte(len(value))), value...)
}

const converse = `messageStart {"role":"assistant"}
contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"h"}}}
contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"m"}}}
contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"s"}}}
contentBlockDelta {"contentBlockIndex":1,"delta":{"text":"o"}}
contentBlockDelta {"contentBlockIndex":1,"delta":{"text":"k"}}
contentBlockStop {"contentBlockIndex":1}
contentBlockStart {"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}
contentBlockDelta {"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"x\":"}}}
contentBlockDelta {"contentBlockIndex":2,"delta":{"toolUse":{"input":"1}"}}}
newEvent {"y":1}
messageStop {"stopReason":"tool_use"}
metadata {"usage":{"inputTokens":3,"outputTokens":7,"cacheReadInputTokens":2}}
`

func TestConverseStream(t *testing.T) {
	p := body.ByPath("bedrock-runtime.us-east-1.amazonaws.com", "/model/m/converse-stream")
	r, err := p.Read(stream(converse))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"role":"assistant","parts":[{"type":"reasoning","text":"hm","opaque":{"reasoningContent":{"reasoningText":{"text":"hm","signature":"s"}}}},{"type":"text","text":"ok"},{"type":"tool_call","id":"a","name":"f","arguments":"{\"x\":1}"}]}`
	if diff := cmp.Diff(want, string(r.Message().AppendJSON(nil))); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if r.Usage.InputTokens != 5 || r.Usage.OutputTokens != 7 || r.FinishReason != "tool_calls" {
		t.Errorf("usage %+v, finish reason %s", r.Usage, r.FinishReason)
	}
	if len(r.UnknownEvents) != 1 || r.UnknownEvents[0].Kind != "newEvent" {
		t.Errorf("unknown events %v, want newEvent", r.UnknownEvents)
	}
}

// What a binary stream has that is not read is listed, with the number of its event.
func TestUnreadConverseStream(t *testing.T) {
	for name, c := range map[string]struct{ old, replacement, want string }{
		"as it is":        {"", "", ""},
		"no start":        {`contentBlockStart {"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}` + "\n", "", "the stream has a delta of a call that belongs to no contentBlockStart, at the index 2"},
		"a text":          {`"delta":{"text":"k"}`, `"delta":{"text":["k"]}`, "event 6 of the stream: delta.text is a list: want a string"},
		"an index":        {`"contentBlockIndex":1,"delta":{"text":"k"}`, `"contentBlockIndex":"1","delta":{"text":"k"}`, `event 6 of the stream: contentBlockIndex is a string: want a whole number of at least 0`},
		"a nested start":  {`"start":{"toolUse":{"toolUseId":"a","name":"f"}}`, `"value":{"start":{"toolUse":{"toolUseId":"a","name":"f"}}}`, `event 8 of the stream: the response has no member "start": want an object`},
		"a text as usage": {`{"usage":{"inputTokens":3,"outputTokens":7,"cacheReadInputTokens":2}}`, `{"usage":"3 in"}`, "event 13 of the stream: usage is a string: want an object with counts"},
	} {
		if !strings.Contains(converse, c.old) {
			t.Fatalf("%s: no %s", name, c.old)
		}
		unread := body.Unread("bedrock-converse", stream(strings.Replace(converse, c.old, c.replacement, 1)), nil)
		if got := strings.Join(unread, "; "); c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: unread %q, want %q", name, got, c.want)
		}
	}
}

// A response with redacted reasoning that comes back unchanged is no violation.
func TestConverseStreamRedactedReasoning(t *testing.T) {
	p := body.ByPath("", "/model/m/converse-stream")
	r, err := p.Read(stream(`messageStart {"role":"assistant"}
contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"redactedContent":"c2VjcmV0"}}}
contentBlockDelta {"contentBlockIndex":1,"delta":{"text":"ok"}}
messageStop {"stopReason":"end_turn"}
`))
	if err != nil {
		t.Fatal(err)
	}
	req, err := p.DecodeRequest("", []byte(`{"messages":[{"role":"assistant","content":[{"reasoningContent":{"redactedContent":"c2VjcmV0"}},{"text":"ok"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	list := check.List{Protocol: p.Name()}
	for _, v := range list.Follow(0, r.Message(), req.Messages) {
		t.Errorf("violation %s", v)
	}
}

func TestInvalidConverseStreams(t *testing.T) {
	p := body.ByPath("", "/model/m/converse-stream")
	damaged := stream(converse)
	damaged[len(damaged)/2] ^= 1
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"without its end": {stream(strings.Split(converse, "messageStop")[0]), "the response was truncated"},
		"in a message":    {stream(converse)[:100], "message 2 of the event stream"},
		"damaged":         {damaged, "checksum mismatch"},
		"an exception":    {stream(`throttlingException {"message":"slow down"}`), `bedrock-converse: status 200 throttlingException: {"message":"slow down"}`},
		"an index":        {stream(`contentBlockDelta {"contentBlockIndex":9}`), "has the index 9, after 0 blocks"},
		"a payload":       {stream(`messageStop x`), `the payload of the event "messageStop" is not JSON`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := p.Read(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestServerSentEventsOfEventStream(t *testing.T) {
	payload, _ := json.Marshal(map[string][]byte{"bytes": []byte(`{"type":"message_stop"}`)})
	got, err := body.ServerSentEvents(stream("chunk " + string(payload)))
	if want := "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, in := range []string{"chunk {}x", "throttlingException {}", "other {}"} {
		if _, err := body.ServerSentEvents(stream(in)); err == nil {
			t.Errorf("%s: no error", in)
		}
	}
}
