package wire

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// strictResponses holds a request to the rules of Responses (SR-01 to SR-17).
func strictResponses(in inbound, body object) *refusal {
	model := body.get("model").text()
	items := objects(body.get("input"))
	past := in.past(model)
	return cmp.Or(
		unknownOpenAI(in, model),
		responsesFields(body),
		responsesTools(body.get("tools")),
		responsesItems(items),
		responsesPrevious(past, body),
		responsesRepeated(past, body, items),
		responsesKept(past, body, items),
		responsesReasoning(past, items),
		responsesOrder(past, body, items),
	)
}

func responsesFields(body object) *refusal {
	if body.get("tools").empty() {
		return nil // unlike Chat Completions
	}
	return cmp.Or(onlyWithTools("SO-12", body, "parallel_tool_calls"), onlyWithTools("SO-18", body, "tool_choice"))
}
