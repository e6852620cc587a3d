package wire

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// responsesQuirks are those of OpenAI Responses and of what imitates it.
var responsesQuirks = slices.Concat(responsesItemQuirks, responsesArgsQuirks, responsesEndQuirks)

// onResponses describes a form.
func onResponses(id, form, says string) QuirkForm {
	return QuirkForm{ID: id, Form: form, Description: says, Protocols: []string{responses}}
}

// inEvents is a form that only streams show.
func inEvents(id, form, says string, change func(r *reply) bool) quirkForm {
	return inReply(inStream(onResponses(id, form, says)), change)
}

// The types of events.
const (
	itemAdded = "response.output_item.added"
	itemDone  = "response.output_item.done"
	argsDelta = "response.function_call_arguments.delta"
	argsDone  = "response.function_call_arguments.done"
)

func typeOf(text string) string { return gjson.Get(text, "type").String() }

// endsResponse reports whether an event ends the answer.
func endsResponse(text string) bool {
	switch typeOf(text) {
	case "response.completed", "response.incomplete":
		return true
	}
	return false
}

// ofCall reports whether an event, or an item, is of a call's item.
func ofCall(text string) bool {
	return gjson.Get(text, "item.type").String() == "function_call" || strings.HasPrefix(typeOf(text), "response.function_call_arguments.")
}

// eachOutput lets f change each item of the output that ends the answer, or is all of
// it.
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
	return put(text, path, "["+strings.Join(items, ",")+"]")
}
