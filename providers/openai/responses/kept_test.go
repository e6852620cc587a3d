package responses_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
)

// responsesKept is what is kept of the responses below.
const responsesKept = `{"responses_answer":{"citations":["u"],"novel":{"x":1}}}`

// responsesMembers are members of a response that are kept, in another order and once
// too often, and those that are not: what the API documents, nothing, what is too long.
var responsesMembers = `"novel":2,"metadata":{"k":"v"},"store":true,"content_filters":[1],"tool_usage":{"x":1},"moderation":{"flagged":false},` +
	`"null":null,"padding":"` + strings.Repeat("x", 32<<10) + `","novel":{"x":1},"citations":["u"]`

// TestResponsesMembers checks that members without a field in llm are kept: the same for a
// stream and a non-streaming response, also after they were written again.
func TestResponsesMembers(t *testing.T) {
	for status, want := range map[string]llm.Response{
		"completed":  {FinishReason: llm.FinishStop, RawFinishReason: "completed"},
		"incomplete": {FinishReason: llm.FinishLength, RawFinishReason: "max_output_tokens"},
	} {
		t.Run(status, func(t *testing.T) {
			want.ResponseID, want.Model, want.Opaque = answer.ID, answer.Model, raw(responsesKept)
			body := fmt.Sprintf(`{"id":"resp_1","model":"gpt-5","status":%q,"incomplete_details":{"reason":"max_output_tokens"},"output":[],%s}`, status, responsesMembers)
			if status == "completed" {
				body = strings.Replace(body, `{"reason":"max_output_tokens"}`, "null", 1)
			}
			got, err := readAnswer(body)
			sameResponse(t, "non-streaming", &want, got, err)
			began := strings.Replace(created, `"object":`, `"begun":1,"object":`, 1)
			got, err = readStream(strings.NewReader(stream(began, `{"type":"response.`+status+`","novel":3,"response":`+body+`}`)))
			sameResponse(t, "streamed", &want, got, err)
			holdEncoded(t, got)
		})
	}
}

// A member of a response that is not known is kept up to a length.
func TestResponsesMembersBounded(t *testing.T) {
	const most = 32 << 10
	for size, want := range map[int]bool{most: true, most + 1: false} {
		got, err := readAnswer(`{"status":"completed","output":[],"novel":"` + strings.Repeat("x", size-2) + `"}`)
		if err != nil || (got.Opaque != nil) != want {
			t.Errorf("%d bytes: %v, %d are kept", size, err, len(got.Opaque))
		}
	}
}

// What was kept of a response is not sent back.
func TestResponsesMembersStay(t *testing.T) {
	turn := llm.Message{Role: llm.RoleAssistant, Parts: helloParts, Opaque: raw(responsesKept)}
	without := llm.Assistant(helloParts...)
	if got, want := said(t, "input", turn), said(t, "input", without); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Unknown members of an item and of its content parts come back in their place, streaming
// and not.
func TestResponsesPlaces(t *testing.T) {
	item := `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","x":1},{"type":"output_text","text":"b","id":"p","detail":"low","x":2}],"id":"msg_1","detail":"high","x":3}`
	want := []llm.Part{
		llm.Text{Text: "a", Opaque: raw(`{"id":"msg_1","responses:detail":"high","responses:x":3,"responses_content:x":1}`)},
		llm.Text{Text: "b", Opaque: raw(`{"id":"msg_1","responses:detail":"high","responses:x":3,"responses_content:id":"p","detail":"low","responses_content:x":2}`)},
	}
	piece := `{"type":"response.content_part.done","part":{"type":"output_text","text":"a","x":1}}`
	second := strings.Replace(textDelta(0, "b"), `"content_index":0`, `"content_index":1`, 1)
	begun := strings.Replace(messageAdded, `"content":[]`, `"detail":"high","x":3,"content":[]`, 1)
	wire := stream(created, begun, textDelta(0, "a"), piece, second, `{"type":"response.output_item.done","item":`+item+`}`, completed)
	got, err := readAnswer(`{"status":"completed","output":[` + item + `]}`)
	if diff := cmp.Diff(want, got.Parts); diff != "" || err != nil {
		t.Errorf("non-streaming: %v (-want +got):\n%s", err, diff)
	}
	got, err = readStream(strings.NewReader(wire))
	if diff := cmp.Diff(want, got.Parts); diff != "" || err != nil {
		t.Errorf("streaming: %v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff("["+item+"]", said(t, "input", llm.Assistant(want...))); diff != "" {
		t.Errorf("sent back (-want +got):\n%s", diff)
	}
	again, err := readAnswer(encodeAnswer(t, got))
	if diff := cmp.Diff(want, again.Parts); diff != "" || err != nil {
		t.Errorf("written again: %v (-want +got):\n%s", err, diff)
	}
}

// Opaque data does not add a member that the codec writes itself.
func TestResponsesOwnMembers(t *testing.T) {
	text := llm.Text{Text: "a", Opaque: raw(`{"responses_content:text":"b","responses:role":"user"}`)}
	for place, got := range map[string]string{
		"a request": said(t, "input", llm.Assistant(text)), "an answer": encodeAnswer(t, &llm.Response{Parts: []llm.Part{text}, FinishReason: llm.FinishStop}),
	} {
		if strings.Contains(got, `"b"`) || strings.Contains(got, `"role":"user"`) {
			t.Errorf("%s: %s", place, got)
		}
	}
}

// Items and parts of unknown kinds go back to their place.
func TestResponsesNovelKinds(t *testing.T) {
	const input = `[{"role":"user","content":[{"type":"novel","x":1}]},{"type":"novel","id":"nov_1"},{"type":"web_call","id":"web_1"},{"type":"function_call_output","call_id":"c","output":[{"type":"novel","id":"y"}]}]`
	novel := func(members string) llm.Part {
		return llm.Unknown{Kind: "responses:novel", Raw: raw(`{"type":"novel",` + members + `}`)}
	}
	req := decodeRequest(t, `{"input":`+input+`}`)
	want := []llm.Message{
		user(novel(`"x":1`)),
		llm.Assistant(novel(`"id":"nov_1"`), unknown("web_call", `{"type":"web_call","id":"web_1"}`)),
		llm.ToolResults(llm.ToolResult{ID: "c", Content: []llm.Part{novel(`"id":"y"`)}}),
	}
	if diff := cmp.Diff(want, req.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(input, said(t, "input", req.Messages...)); diff != "" {
		t.Errorf("written again (-want +got):\n%s", diff)
	}
	turn, err := readAnswer(`{"status":"completed","output":[{"type":"novel","id":"nov_1"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]llm.Part{novel(`"id":"nov_1"`)}, turn.Parts); diff != "" {
		t.Errorf("a response (-want +got):\n%s", diff)
	}
}

func sameResponse(t *testing.T, wire string, want, got *llm.Response, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v: %s", err, wire)
	}
	got.Warnings = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s\n(-want +got):\n%s", wire, diff)
	}
}
