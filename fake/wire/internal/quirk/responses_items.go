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
	{
		Info:   onResponses("QR-01", "", "the item of a call has an id of its own, which does not contain the call's id"),
		script: ownIDs,
	},
	{
		Info: onResponses("QR-02", "encrypted", "encrypted reasoning with an empty summary comes before each call"),
		script: func(p *reply.Response, t *fake.Response) bool {
			return thinkBeforeCalls(t, func(n int) string {
				return fmt.Sprintf(`{"id":%q,"encrypted_content":"gAAAAAB%d","summary":[]}`, ownID(p, "rs", n), n)
			})
		},
	},
	{
		Info: onResponses("QR-02", "summary", "reasoning that is not encrypted comes before each call, with a summary"),
		script: func(p *reply.Response, t *fake.Response) bool {
			return thinkBeforeCalls(t, func(n int) string {
				return fmt.Sprintf(`{"id":%q,"summary":[{"type":"summary_text","text":"Now the call %d."}]}`, ownID(p, "rs", n), n)
			})
		},
	},
	inEvents("QR-04", "", "calls begin and get their deltas, and nothing ends them but the end of the response", func(r *reply.Reply) bool {
		return r.Edit(func(text string) string {
			if ofCall(text) && strings.HasSuffix(typeOf(text), ".done") {
				return ""
			}
			return text
		})
	}),
	inEvents("QR-09", "item_id", "item_id changes with every event of an item", func(r *reply.Reply) bool {
		return r.Edit(func(text string) string {
			id := gjson.Get(text, "item_id")
			if !id.Exists() {
				return text
			}
			return reply.Put(text, "item_id", reply.Quote(id.String()+"_"+gjson.Get(text, "sequence_number").Raw))
		})
	}),
	inEvents("QR-09", "output_index", "output_index starts again at 0 while an item is open", allAtZero),
	inEvents("QR-10", "", "items were streamed, and the output at the end is empty", func(r *reply.Reply) bool {
		return r.Edit(func(text string) string {
			if !endsResponse(text) || len(gjson.Get(text, "response.output").Array()) == 0 {
				return text
			}
			return reply.Put(text, "response.output", "[]")
		})
	}),
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
// events.
func thinkBeforeCalls(t *fake.Response, item func(n int) string) bool {
	if len(scriptedCalls(t)) == 0 {
		return false
	}
	content := *t
	content.Warnings, content.Usage, content.OmitFinish = nil, llm.Usage{}, true
	var events []llm.Event
	n := 0
	think := func() {
		opaque := item(n)
		text := gjson.Get(opaque, "summary.0.text").String()
		events = append(events, llm.ReasoningDelta{Text: text, Opaque: json.RawMessage(opaque)})
		n++
	}
	for _, ev := range content.StreamingEvents() {
		switch ev := ev.(type) {
		case llm.ToolCallStart:
			think()
		case llm.PartDone:
			if c, ok := ev.Part.(llm.ToolCall); ok && !c.ProviderExecuted {
				think()
			}
		default:
		}
		events = append(events, ev)
	}
	t.Events = events
	return true
}

// allAtZero sets all indexes to 0 and omits the ends of all items except the last.
func allAtZero(r *reply.Reply) bool {
	last := int64(-1)
	for _, f := range r.Frames {
		if index := gjson.GetBytes(f.Data, "output_index"); index.Exists() {
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
	f := onResponses("QR-parallel", form, "all calls of a response come as one call of the tool "+tool+", which was never declared")
	f.Protocols = []string{reply.Responses, reply.Chat}
	return inScript(f, func(t *fake.Response) bool {
		calls := scriptedCalls(t)
		if len(calls) == 0 {
			return false
		}
		args := `{"tool_uses":[]}`
		for _, c := range calls {
			parameters := c.Arguments
			if !isWhole(parameters) {
				parameters = "{}"
			}
			args = reply.Put(args, "tool_uses.-1", `{"recipient_name":`+reply.Quote("functions."+c.Name)+`,"parameters":`+parameters+`}`)
		}
		t.Calls = []fake.Call{{ID: calls[0].ID, Name: tool, Arguments: args}}
		return true
	})
}
