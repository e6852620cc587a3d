package responses_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/responses"
)

func testReasoningEcho(t *testing.T) {
	body := `{"id":"resp_1","status":"completed","model":"m","output":[` + rs1 + `,` + item1(whole) + `,` + rs2 + `,{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello","annotations":[]}]}]}`
	turn, err := readAnswer(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := responses.Protocol{}.EncodeRequest(&llm.Request{Messages: []llm.Message{turn.Message(), llm.ToolResults(llm.ToolResult{ID: "call_1", Content: []llm.Part{llm.Text{Text: "ok"}}})}})
	if err != nil {
		t.Fatal(err)
	}
	want := `"input":[` +
		`{"type":"reasoning","id":"rs_1","encrypted_content":"gAAAA1","summary":[]},` +
		`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"a\":1}"},` +
		`{"type":"reasoning","id":"rs_2","encrypted_content":"gAAAA2","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}]},` +
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"}],"id":"msg_1"},` +
		`{"type":"function_call_output","call_id":"call_1","output":"ok"}]`
	if !strings.Contains(string(req.Body), want) {
		t.Errorf("got %s\nwant in it %s", req.Body, want)
	}
}

// The error of a rejected request contains the provider's message.
func testRefusalReported(t *testing.T) {
	body := `{"error":{"message":"No tool output found for function call call_1.","type":"invalid_request_error","param":"input","code":null}}`
	got := responses.Protocol{}.DecodeError(400, nil, []byte(body))
	want := &llm.APIError{Status: 400, Code: "invalid_request_error", Message: "No tool output found for function call call_1."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func testStatusRetried(t *testing.T) {
	for _, status := range []int{429, 500, 502, 503, 529} {
		if e := (responses.Protocol{}).DecodeError(status, nil, []byte(`{"error":{"message":"Try later.","type":"server_error"}}`)); !e.Retryable || e.Status != status || e.Message != "Try later." {
			t.Errorf("status %d: got %+v", status, e)
		}
	}
}

func testStatusFinal(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 413} {
		if e := (responses.Protocol{}).DecodeError(status, nil, []byte(`{"error":{"message":"No.","code":"x"}}`)); e.Retryable || e.Status != status || e.Code != "x" {
			t.Errorf("status %d: got %+v", status, e)
		}
	}
	if e := (responses.Protocol{}).DecodeError(429, nil, []byte(`{"error":{"message":"Pay.","code":"insufficient_quota"}}`)); e.Retryable {
		t.Errorf("an exhausted quota is not retryable: %+v", e)
	}
	if e := (responses.Protocol{}).DecodeError(520, nil, []byte("<html>down</html>")); e.Message != "<html>down</html>" {
		t.Errorf("a page of a proxy: %+v", e)
	}
}

// Events without content give no event: they are not progress.
func testPings(t *testing.T) {
	dec := responses.Protocol{}.NewDecoder()
	for _, data := range []string{`{"type":"ping"}`, `{"type":"keepalive","sequence_number":3}`, `{"type":"response.queued"}`, `{}`} {
		done, err := dec.Event("", []byte(data), func(ev llm.Event) { t.Errorf("%s: got %v", data, ev) })
		if done || err != nil {
			t.Errorf("%s: got %v, %v", data, done, err)
		}
	}
}

// The response ends at its end marker, not at the end of the connection.
func testNothingAwaited(t *testing.T) {
	never := readFunc(func([]byte) (int, error) { t.Error("data after the end marker is read"); return 0, io.EOF })
	turn, err := readStream(io.MultiReader(bytes.NewReader([]byte(plainHello)), never))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(helloParts, turn.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
