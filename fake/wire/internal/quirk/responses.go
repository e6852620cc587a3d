package quirk

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
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

var responsesEndQuirks = []*Form{
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

var responsesItemQuirks = []*Form{
	responses.inResponse("QR-01", "", "the item of a call has an id of its own, which does not contain the call's id", ownIDs),
	responses.inResponse("QR-02", "encrypted", "encrypted reasoning with an empty summary comes before each call", thinkBeforeCalls(
		`{"id":%q,"encrypted_content":"gAAAAAB%d","summary":[]}`,
	)),
	responses.inResponse("QR-02", "summary", "reasoning that is not encrypted comes before each call, with a summary", thinkBeforeCalls(
		`{"id":%q,"summary":[{"type":"summary_text","text":"Now the call %d."}]}`,
	)),
	responses.inStream("QR-04", "", "calls begin and get their deltas, and nothing ends them but the end of the response", edited(func(text string) string {
		if ofCall(text) && strings.HasSuffix(typeOf(text), ".done") {
			return ""
		}
		return text
	})),
	responses.inStream("QR-09", "item_id", "item_id changes with every event of an item", edited(func(text string) string {
		id := gjson.Get(text, "item_id")
		if !id.Exists() {
			return text
		}
		return reply.Put(text, "item_id", reply.Quote(id.String()+"_"+gjson.Get(text, "sequence_number").Raw))
	})),
	responses.inStream("QR-09", "output_index", "output_index starts again at 0 while an item is open", allAtZero),
	responses.inStream("QR-10", "", "items were streamed, and the output at the end is empty", edited(func(text string) string {
		if !endsResponse(text) || len(gjson.Get(text, "response.output").Array()) == 0 {
			return text
		}
		return reply.Put(text, "response.output", "[]")
	})),
	parallelCall("parallel", "parallel"),
	parallelCall("multi", "multi_tool_use.parallel"),
}

func ownID(p *reply.Response, prefix string, n int) string {
	return prefix + "_" + p.Key.ID() + "_own" + strconv.Itoa(n)
}

func ownIDs(p *reply.Response, t *fake.Response) bool {
	t.Calls = scriptedCalls(t)
	return eachCall(t, func(i int, c *fake.Call) {
		c.Opaque = json.RawMessage(reply.Put("{}", "id", reply.Quote(ownID(p, "fc", i))))
	})
}

// thinkBeforeCalls inserts a reasoning item before each call, and writes the response as
// events. The item gets its id and its number.
func thinkBeforeCalls(item string) scriptEdit {
	return func(p *reply.Response, t *fake.Response) bool {
		if len(scriptedCalls(t)) == 0 {
			return false
		}
		content := *t
		content.Warnings, content.Usage, content.OmitFinish = nil, llm.Usage{}, true
		var events []llm.Event
		n := 0
		for _, ev := range content.StreamingEvents() {
			_, starts := ev.(llm.ToolCallStart)
			if done, ok := ev.(llm.PartDone); ok {
				c, isCall := done.Part.(llm.ToolCall)
				starts = isCall && !c.ProviderExecuted
			}
			if starts {
				opaque := fmt.Sprintf(item, ownID(p, "rs", n), n)
				text := gjson.Get(opaque, "summary.0.text").String()
				events = append(events, llm.ReasoningDelta{Text: text, Opaque: json.RawMessage(opaque)})
				n++
			}
			events = append(events, ev)
		}
		t.Events = events
		return true
	}
}

// allAtZero sets all indexes to 0 and omits the ends of all items except the last.
func allAtZero(r *reply.Reply) bool {
	last := int64(-1)
	for _, f := range r.Frames {
		if index := f.At("output_index"); index.Exists() {
			last = max(last, index.Int())
		}
	}
	return last > 0 && r.Edit(func(text string) string {
		index := gjson.Get(text, "output_index")
		switch {
		case !index.Exists():
			return text
		case index.Int() < last && strings.HasSuffix(typeOf(text), ".done"):
			return ""
		}
		return reply.Put(text, "output_index", "0")
	})
}

// parallelCall replaces the calls of a response by one call of an undeclared tool.
func parallelCall(form, tool string) *Form {
	description := "all calls of a response come as one call of the tool " + tool + ", which was never declared"
	return protocols{reply.Responses, reply.Chat}.inScript("QR-parallel", form, description, func(t *fake.Response) bool {
		calls := scriptedCalls(t)
		if len(calls) == 0 {
			return false
		}
		args := `{"tool_uses":[]}`
		for _, c := range calls {
			args = reply.Put(args, "tool_uses.-1", `{"recipient_name":`+reply.Quote("functions."+c.Name)+`,"parameters":`+wholeArguments(c)+`}`)
		}
		t.Calls = []fake.Call{{ID: calls[0].ID, Name: tool, Arguments: args}}
		return true
	})
}

// responsesArgumentQuirks edit the arguments, which a stream contains up to four times.
var responsesArgumentQuirks = []*Form{
	responses.inScript("QR-03", "incomplete", "the response is incomplete: its limit came within the arguments of the last call", truncateBy(llm.FinishLength)).and(edited(markTruncated)),
	responses.inScript("QR-03", "completed", "the response is completed, and truncated within the arguments of the last call", truncateBy(llm.FinishStop)).and(edited(markTruncated)),
	responses.inStream("QR-05", "delta", "the first delta of the arguments of each call is lost", func(r *reply.Reply) bool { return r.Edit(dropFirstDeltas()) }),
	responses.inStream("QR-05", "completed", "only the final output has truncated arguments", edited(truncateOutput)),
	responses.inStream("QR-05", "none", "a delta of the arguments is lost, and they are truncated in all other events", func(r *reply.Reply) bool {
		lose := dropFirstDeltas()
		return r.Edit(func(text string) string {
			switch typeOf(text) {
			case argsDelta:
				return lose(text)
			case argsDone:
				return truncateMember(text, "arguments")
			case itemDone:
				return truncateMember(text, "item.arguments")
			}
			return truncateOutput(text)
		})
	}),
	responses.inStream("QR-06", "arguments", "arguments come only in their own event", argumentsOnlyIn(argsDone, "arguments")),
	responses.inStream("QR-06", "item", "arguments come only with the end of their item", argumentsOnlyIn(itemDone, "item.arguments")),
}

func markTruncated(text string) string {
	return eachOutput(text, func(item string) string {
		if args := gjson.Get(item, "arguments"); !args.Exists() || isWhole(args.String()) {
			return item
		}
		return reply.Put(item, "status", `"incomplete"`)
	})
}

func dropFirstDeltas() func(text string) string {
	seen := map[string]bool{}
	return func(text string) string {
		index := gjson.Get(text, "output_index").Raw
		if typeOf(text) != argsDelta || seen[index] {
			return text
		}
		seen[index] = true
		return ""
	}
}

func truncateOutput(text string) string {
	return eachOutput(text, func(item string) string { return truncateMember(item, "arguments") })
}

func truncateMember(text, path string) string {
	args := gjson.Get(text, path).String()
	if len(args) < 2 {
		return text
	}
	return reply.Put(text, path, reply.Quote(truncateArguments(args)))
}

// argumentsOnlyIn empties the arguments everywhere except in events of one type.
func argumentsOnlyIn(kind, path string) edit {
	return func(r *reply.Reply) bool {
		args, whose := map[string]bool{}, map[string]bool{}
		for _, f := range r.Frames {
			if f.At("type").String() == kind {
				args[f.At(path).String()] = true
				whose[f.At("output_index").Raw] = true
			}
		}
		empty := func(text, path string) string {
			if found := gjson.Get(text, path); !found.Exists() || !args[found.String()] {
				return text
			}
			return reply.Put(text, path, `""`)
		}
		return r.Edit(func(text string) string {
			switch of := typeOf(text); {
			case of == kind:
				return text
			case of == itemDone && ofCall(text):
				return empty(text, "item.arguments")
			case (of == argsDelta || of == argsDone) && whose[gjson.Get(text, "output_index").Raw]:
				return ""
			}
			return eachOutput(text, func(item string) string { return empty(item, "arguments") })
		})
	}
}
