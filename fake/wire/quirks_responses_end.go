package wire

import (
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
)

// responsesEndQuirks are answers that fail, before they begin or after.
var responsesEndQuirks = []quirkForm{
	{
		QuirkForm: onResponses("QR-07", "no-output", "the request is refused as if it had a call without its output (SR-01)"),
		reply:     refuseInput("No tool output found for function call "),
	},
	{
		QuirkForm: onResponses("QR-07", "no-call", "the request is refused as if it had an output without its call (SR-02)"),
		reply:     refuseInput("No tool call found for function call output with call_id "),
	},
	inEvents("QR-08", "failed", "response.failed comes where the end would", func(r *reply) bool {
		return failResponse(r, "server_error", "The model had an error.", false)
	}),
	inEvents("QR-08", "error", "an error event comes where the end would, and then response.failed", func(r *reply) bool {
		return failResponse(r, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.", true)
	}),
}

// refuseInput answers with the provider's refusal of the input: its words, and the id
// of the last result in the request.
func refuseInput(words string) func(p *play, r *reply) bool {
	return func(p *play, r *reply) bool {
		r.json(http.StatusBadRequest, openai.Error{Message: words + lastResult(p.request) + ".", Type: "invalid_request_error", Param: "input"}.AppendJSON(nil))
		return true
	}
}

func lastResult(req *llm.Request) string {
	for _, m := range slices.Backward(req.Messages) {
		for _, p := range slices.Backward(m.Parts) {
			if r, ok := p.(llm.ToolResult); ok {
				return r.ID
			}
		}
	}
	return "call_0"
}

// failResponse puts response.failed in the place of the end, perhaps with an event of
// the error before it.
func failResponse(r *reply, code, message string, event bool) bool {
	at := slices.IndexFunc(r.frames, func(f frame) bool { return endsResponse(string(f.data)) })
	if at < 0 {
		return false
	}
	text := string(r.frames[at].data)
	told := `{"code":` + quoted(code) + `,"message":` + quoted(message) + `}`
	for _, m := range [][2]string{
		{"type", `"response.failed"`}, {"response.status", `"failed"`}, {"response.error", told}, {"response.completed_at", "null"}, {"response.usage", "null"},
	} {
		text = put(text, m[0], m[1])
	}
	end := []frame{{"response.failed", []byte(text)}}
	if event {
		told = put(put(told, "type", quoted(code)), "param", "null")
		number := gjson.Get(text, "sequence_number").Raw
		end = append([]frame{{"error", []byte(`{"type":"error","sequence_number":` + number + `,"error":` + told + `}`)}}, end...)
	}
	r.frames = append(r.frames[:at], end...)
	return true
}
