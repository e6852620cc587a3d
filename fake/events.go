package fake

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/fake/internal/yamlfile"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// shortEvents are the kinds of events with the short form {kind: members}.
var shortEvents = []string{
	"text_delta", "reasoning_delta", "tool_call_start", "tool_call_delta", "tool_call_end", "part", "usage", "warning", "finish",
}

// eventCodec is an event as JSON, which is an object with a type, or in its short form, a
// map of its kind to its members: {tool_call_end: {id: c1}}. The members of text_delta and
// reasoning_delta may be a string: {text_delta: hi}.
var eventCodec = yamlfile.Of(
	readEvent,
	func(ev llm.Event) *yaml.Node {
		if t, ok := ev.(llm.TextDelta); ok && !t.Refusal && t.Opaque == nil && utf8.ValidString(t.Text) {
			return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: []*yaml.Node{yamlfile.StringNode("text_delta"), yamlfile.StringNode(t.Text)}}
		}
		return yamlfile.JSONNode(llm.AppendEvent(nil, ev))
	},
	func(d yamlfile.Defs) yamlfile.Schema {
		props := yamlfile.Schema{}
		for _, k := range shortEvents {
			props[k] = yamlfile.Schema{"type": "object"}
		}
		props["text_delta"] = yamlfile.Schema{"type": []string{"string", "object"}}
		props["reasoning_delta"] = props["text_delta"]
		d["event"] = yamlfile.Schema{"anyOf": []any{
			yamlfile.Schema{"type": "object", "additionalProperties": false, "minProperties": 1, "maxProperties": 1, "properties": props},
			yamlfile.Schema{"type": "object", "required": []string{"type"}, "properties": yamlfile.Schema{"type": yamlfile.Schema{"type": "string"}}},
		}}
		return yamlfile.Schema{"$ref": "#/$defs/event"}
	},
)

func readEvent(r *yamlfile.Reader, n *yaml.Node) llm.Event {
	keys, values := r.Pairs(n, "an event")
	if n.Kind != yaml.MappingNode {
		return nil
	}
	renameMembers(r, n, "")
	var text []byte
	known := true
	switch at := slices.IndexFunc(keys, func(k *yaml.Node) bool { return k.Value == "type" }); {
	case at >= 0:
		text = r.JSON(nil, n)
		known = slices.Contains(shortEvents, values[at].Value)
	case len(keys) != 1:
		r.Errorf(n, "expected an event, which has a type or is a map of one kind to its members: want one of %v", shortEvents)
		return nil
	case !slices.Contains(shortEvents, keys[0].Value):
		r.Unknown(keys[0], "kind of event", shortEvents)
		return nil
	default:
		text = shortEvent(r, keys[0].Value, values[0])
	}
	if len(r.Errs) > 0 {
		return nil
	}
	ev, err := llm.UnmarshalEvent(text)
	if err != nil {
		r.Errorf(n, "invalid event: %v", err)
		return nil
	}
	if known {
		checkMembers(r, n, text, ev)
	}
	return ev
}

// shortEvent returns the JSON of an event in the short form.
func shortEvent(r *yamlfile.Reader, kind string, n *yaml.Node) []byte {
	dst := jsonio.AppendString([]byte(`{"type":`), kind)
	switch {
	case n.Kind == yaml.ScalarNode && (kind == "text_delta" || kind == "reasoning_delta"):
		return append(jsonio.AppendString(append(dst, `,"text":`...), yamlfile.ReadText(r, n)), '}')
	case n.Kind != yaml.MappingNode:
		r.Errorf(n, "expected the members of %s, found %s", kind, yamlfile.DescribeNode(n))
	case kind == "part":
		return append(r.JSON(append(dst, `,"part":`...), n), '}')
	case len(n.Content) > 0:
		return append(append(dst, ','), r.JSON(nil, n)[1:]...)
	}
	return append(dst, '}')
}

// checkMembers reports the members of an event that have no effect on it.
func checkMembers(r *yamlfile.Reader, n *yaml.Node, text []byte, ev llm.Event) {
	var gave map[string]json.RawMessage
	_ = json.Unmarshal(text, &gave) // an object, since ev was read from it
	has := llm.AppendEvent(nil, ev)
	for _, k := range slices.Sorted(maps.Keys(gave)) {
		if k == "type" || slices.Contains([]string{`""`, "0", "false", "null", "{}"}, string(gave[k])) {
			continue
		}
		without := maps.Clone(gave)
		delete(without, k)
		rest, _ := json.Marshal(without)
		if other, err := llm.UnmarshalEvent(rest); err == nil && bytes.Equal(has, llm.AppendEvent(nil, other)) {
			r.Errorf(n, "an event %s has no member %q, or not with this value", gave["type"], k)
		}
	}
}
