package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
)

// responsesTold is what is kept of the responses below.
const responsesTold = `{"responses_answer":{"citations":["u"],"novel":{"x":1}}}`

// responsesMembers are members of a response that are kept, in another order and once
// too often, and those that are not: what the API documents, nothing, what is too long.
var responsesMembers = `"novel":2,"metadata":{"k":"v"},"store":true,"content_filters":[1],"tool_usage":{"x":1},"moderation":{"flagged":false},` +
	`"null":null,"padding":"` + strings.Repeat("x", 32<<10) + `","novel":{"x":1},"citations":["u"]`

// TestResponsesMembers shows what is kept of a response beside what llm has fields for:
// the same of a stream as of an answer in one piece, and so when it was written again.
func TestResponsesMembers(t *testing.T) {
	for status, want := range map[string]llm.Turn{
		"completed":  {Finish: llm.FinishStop, RawFinish: "completed"},
		"incomplete": {Finish: llm.FinishLength, RawFinish: "max_output_tokens"},
	} {
		t.Run(status, func(t *testing.T) {
			want.ResponseID, want.Model, want.Opaque = answer.ID, answer.Model, raw(responsesTold)
			body := fmt.Sprintf(`{"id":"resp_1","model":"gpt-5","status":%q,"incomplete_details":{"reason":"max_output_tokens"},"output":[],%s}`, status, responsesMembers)
			if status == "completed" {
				body = strings.Replace(body, `{"reason":"max_output_tokens"}`, "null", 1)
			}
			got, err := readAnswer(body)
			chatSameTurn(t, "buffered", &want, got, err)
			began := strings.Replace(created, `"object":`, `"begun":1,"object":`, 1)
			got, err = readStream(strings.NewReader(stream(began, `{"type":"response.`+status+`","novel":3,"response":`+body+`}`)))
			chatSameTurn(t, "streamed", &want, got, err)
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
	turn := llm.Message{Role: llm.RoleAssistant, Parts: helloParts, Opaque: raw(responsesTold)}
	without := llm.Assistant(helloParts...)
	if got, want := said(t, openai.Responses{}, "input", turn), said(t, openai.Responses{}, "input", without); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
