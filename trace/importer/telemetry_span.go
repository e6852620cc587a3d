package importer

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/looptape/looptape/llm"
)

// spanEvent is an event of a span.
type spanEvent struct {
	name       string
	attributes map[string]json.RawMessage
}

// attributesOf reads attributes of OTLP.
func attributesOf(list json.RawMessage) map[string]json.RawMessage {
	attributes := map[string]json.RawMessage{}
	for _, a := range elementsOf(list) {
		attributes[scalar(memberOf(a, "key"))] = anyValue(memberOf(a, "value"), 0)
	}
	return attributes
}

// anyValue turns an AnyValue of OTLP into plain JSON, at a depth. What is nested deeper
// than anything sensible stays as it is.
func anyValue(raw json.RawMessage, depth int) json.RawMessage {
	const deepest = 32
	if isNull(raw) || depth > deepest {
		return json.RawMessage(cmp.Or(string(raw), "null"))
	}
	for kind, value := range membersOf(raw) {
		switch kind {
		case "arrayValue":
			b := []byte("[")
			for n, element := range elementsOf(memberOf(value, "values")) {
				if n > 0 {
					b = append(b, ',')
				}
				b = append(b, anyValue(element, depth+1)...)
			}
			return append(b, ']')
		case "kvlistValue":
			var object opaque
			for _, member := range elementsOf(memberOf(value, "values")) {
				object.raw(scalar(memberOf(member, "key")), string(anyValue(memberOf(member, "value"), depth+1)))
			}
			return json.RawMessage(cmp.Or(string(object.json()), "{}"))
		default:
			return value
		}
	}
	return raw
}

// tagsOf reads tags of Jaeger.
func tagsOf(list json.RawMessage) map[string]json.RawMessage {
	tags := map[string]json.RawMessage{}
	for _, tag := range elementsOf(list) {
		if value := memberOf(tag, "value"); value != nil {
			tags[scalar(memberOf(tag, "key"))] = value
		}
	}
	return tags
}

// spoken is what a span says of a call of a model: in its attributes, or in its events.
type spoken struct {
	conv       conversation
	attributes map[string]json.RawMessage
	events     []spanEvent
}

// forms are the ways to say it, the best one first.
var forms = []func(*spoken) (asked, output []llm.Message){
	(*spoken).standard, (*spoken).byEvents, (*spoken).indexed, (*spoken).vertex,
}

// callOf reads a call of a model. What the span of an agent says counts only where there
// are no spans of calls.
func callOf(attributes map[string]json.RawMessage, events []spanEvent) (c modelCall, ok bool) {
	for form, read := range forms {
		s := spoken{attributes: attributes, events: events}
		c.asked, c.output = read(&s)
		if len(c.asked) == 0 && len(c.output) == 0 {
			continue
		}
		c.form = form
		switch scalar(attributes["gen_ai.operation.name"]) {
		case "invoke_agent", "create_agent", "invoke_workflow", "execute_tool":
			c.form += len(forms)
		}
		c.scores = evaluations(events)
		c.attributes = map[string]json.RawMessage{}
		for name, value := range attributes {
			if !isSpoken(name) {
				c.attributes[name] = value
			}
		}
		return c, true
	}
	return c, false
}

// isSpoken reports whether an attribute is part of the messages.
func isSpoken(name string) bool {
	switch name {
	case inputMessages, outputMessages, systemInstructions, vertexRequest, vertexResponse:
		return true
	}
	indexed := strings.HasPrefix(name, "gen_ai.prompt.") || strings.HasPrefix(name, "gen_ai.completion.")
	return indexed && !strings.HasSuffix(name, ".finish_reason")
}

// evaluations returns the scores that events tell
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-events/).
func evaluations(events []spanEvent) (scores []Score) {
	for _, e := range events {
		value := e.attributes["gen_ai.evaluation.score.value"]
		if e.name == "gen_ai.evaluation.result" && !isNull(value) {
			scores = append(scores, scoreOf(scalar(e.attributes["gen_ai.evaluation.name"]), value))
		}
	}
	return scores
}
