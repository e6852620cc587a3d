package anthropic_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/protocol"
)

// FuzzRequest reads any body; what is read and can be written is read the same
// again.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"model":"m","max_tokens":5,"system":[{"type":"text","text":"s","cache_control":{}}],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"x":"\ud83d"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQ=="}}]},{"type":"text","text":"x"}]}],"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"any"},"stream":true}`))
	f.Add([]byte(`{"output_config":{"format":{"type":"json_schema","schema":{}}},"stop_sequences":["a"],"temperature":0.5,"x":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		first, err := anthropic.Messages{}.DecodeRequest("/v1/messages", body)
		if err != nil {
			return
		}
		wire, err := anthropic.Messages{}.EncodeRequest(first)
		if err != nil {
			return // a request that the API would refuse
		}
		second, err := anthropic.Messages{}.DecodeRequest("/v1/messages", wire.Body)
		if err != nil {
			t.Fatalf("%v in %s", err, wire.Body)
		}
		again, err := anthropic.Messages{}.EncodeRequest(second)
		if err != nil || !bytes.Equal(wire.Body, again.Body) {
			t.Fatalf("error %v\nfirst  %s\nsecond %s", err, wire.Body, again.Body)
		}
	})
}

// FuzzResponse reads any body, and what it reads is written and read the same.
func FuzzResponse(f *testing.F) {
	for _, q := range quirks {
		f.Add([]byte(q.buffered))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		turn, err := decodeBuffered(string(body))
		if err == nil {
			sameAgain(t, turn)
		}
	})
}

// FuzzStream reads any stream. What it reads is written in both forms and read the
// same.
func FuzzStream(f *testing.F) {
	for _, q := range quirks {
		if len(q.wire) < 10<<10 {
			f.Add([]byte(q.wire))
		}
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		turn, err := decode(bytes.NewReader(wire))
		if err == nil {
			sameAgain(t, turn)
		}
	})
}

// sameAgain encodes and decodes a response: once to bring it in the form of the wire, and
// again to check that it stays the same.
func sameAgain(t *testing.T, turn *llm.Response) {
	t.Helper()
	for _, p := range turn.Parts {
		switch p.(type) {
		case llm.Media, llm.ToolResult:
			return // no response contains them
		}
	}
	first := written(t, turn)
	if first == nil {
		return
	}
	if first.Text() != turn.Text() || len(first.Calls()) != len(turn.Calls()) {
		t.Fatalf("text %q and %d calls became %q and %d", turn.Text(), len(turn.Calls()), first.Text(), len(first.Calls()))
	}
	ignore := cmpopts.IgnoreFields(llm.Response{}, "Warnings")
	if diff := cmp.Diff(first, written(t, first), ignore); diff != "" {
		t.Fatalf("written and read again (-first +second):\n%s", diff)
	}
	var events []llm.Event
	for _, p := range first.Parts {
		events = append(events, llm.PartDone{Part: p})
	}
	events = append(events, first.Usage, llm.Finish{Reason: first.FinishReason, Raw: first.RawFinishReason, Message: first.FinishMessage, Opaque: first.Opaque})
	wire, err := encodeStream(protocol.ResponseMeta{ID: first.ResponseID, Model: first.Model}, events)
	if err != nil {
		t.Fatal(err)
	}
	streamed, err := decode(strings.NewReader(wire))
	if err != nil || streamed.Text() != first.Text() || len(streamed.Calls()) != len(first.Calls()) {
		t.Fatalf("error %v, streaming:\n%s", err, cmp.Diff(first, streamed))
	}
}

func written(t *testing.T, turn *llm.Response) *llm.Response {
	t.Helper()
	body, err := anthropic.Messages{}.EncodeResponse(nil, protocol.ResponseMeta{ID: turn.ResponseID, Model: turn.Model}, turn)
	if err != nil {
		return nil // a block that nests too deeply
	}
	got, err := decodeBuffered(string(body))
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return got
}

// FuzzError reads any error.
func FuzzError(f *testing.F) {
	f.Add(429, []byte(`{"type":"error","error":{"type":"rate_limit_error","message":"slow down"},"request_id":"req_1"}`))
	f.Add(200, []byte(`{"error":"x"}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := anthropic.Messages{}.DecodeError(status, nil, body)
		again := anthropic.Messages{}.DecodeError(status, nil, anthropic.Messages{}.EncodeError(e))
		if e.Code != "" && e.Message != "" && !cmp.Equal(e, again) {
			t.Fatalf("(-first +second):\n%s", cmp.Diff(e, again))
		}
	})
}
