package quirk

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

var responsesItemQuirks = []Form{
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
	calls := scriptedCalls(t)
	for i := range calls {
		calls[i].Opaque = json.RawMessage(reply.Put("{}", "id", reply.Quote(ownID(p, "fc", i))))
	}
	t.Calls = calls
	return len(calls) > 0
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
func parallelCall(form, tool string) Form {
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
