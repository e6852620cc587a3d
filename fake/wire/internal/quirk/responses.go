package quirk

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
)

// responsesQuirks are those of OpenAI Responses and of compatible servers.
var responsesQuirks = slices.Concat(responsesItemQuirks, responsesArgumentQuirks, responsesEndQuirks)

func onResponses(id, form, description string) Info {
	return Info{ID: id, Form: form, Description: description, Protocols: []string{reply.Responses}}
}

func inEvents(id, form, description string, change func(r *reply.Reply) bool) Form {
	return inReply(inStream(onResponses(id, form, description)), change)
}

const (
	itemAdded = "response.output_item.added"
	itemDone  = "response.output_item.done"
	argsDelta = "response.function_call_arguments.delta"
	argsDone  = "response.function_call_arguments.done"
)

func typeOf(text string) string { return gjson.Get(text, "type").String() }

func endsResponse(text string) bool {
	switch typeOf(text) {
	case "response.completed", "response.incomplete":
		return true
	}
	return false
}

func ofCall(text string) bool {
	return gjson.Get(text, "item.type").String() == "function_call" || strings.HasPrefix(typeOf(text), "response.function_call_arguments.")
}

// eachOutput replaces each item of the final output by the result of f.
func eachOutput(text string, f func(item string) string) string {
	path := "response.output"
	switch {
	case gjson.Get(text, "output").IsArray():
		path = "output"
	case !endsResponse(text):
		return text
	}
	var items []string
	for _, item := range gjson.Get(text, path).Array() {
		items = append(items, f(item.Raw))
	}
	return reply.Put(text, path, "["+strings.Join(items, ",")+"]")
}

var responsesEndQuirks = []Form{
	{
		Info: onResponses("QR-07", "no-output", "the request is rejected as if it had a call without its output (SR-01)"),
		edit: refuseInput("No tool output found for function call "),
	},
	{
		Info: onResponses("QR-07", "no-call", "the request is rejected as if it had an output without its call (SR-02)"),
		edit: refuseInput("No tool call found for function call output with call_id "),
	},
	inEvents("QR-08", "failed", "response.failed replaces the end", func(r *reply.Reply) bool {
		return failResponse(r, "server_error", "The model had an error.", false)
	}),
	inEvents("QR-08", "error", "an error event replaces the end, followed by response.failed", func(r *reply.Reply) bool {
		return failResponse(r, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.", true)
	}),
}

// refuseInput returns the provider's error about the last result in the request.
func refuseInput(words string) func(p *reply.Response, r *reply.Reply) bool {
	return func(p *reply.Response, r *reply.Reply) bool {
		r.SetJSON(http.StatusBadRequest, openai.Error{Message: words + lastResult(p.Request) + ".", Type: "invalid_request_error", Param: "input"}.AppendJSON(nil))
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

// failResponse replaces the end by response.failed, and by an error event before it.
func failResponse(r *reply.Reply, code, message string, event bool) bool {
	at := slices.IndexFunc(r.Frames, func(f reply.Frame) bool { return endsResponse(string(f.Data)) })
	if at < 0 {
		return false
	}
	text := string(r.Frames[at].Data)
	body := `{"code":` + reply.Quote(code) + `,"message":` + reply.Quote(message) + `}`
	for _, m := range [][2]string{
		{"type", `"response.failed"`}, {"response.status", `"failed"`}, {"response.error", body}, {"response.completed_at", "null"}, {"response.usage", "null"},
	} {
		text = reply.Put(text, m[0], m[1])
	}
	end := []reply.Frame{reply.NewFrame("response.failed", text)}
	if event {
		body = reply.Put(reply.Put(body, "type", reply.Quote(code)), "param", "null")
		number := gjson.Get(text, "sequence_number").Raw
		end = append([]reply.Frame{reply.NewFrame("error", `{"type":"error","sequence_number":`+number+`,"error":`+body+`}`)}, end...)
	}
	r.Frames = append(r.Frames[:at], end...)
	return true
}
