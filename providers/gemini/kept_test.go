package gemini_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/protocol"
)

// TestResponseMembers checks that members without a field in llm are kept and written again,
// and that no request contains them.
func TestResponseMembers(t *testing.T) {
	const (
		grounded = `"groundingMetadata":{"webSearchQueries":["q"]},"citationMetadata":{"citationSources":[{"uri":"u"}]}`
		dated    = `"createTime":"2000-01-01T01:00:00Z"`
		text     = `"content":{"parts":[{"text":"hi"}],"role":"model"}`
	)
	want := opaque(`{"gemini_answer":{"candidate":{` + grounded + `},"response":{` + dated + `}}}`)
	chunks := func(chunks ...string) string { return "data: " + strings.Join(chunks, "\n\ndata: ") + "\n\n" }
	for name, body := range map[string]string{
		"with the finish": chunks(`{"candidates":[{` + text + `,"finishReason":"STOP","older":null,"padding":"` + strings.Repeat("x", 32<<10) + `",` + grounded + `}],` + dated + `}`),
		"in any chunk": chunks(`{"candidates":[{`+text+`,"grounding_metadata":{}}]}`, `{"candidates":[{"index":1,"content":{},"safetyRatings":[]}]}`,
			`{"candidates":[{"finishReason":"STOP",`+grounded+`}],`+dated+`}`),
		"after the finish": chunks(`{"candidates":[{`+text+`,"finishReason":"STOP"}]}`, `{"candidates":[{`+grounded+`}]}`, `{`+dated+`}`),
	} {
		turn, _, err := stream(strings.NewReader(body))
		if diff := cmp.Diff(want, turn.Opaque); diff != "" || err != nil || turn.FinishReason != llm.FinishStop || turn.Text() != "hi" {
			t.Errorf("%s: %v, %q, %q (-want +got):\n%s", name, err, turn.FinishReason, turn.Text(), diff)
		}
	}

	const unfinished = `{"candidates":[{` + text + `,` + grounded + `}],` + dated + `}`
	turn, err := whole([]byte(unfinished))
	if diff := cmp.Diff(want, turn.Opaque); diff != "" || err != nil {
		t.Errorf("without a finish: %v (-want +got):\n%s", err, diff)
	}

	turn.FinishReason = llm.FinishStop
	tail := `"finishReason":"STOP","index":0,` + grounded + `}],"usageMetadata":{"promptTokenCount":0,"totalTokenCount":0,"promptTokensDetails":[{"modality":"TEXT","tokenCount":0}]},` + dated + `}`
	body, err := codec.EncodeResponse(nil, protocol.ResponseMeta{}, turn)
	if diff := cmp.Diff(`{"candidates":[{`+text+`,`+tail, string(body)); diff != "" || err != nil {
		t.Errorf("written: %v (-want +got):\n%s", err, diff)
	}
	var last string
	enc := gemini.GenerateContent{}.NewEncoder(protocol.ResponseMeta{})
	write := func(_ string, data []byte) { last = string(data) }
	for _, f := range []llm.Finish{{Reason: llm.FinishStop, Opaque: want}, {Message: "m"}} {
		if err := enc.Event(f, write); err != nil {
			t.Fatal(err)
		}
	}
	err = enc.End(write)
	if diff := cmp.Diff(`{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},`+strings.Replace(tail, `"index":0,`, `"index":0,"finishMessage":"m",`, 1), last); diff != "" || err != nil {
		t.Errorf("streaming: %v (-want +got):\n%s", err, diff)
	}

	if got := contents(t, "m", turn.Message()); got != `[{"parts":[{"text":"hi"}],"role":"model"}]` {
		t.Errorf("sent back: %s", got)
	}
}
