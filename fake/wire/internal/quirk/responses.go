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

const (
	itemAdded = "response.output_item.added"
	itemDone  = "response.output_item.done"
	argsDelta = "response.function_call_arguments.delta"
	argsDone  = "response.function_call_arguments.done"
)

func typeOf(text string) string { return gjson.Get(text, "type").String() }

func endsResponse(text string) bool {
	kind := typeOf(text)
	return kind == "response.completed" || kind == "response.incomplete"
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
	responses.inReply("QR-07", "no-output", "the request is rejected as if it had a call without its output (SR-01)", refuseInput("No tool output found for function call ")),
	responses.inReply("QR-07", "no-call", "the request is rejected as if it had an output without its call (SR-02)", refuseInput("No tool call found for function call output with call_id ")),
	responses.inStream("QR-08", "failed", "response.failed replaces the end", failResponse("server_error", "The model had an error.", false)),
	responses.inStream("QR-08", "error", "an error event replaces the end, followed by response.failed", failResponse(
		"insufficient_quota", "You exceeded your current quota, please check your plan and billing details.", true,
	)),
}

// refuseInput returns the provider's error about the last result in the request.
func refuseInput(words string) edit {
	return func(r *reply.Reply) bool {
		e := openai.Error{Message: words + lastResult(r.Request) + ".", Type: reply.InvalidRequest, Param: "input"}
		r.SetJSON(http.StatusBadRequest, e.AppendJSON(nil))
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
func failResponse(code, message string, event bool) edit {
	return func(r *reply.Reply) bool {
		at := slices.IndexFunc(r.Frames, func(f reply.Frame) bool { return endsResponse(string(f.Data)) })
		if at < 0 {
			return false
		}
		end := reply.Frame{Name: "response.failed", Data: r.Frames[at].Data}
		r.Frames = r.Frames[:at]
		body := `{"code":` + reply.Quote(code) + `,"message":` + reply.Quote(message) + `}`
		if event {
			number := end.At("sequence_number").Raw
			other := reply.Put(reply.Put(body, "type", reply.Quote(code)), "param", "null")
			r.Frames = append(r.Frames, reply.NewFrame("error", `{"type":"error","sequence_number":`+number+`,"error":`+other+`}`))
		}
		end.Put("type", `"response.failed"`)
		end.Put("response.status", `"failed"`)
		end.Put("response.error", body)
		end.Put("response.completed_at", "null")
		end.Put("response.usage", "null")
		r.Frames = append(r.Frames, end)
		return true
	}
}
