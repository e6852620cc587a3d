package body

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/looptape/looptape/internal/eventstream"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// ServerSentEvents returns a stream of Amazon Bedrock as the server-sent events that it carries: the
// payload of each message is the event of another provider, in base64.
func ServerSentEvents(stream []byte) ([]byte, error) {
	var out []byte
	for ev, err := range eventstream.Events(stream) {
		if err != nil {
			return nil, err
		}
		var payload struct{ Bytes []byte }
		if err := json.Unmarshal(ev.Payload, &payload); err != nil || ev.Type != "event" || ev.Name != "chunk" {
			return nil, fmt.Errorf("unexpected %s %q in the event stream: %s%.200q", ev.Type, ev.Name, ev.Message, ev.Payload)
		}
		out = fmt.Appendf(out, "event: %s\ndata: %s\n\n", tree.Scalar(payload.Bytes, "type"), payload.Bytes)
	}
	return out, nil
}

// converseBlock is a ContentBlock of a stream.
type converseBlock struct {
	start                             json.RawMessage // of a call or a result
	text, reasoning, signature, input strings.Builder
	redacted                          json.RawMessage
	others                            tree.Object
	results                           []string
}

// converseStream reads
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html, also with one event
// per line, as an object whose only member has the name of the event.
func converseStream(stream []byte) (*llm.Response, error) {
	var whole tree.Object
	var blocks []*converseBlock
	var unknown []llm.Unknown
	ended := false
	for ev, err := range converseEvents(stream) {
		switch {
		case err != nil:
			return nil, err
		case ev.Type != "event":
			return nil, &llm.APIError{Provider: "bedrock-converse", Status: 200, Code: ev.Name, Message: ev.Message + string(ev.Payload)}
		case !jsonio.ValidSyntax(ev.Payload):
			return nil, fmt.Errorf("the payload of the event %q is not JSON", ev.Name)
		}
		switch n := int(number(ev.Payload, "contentBlockIndex")); ev.Name {
		case "messageStart", "contentBlockStop":
		case "contentBlockStart", "contentBlockDelta":
			if n < 0 || n > len(blocks) {
				return nil, fmt.Errorf("a content block of the stream has the index %d, after %d blocks", n, len(blocks))
			}
			if n == len(blocks) {
				blocks = append(blocks, &converseBlock{})
			}
			blocks[n].add(tree.Member(ev.Payload, "start"), tree.Member(ev.Payload, "delta"))
		case "messageStop":
			ended = true
			whole.Add("stopReason", tree.Member(ev.Payload, "stopReason"))
		case "metadata":
			whole.Add("usage", tree.Member(ev.Payload, "usage"))
		default:
			unknown = append(unknown, llm.Unknown{Kind: ev.Name, Raw: ev.Payload})
		}
	}
	if !ended {
		return nil, protocol.ErrTruncated
	}
	var content []string
	for _, b := range blocks {
		content = append(content, string(b.json()))
	}
	whole.Raw("output", `{"message":{"role":"assistant","content":[`+strings.Join(content, ",")+`]}}`)
	r, err := converseResponse(whole.JSON())
	if r != nil {
		r.UnknownEvents = unknown
	}
	return r, err
}

// converseEvents yields the events of a stream.
func converseEvents(stream []byte) iter.Seq2[eventstream.Event, error] {
	if bytes.HasPrefix(stream, []byte{0}) { // of the length of a binary message
		return eventstream.Events(stream)
	}
	return func(yield func(eventstream.Event, error) bool) {
		for data := range eventData(stream) { // which the blocks keep
			for name, payload := range tree.Members(bytes.Clone(data)) {
				ev := eventstream.Event{Type: "event", Name: name, Payload: payload}
				if strings.HasSuffix(name, "Exception") {
					ev.Type = "exception"
				}
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
}

func (b *converseBlock) add(start, delta json.RawMessage) {
	if start != nil {
		b.start = start
	}
	for kind, value := range tree.Members(delta) {
		switch kind {
		case "text":
			b.text.WriteString(tree.Scalar(value))
		case "toolUse":
			b.input.WriteString(tree.Scalar(value, "input"))
		case "toolResult":
			for _, part := range tree.Elements(value) {
				b.results = append(b.results, string(part))
			}
		case "reasoningContent":
			b.reasoning.WriteString(tree.Scalar(value, "text"))
			b.signature.WriteString(tree.Scalar(value, "signature"))
			if redacted := tree.Member(value, "redactedContent"); redacted != nil {
				b.redacted = redacted
			}
		default:
			b.others.Add(kind, value)
		}
	}
}

// json returns the block as in a response that is not a stream.
func (b *converseBlock) json() json.RawMessage {
	var out tree.Object
	begun := func(kind, member, value string) bool {
		start := tree.Member(b.start, kind)
		if start == nil {
			return false
		}
		var o tree.Object
		for key, value := range tree.Members(start) {
			o.Add(key, value)
		}
		o.Raw(member, value)
		out.Add(kind, o.JSON())
		return true
	}
	switch {
	case begun("toolUse", message.StreamedInput, string(jsonio.AppendString(nil, b.input.String()))):
	case begun("toolResult", "content", "["+strings.Join(b.results, ",")+"]"):
	case b.redacted != nil || b.reasoning.Len() > 0 || b.signature.Len() > 0:
		var text, o tree.Object
		o.Add("redactedContent", b.redacted)
		if b.reasoning.Len() > 0 || b.signature.Len() > 0 {
			text.Text("text", b.reasoning.String())
			text.Text("signature", b.signature.String())
			o.Add("reasoningText", text.JSON())
		}
		out = b.others
		out.Add("reasoningContent", o.JSON())
	default:
		out = b.others
		out.Text("text", b.text.String())
	}
	return out.JSON()
}
