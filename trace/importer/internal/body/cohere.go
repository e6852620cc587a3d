package body

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// cohereRequest reads a list of messages in the form of Cohere.
func cohereRequest(raw json.RawMessage, req *llm.Request) (err error) {
	messages := tree.Member(raw, "messages")
	if len(messages) > 0 && messages[0] == '[' {
		var plain tree.List
		for _, m := range tree.Elements(messages) {
			plain.Add(cohereMessage(m))
		}
		messages = plain.JSON()
	}
	req.Messages, err = list(messages)
	return err
}

// cohereMessage returns a message with the thinking among its content as reasoning, as Chat Completions
// have it. Other messages are returned as they are.
func cohereMessage(m json.RawMessage) json.RawMessage {
	var thinking strings.Builder
	var content tree.List
	for _, part := range tree.Elements(m, "content") {
		if text, ok := tree.Text(part, "thinking"); ok && tree.Scalar(part, "type") == "thinking" {
			thinking.WriteString(text)
		} else {
			content.Add(part)
		}
	}
	if thinking.Len() == 0 {
		return m
	}
	var plain tree.Object
	for name, value := range tree.Members(m) {
		text, isText := tree.Text(value)
		switch {
		case name == "content":
			plain.Add(name, content.JSON())
		case name == "tool_plan" && isText:
			thinking.WriteString(text)
		default:
			plain.Add(name, value)
		}
	}
	plain.Text("reasoning_content", thinking.String())
	return plain.JSON()
}

// cohereResponse reads https://docs.cohere.com/reference/chat, version 2.
func cohereResponse(raw json.RawMessage) (*llm.Response, error) {
	parts, opaque, err := assistant(cohereMessage(tree.Member(raw, "message")))
	if err != nil {
		return nil, err
	}
	tokens := tree.Member(raw, "usage", "tokens")
	r := &llm.Response{Parts: parts, Opaque: tree.Without(opaque, "citations"), ResponseID: tree.Scalar(raw, "id"), RawFinishReason: tree.Scalar(raw, "finish_reason")}
	r.FinishReason = finishReasons[strings.ToLower(r.RawFinishReason)]
	r.Usage = llm.Usage{InputTokens: number(tokens, "input_tokens"), OutputTokens: number(tokens, "output_tokens"), CacheReadInputTokens: number(raw, "usage", "cached_tokens")}
	if strings.HasPrefix(r.RawFinishReason, "ERROR") || r.RawFinishReason == "TIMEOUT" {
		return r, &llm.APIError{Provider: "cohere-chat", Status: http.StatusOK, Code: r.RawFinishReason, Message: cmp.Or(tree.String(raw, "error"), "the response ended with an error")}
	}
	return finished(r, tree.Member(raw, "message") != nil)
}

// cohereBlock is a block of the content of a stream, or a call.
type cohereBlock struct {
	kind      string // text, thinking or call
	start     json.RawMessage
	arguments strings.Builder
	text      strings.Builder
}

// cohereStream reads https://docs.cohere.com/v2/docs/streaming.
func cohereStream(text []byte) (*llm.Response, error) {
	var whole tree.Object
	var blocks []*cohereBlock
	var open *cohereBlock
	var plan strings.Builder
	var unknown []llm.Unknown
	ended := false
	next, _ := events(text)
	for n := 1; ; n++ {
		ev, err := next()
		if errors.Is(err, io.EOF) || string(ev.Data) == "[DONE]" {
			break
		}
		if err == nil && !jsonio.ValidSyntax(ev.Data) {
			err = errors.New("the data is not JSON")
		}
		if err != nil {
			return nil, fmt.Errorf("event %d of the stream: %w", n, err)
		}
		data := json.RawMessage(strings.Clone(jsonio.View(ev.Data)))
		m := tree.Member(data, "delta", "message")
		switch kind := tree.Scalar(data, "type"); kind {
		case "message-start":
			whole.Add("id", tree.Member(data, "id"))
		case "content-start":
			open = &cohereBlock{kind: tree.Scalar(m, "content", "type")}
			blocks = append(blocks, open)
			open.add(m)
		case "tool-call-start":
			open = &cohereBlock{kind: "call", start: tree.Member(m, "tool_calls")}
			blocks = append(blocks, open)
			open.add(m)
		case "content-delta", "tool-call-delta":
			if open == nil {
				return nil, fmt.Errorf("event %d of the stream: a delta without a start", n)
			}
			open.add(m)
		case "tool-plan-delta":
			plan.WriteString(tree.Scalar(m, "tool_plan"))
		case "content-end", "tool-call-end", "citation-start", "citation-end", "debug": // see Other
		case "message-end":
			ended = true
			whole.Add("finish_reason", tree.Member(data, "delta", "finish_reason"))
			whole.Add("usage", tree.Member(data, "delta", "usage"))
			whole.Add("error", tree.Member(data, "delta", "error"))
		default:
			unknown = append(unknown, llm.Unknown{Kind: kind, Raw: data})
		}
	}
	if !ended {
		return nil, protocol.ErrTruncated
	}
	whole.Add("message", cohereAssistant(blocks, plan.String()))
	r, err := cohereResponse(whole.JSON())
	if r != nil {
		r.UnknownEvents = unknown
	}
	return r, err
}

func (b *cohereBlock) add(m json.RawMessage) {
	b.text.WriteString(tree.Scalar(m, "content", b.kind))
	b.arguments.WriteString(tree.Scalar(m, "tool_calls", "function", "arguments"))
}

// cohereAssistant returns the message of a response that is not a stream.
func cohereAssistant(blocks []*cohereBlock, plan string) json.RawMessage {
	var m tree.Object
	var content, calls tree.List
	for _, b := range blocks {
		var o tree.Object
		if b.kind != "call" {
			o.Text("type", b.kind)
			o.Text(b.kind, b.text.String())
			content.Add(o.JSON())
			continue
		}
		var f tree.Object
		f.Add("name", tree.Member(b.start, "function", "name"))
		f.Text("arguments", b.arguments.String())
		o.Add("id", tree.Member(b.start, "id"))
		o.Add("type", tree.Member(b.start, "type"))
		o.Add("function", f.JSON())
		calls.Add(o.JSON())
	}
	m.Text("role", "assistant")
	if plan != "" {
		m.Text("tool_plan", plan)
	}
	if content != nil {
		m.Add("content", content.JSON())
	}
	if calls != nil {
		m.Add("tool_calls", calls.JSON())
	}
	return m.JSON()
}
