// Package body reads the bodies of requests to models and of their responses, in the protocols of
// package providers and in protocols that looptape only reads: Bedrock Converse, Cohere, Ollama
// and Completions.
package body

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Protocol reads a protocol. The codec of a protocol that looptape only reads encodes nothing:
// only its methods Name and DecodeRequest may be used.
type Protocol struct {
	protocol.Protocol

	path string // for the codec of package providers
	// isRequest and isResponse recognize a body by the names of its members.
	isRequest, isResponse func(has Has) bool
	// response and stream read a response; nil for a protocol of package providers.
	response func(body json.RawMessage) (*llm.Response, error)
	stream   func(body []byte) (*llm.Response, error)
}

// Has reports whether an object has any of the members.
type Has func(names ...string) bool

// protocols is the table of protocols. The first one that recognizes a body reads it.
var protocols = []*Protocol{
	{
		Protocol: responses.Protocol{}, path: "/responses",
		isRequest:  func(has Has) bool { return has("input") && has("model") },
		isResponse: func(has Has) bool { return has("object") && has("output") && has("status", "incomplete_details") },
	},
	{
		Protocol: gemini.GenerateContent{}, path: "/models/x:generateContent",
		isRequest:  func(has Has) bool { return has("contents") },
		isResponse: func(has Has) bool { return has("candidates", "promptFeedback") },
	},
	{
		Protocol: reader{name: "bedrock-converse", request: converseRequest}, response: converseResponse, stream: converseStream,
		isRequest:  func(has Has) bool { return has("messages") && has("inferenceConfig", "toolConfig", "modelId") },
		isResponse: func(has Has) bool { return has("output") && has("stopReason") },
	},
	{
		Protocol: anthropic.Messages{}, path: "/v1/messages",
		isRequest:  func(has Has) bool { return has("messages") && has("system", "anthropic_version") && has("max_tokens") },
		isResponse: func(has Has) bool { return has("content") && has("role") && has("stop_reason") },
	},
	{
		Protocol: reader{name: "ollama-chat", request: listRequest}, response: ollamaResponse, stream: ollamaStream,
		isRequest:  never,
		isResponse: func(has Has) bool { return has("message") && has("done") },
	},
	{
		Protocol: reader{name: "cohere-chat", request: cohereRequest}, response: cohereResponse, stream: cohereStream,
		isRequest:  never,
		isResponse: func(has Has) bool { return has("message") && has("finish_reason") },
	},
	{
		Protocol: chat.Protocol{}, path: "/chat/completions",
		isRequest:  never,                                                                             // a list of messages, which package format reads
		isResponse: func(has Has) bool { return has("choices") && (!has("prompt") || has("object")) }, // Together has the prompt, too
	},
	{
		Protocol: reader{name: "openai-completions", request: promptRequest}, response: completion,
		isRequest:  func(has Has) bool { return has("prompt") && has("model") && has("max_tokens", "temperature", "stream") },
		isResponse: never,
	},
}

func never(Has) bool { return false }

// Request reads a request if a protocol recognizes its members; else it returns nil for both.
func Request(raw json.RawMessage) (*llm.Request, error) {
	has := members(raw)
	p := find(func(p *Protocol) bool { return p.isRequest(has) })
	if p == nil {
		return nil, nil
	}
	req, err := p.DecodeRequest(p.path, raw)
	if req != nil {
		err = cmp.Or(err, Complete(p, raw, req))
	}
	return req, err
}

// Complete corrects the calls and results of a request, whose body this is, as looptape checks them;
// see [message.ClientCalls] and [message.KeepIDs]. It returns the errors of [Check].
func Complete(p protocol.Protocol, raw json.RawMessage, req *llm.Request) error {
	if p.Name() == "gemini" {
		message.KeepIDs(raw, req.Messages)
	}
	req.Messages = message.ClientCalls(req.Messages)
	return cmp.Or(Check(p, raw), checkArguments(p, raw, req.Messages))
}

// checkArguments returns an error for a call of Gemini or Anthropic whose arguments are not an object, which
// these refuse (anthropic-sdk-typescript#648). Those of a response are what the model sent; those of other
// protocols are a text of the model, or the server completes them.
func checkArguments(p protocol.Protocol, raw json.RawMessage, messages []llm.Message) error {
	isAnthropic := p.Name() == "anthropic-messages"
	if !isAnthropic && p.Name() != "gemini" {
		return nil
	}
	for i, m := range messages {
		for _, call := range m.Calls() {
			if (isAnthropic || call.Arguments != "null") && !jsonio.IsObject(call.Arguments) {
				return argumentsError(i, call.Name)
			}
		}
	}
	if !isAnthropic || !notObject.Match(raw) {
		return nil
	}
	// The codec reads an object in a string.
	for i, m := range tree.Elements(tree.Member(raw, "messages")) {
		if name, found := message.WithoutInput(m); found {
			return argumentsError(i, name)
		}
	}
	return nil
}

func argumentsError(i int, tool string) error {
	return fmt.Errorf("message %d: "+message.NotObject, i, tool)
}

// notObject finds a member named input that is a string.
var notObject = regexp.MustCompile(`"input"\s*:\s*"`)

// Response reads a response if a protocol recognizes its members; else it returns nil for both.
func Response(raw json.RawMessage) (*llm.Response, error) {
	has := members(raw)
	p := find(func(p *Protocol) bool { return p.isResponse(has) })
	if p == nil {
		return nil, nil
	}
	if first := tree.Element(tree.Member(raw, "choices"), "0"); tree.Member(first, "text") != nil && tree.First(first, messageMembers...) == nil {
		p = byName("openai-completions")
	}
	return p.decode(raw)
}

// messageMembers are the members with the message of a choice of Chat Completions.
var messageMembers = []string{"message", "delta"}

// Is reports whether a protocol recognizes a body by its members.
func Is(has Has) bool { return ofBody(has) != nil }

// HasContent reports whether a body is a response with content, of another protocol than Responses, whose responses may
// come later.
func HasContent(raw json.RawMessage) bool {
	has := members(raw)
	if p := find(func(p *Protocol) bool { return p.isResponse(has) }); p == nil || p.Name() == "openai-responses" {
		return false
	}
	r, err := Response(raw)
	return err == nil && len(r.Parts) > 0
}

// Name returns the name of the protocol that recognizes a body; empty if it is none.
func Name(raw json.RawMessage) string {
	if p := ofBody(members(raw)); p != nil {
		return p.Name()
	}
	return ""
}

func ofBody(has Has) *Protocol {
	return find(func(p *Protocol) bool { return p.isRequest(has) || p.isResponse(has) })
}

// byName returns the protocol with a name; nil if there is none.
func byName(name string) *Protocol {
	return find(func(p *Protocol) bool { return p.Name() == name })
}

// find returns the first protocol that is one of those wanted; nil if none is.
func find(is func(*Protocol) bool) *Protocol {
	if i := slices.IndexFunc(protocols, is); i >= 0 {
		return protocols[i]
	}
	return nil
}

func members(raw json.RawMessage) Has {
	var keys []string
	for key, value := range tree.Members(raw) {
		if !tree.IsNull(value) && (key != "contents" || !isResource(tree.Element(value, "0"))) {
			keys = append(keys, key)
		}
	}
	return func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(keys, name) })
	}
}

// isResource reports whether an element of contents is one of a resource in the Model Context Protocol, and no
// content of Gemini (https://modelcontextprotocol.io/specification/2025-06-18/server/resources).
func isResource(element json.RawMessage) bool {
	return tree.Member(element, "uri") != nil && tree.First(element, "parts", "role") == nil
}

// checked are the members, by protocol, that Check looks at.
var checked = map[string][]string{"gemini": {"candidates"}, "openai-chat": {"choices", "messages"}, "openai-responses": {"input", "output", "status"}}

// onceMembers are members with messages, which a body cannot have twice: readers of JSON take the first, the
// last or both.
var onceMembers = []string{"messages", "contents", "input", "choices", "candidates", "output", "content"}

// Check returns an error if a codec of package providers, which is tolerant, would read an item or a
// call in a body only in part, and for a response of Responses that is not there yet.
func Check(p protocol.Protocol, text []byte) error {
	d := jsonio.NewValidDec(jsonio.View(text))
	if d.Peek() != '{' {
		return nil
	}
	found, lists := map[string]json.RawMessage{}, map[string]bool{}
	for name := range d.Members() {
		value := tree.Next(text, &d)
		if slices.Contains(checked[p.Name()], name) && (name != "messages" || bytes.Contains(value, []byte(`"function_call"`))) {
			found[name] = value
		}
		if slices.Contains(onceMembers, name) {
			if lists[name] {
				return fmt.Errorf("the body has two members %q", name)
			}
			lists[name] = true
		}
	}
	if len(found) == 0 || !jsonio.ValidSyntax(text) {
		return nil
	}
	switch p.Name() {
	case "gemini":
		return checkCandidate(tree.Element(found["candidates"], "0"))
	case "openai-chat":
		m := tree.Member(tree.Element(found["choices"], "0"), "message")
		if content := tree.Member(m, "content"); !tree.IsNull(content) && content[0] != '[' && content[0] != '"' {
			return errors.New("choices[0].message.content: expected a string or a list of parts")
		}
		for n, call := range tree.Elements(m, "tool_calls") {
			for _, path := range [][]string{{"id"}, {"function", "name"}} {
				if value := tree.Member(call, path...); !tree.IsNull(value) && !tree.IsText(value) {
					return fmt.Errorf("choices[0].message.tool_calls[%d].%s: expected a string", n, strings.Join(path, "."))
				}
			}
		}
		return checkFunctions(found["messages"])
	case "openai-responses":
		if status := tree.String(found["status"]); found["output"] != nil && (status == "queued" || status == "in_progress") {
			return fmt.Errorf("the response has the status %q, and its content comes with a later response", status)
		}
		for _, name := range checked[p.Name()] {
			for n, item := range tree.Elements(found[name]) {
				if err := message.CheckItem(item); err != nil {
					return fmt.Errorf("%s[%d]%s: %s", name, n, err.Path, err.Msg)
				}
			}
		}
	}
	return nil
}

// checkFunctions returns an error for a function_call of a request that is no object, or has a name that is no string.
func checkFunctions(messages json.RawMessage) error {
	for n, m := range tree.Elements(messages) {
		call := tree.Member(m, "function_call")
		switch name := tree.Member(call, "name"); {
		case tree.IsNull(call):
		case call[0] != '{':
			return fmt.Errorf("messages[%d].function_call: expected an object", n)
		case !tree.IsText(name):
			return fmt.Errorf("messages[%d].function_call.name: expected a string", n)
		}
	}
	return nil
}

// checkCandidate returns an error for a call without a name.
func checkCandidate(candidate json.RawMessage) error {
	for n, part := range tree.Elements(candidate, "content", "parts") {
		call := tree.Field(part, "function_call")
		if call != nil && tree.Scalar(tree.Field(call, "name")) == "" {
			return fmt.Errorf("candidates[0].content.parts[%d]: the call has no name", n)
		}
	}
	return nil
}

// ByPath returns the protocol that looptape only reads for the path of a URL; nil if it is none.
func ByPath(host, path string) *Protocol {
	switch {
	case strings.HasSuffix(path, "/converse"), strings.HasSuffix(path, "/converse-stream"),
		strings.Contains(path, "amazon.nova") && strings.HasSuffix(path, "/invoke"): // with the same bodies
		return byName("bedrock-converse")
	case strings.HasSuffix(path, "/api/chat"):
		return byName("ollama-chat")
	case strings.Contains(host, "cohere") && strings.HasSuffix(path, "/v2/chat"):
		return byName("cohere-chat")
	case strings.HasSuffix(path, "/completions") && !strings.HasSuffix(path, "/chat/completions"):
		return byName("openai-completions")
	}
	return nil
}

func (p *Protocol) decode(raw json.RawMessage) (*llm.Response, error) {
	if p.response != nil {
		return p.response(raw)
	}
	var acc llm.Accumulator
	err := p.DecodeResponse(raw, func(ev llm.Event) { acc.Add(ev) })
	r := p.withIDs(acc.Response())
	return r, cmp.Or(err, Check(p, raw), CheckMessage(p, raw, r))
}

var errNoMessage = errors.New("the response has no message")

// CheckMessage returns an error if a response, whose body this is, has no message: neither content nor a
// finish reason, or no place for content.
func CheckMessage(p protocol.Protocol, text []byte, r *llm.Response) error {
	if len(r.Parts) > 0 {
		return nil
	}
	ok, isJSON := r.FinishReason != llm.FinishUnknown || r.RawFinishReason != "", jsonio.ValidSyntax(text)
	if !isJSON && p.Name() == "anthropic-messages" {
		return nil // an event ends the stream; without it, the response is truncated
	}
	if ok && isJSON {
		switch p.Name() {
		case "openai-chat":
			m := tree.First(tree.Element(tree.Member(text, "choices"), "0"), messageMembers...)
			ok = len(m) > 0 && m[0] == '{'
		case "openai-responses":
			ok = !tree.IsNull(tree.Member(text, "output"))
		case "anthropic-messages":
			ok = !tree.IsNull(tree.Member(text, "content"))
		}
	}
	if !ok {
		return errNoMessage
	}
	return nil
}

// Missing returns why messages of a request of Responses are missing, which the provider stores, and the
// number of messages before these; an empty string if none are. Extra has the other members of the request. The number
// is -1 for a reference to an item if each result has its call: nothing depends on the item.
func Missing(extra map[string]json.RawMessage, messages []llm.Message) (why string, before int) {
	if id := tree.Scalar(extra["previous_response_id"]); id != "" {
		return fmt.Sprintf("the request continues the response %q, which it does not have", id), 0
	}
	if !tree.IsNull(extra["conversation"]) {
		return "the request continues a conversation that the provider stores", 0
	}
	calls := map[string]bool{}
	for i, m := range messages {
		for _, part := range m.Parts {
			switch p := part.(type) {
			case llm.ToolCall:
				calls[p.ID] = true
			case llm.Unknown:
				if p.Kind == "item_reference" && why == "" {
					why, before = fmt.Sprintf("the input refers to the item %q, which it does not have", tree.Scalar(p.Raw, "id")), i
				}
			case llm.ToolResult:
				if why != "" && !calls[p.ID] {
					return why, before
				}
			default:
			}
		}
	}
	return why, -1
}

// withIDs generates the ids of calls in a response of Gemini, which may have none, and makes items of
// Responses calls; see [message.ClientCalls].
func (p *Protocol) withIDs(r *llm.Response) *llm.Response {
	if p.Name() != "gemini" {
		message.ClientCalls([]llm.Message{r.Message()})
		return r
	}
	for i, part := range r.Parts {
		if call, ok := part.(llm.ToolCall); ok && call.ID == "" {
			call.ID, call.IDGenerated = fmt.Sprintf("function_call_%d", i+1), true
			r.Parts[i] = call
		}
	}
	return r
}

// Read reads the decompressed body of a response with a status below 400.
func (p *Protocol) Read(text []byte) (*llm.Response, error) {
	if jsonio.ValidSyntax(text) && !IsUnfinished(text, p.Name()) {
		return p.decode(text)
	}
	if p.stream == nil {
		return nil, fmt.Errorf("%s: the response is not JSON, and streams of this protocol are not read", p.Name())
	}
	return p.stream(text)
}

// reader is a protocol that looptape only reads.
type reader struct {
	chat.Protocol // encodes nothing that is used

	name    string
	request func(raw json.RawMessage, req *llm.Request) error
}

// Name returns the name of the protocol.
func (r reader) Name() string { return r.name }

// DecodeRequest decodes a request. Extra has the members that llm.Request has no field for.
func (r reader) DecodeRequest(_ string, text []byte) (*llm.Request, error) {
	d := jsonio.NewDec(jsonio.View(text))
	if d.Skip(); d.End() != nil {
		return nil, fmt.Errorf("%s: the request: %w", r.name, d.End())
	}
	req := &llm.Request{Model: tree.Scalar(text, "model"), Extra: map[string]json.RawMessage{}}
	for key, value := range tree.Members(text) {
		if !slices.Contains([]string{"model", "messages", "system"}, key) {
			req.Extra[key] = value
		}
	}
	if err := r.request(text, req); err != nil {
		return nil, fmt.Errorf("%s: the request: %w", r.name, err)
	}
	return req, nil
}

// listRequest reads a list of messages in the form of Chat Completions.
func listRequest(raw json.RawMessage, req *llm.Request) (err error) {
	req.Messages, err = list(tree.Member(raw, "messages"))
	return err
}

func list(raw json.RawMessage) ([]llm.Message, error) {
	if raw == nil {
		return nil, errors.New("the member messages is missing")
	}
	var r message.Reader
	d := jsonio.NewDec(jsonio.View(raw))
	messages := r.List(&d)
	return messages, d.Err()
}

// converseRequest reads
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.
func converseRequest(raw json.RawMessage, req *llm.Request) error {
	prompt := ""
	for _, part := range tree.Elements(raw, "system") {
		if prompt += tree.Scalar(part, "text"); tree.Without(part, "text") != nil {
			req.Extra["system"] = tree.Member(raw, "system")
		}
	}
	req.System = llm.SystemText(prompt)
	if list := tree.Member(raw, "messages"); !tree.IsNull(list) && list[0] != '[' {
		return errors.New("messages: expected a list of messages")
	}
	for n, m := range tree.Elements(raw, "messages") {
		if content := tree.Member(m, "content"); len(content) == 0 || content[0] != '[' {
			return fmt.Errorf("messages[%d]: the message has no list of content", n)
		}
		req.Messages = append(req.Messages, message.Converse(m)...)
	}
	for _, tool := range tree.Elements(raw, "toolConfig", "tools") {
		spec := tree.Member(tool, "toolSpec")
		if spec == nil {
			continue // a cache point, or a tool of the provider
		}
		req.Tools = append(req.Tools, llm.Tool{
			Name: tree.Scalar(spec, "name"), Description: tree.Scalar(spec, "description"), Parameters: tree.Member(spec, "inputSchema", "json"),
		})
	}
	return nil
}

func converseResponse(raw json.RawMessage) (*llm.Response, error) {
	read := message.Converse(tree.Member(raw, "output", "message"))
	if len(read) == 0 {
		read = []llm.Message{{}}
	}
	usage := tree.Member(raw, "usage")
	r := &llm.Response{Parts: read[len(read)-1].Parts, RawFinishReason: tree.Scalar(raw, "stopReason")}
	r.FinishReason = finishReasons[strings.ToLower(r.RawFinishReason)]
	r.Usage = converseUsage(usage)
	content := tree.Member(raw, "output", "message", "content")
	return finished(r, len(content) > 0 && content[0] == '[')
}

// converseUsage reads a TokenUsage, whose inputTokens do not include those of the cache.
func converseUsage(usage json.RawMessage) llm.Usage {
	read, written := number(usage, "cacheReadInputTokens"), number(usage, "cacheWriteInputTokens")
	return llm.Usage{
		InputTokens: number(usage, "inputTokens") + read + written, OutputTokens: number(usage, "outputTokens"),
		CacheReadInputTokens: read, CacheCreationInputTokens: written,
	}
}

// finishReasons are the finish reasons of the protocols, in lower case.
var finishReasons = map[string]llm.FinishReason{
	"end_turn": llm.FinishStop, "stop_sequence": llm.FinishStop, "stop": llm.FinishStop, "complete": llm.FinishStop,
	"tool_use": llm.FinishToolCalls, "tool_call": llm.FinishToolCalls,
	"max_tokens": llm.FinishLength, "length": llm.FinishLength, "model_context_window_exceeded": llm.FinishLength,
	"content_filtered": llm.FinishContentFilter, "guardrail_intervened": llm.FinishContentFilter,
	"malformed_tool_use": llm.FinishMalformedCall, "malformed_model_output": llm.FinishError, "error": llm.FinishError,
}

// finished completes a response; ok is false if the body has no message.
func finished(r *llm.Response, ok bool) (*llm.Response, error) {
	if !ok {
		return nil, errors.New("the response has no message")
	}
	if r.FinishReason == "" {
		r.FinishReason = llm.FinishUnknown
	}
	return r, nil
}

func number(raw json.RawMessage, names ...string) int64 {
	text := jsonio.View(tree.Member(raw, names...))
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil { // Cohere writes 5.0
		f, err := strconv.ParseFloat(text, 64)
		if n = int64(f); err != nil || float64(n) != f {
			return 0 // any other value
		}
	}
	return n
}

// assistant reads the message of a response. Opaque has its other members.
func assistant(raw json.RawMessage) (parts []llm.Part, opaque json.RawMessage, err error) {
	messages, err := list(slices.Concat([]byte("["), raw, []byte("]")))
	for _, m := range messages {
		parts = append(parts, m.Parts...)
		if m.Opaque != nil {
			opaque = m.Opaque
		}
		if tree.Member(m.Opaque, "tool_calls") != nil {
			return nil, nil, errors.New("the message has calls and content in an unknown form")
		}
	}
	return parts, opaque, err
}

// ollamaResponse reads https://github.com/ollama/ollama/blob/main/docs/api.md, chat completion.
func ollamaResponse(raw json.RawMessage) (*llm.Response, error) {
	parts, opaque, err := assistant(tree.Member(raw, "message"))
	if err != nil {
		return nil, err
	}
	r := &llm.Response{Parts: parts, Opaque: opaque, Model: tree.Scalar(raw, "model"), RawFinishReason: tree.Scalar(raw, "done_reason")}
	r.FinishReason = finishReasons[r.RawFinishReason]
	r.Usage = llm.Usage{InputTokens: number(raw, "prompt_eval_count"), OutputTokens: number(raw, "eval_count")}
	return finished(r, tree.Member(raw, "message") != nil)
}

// ollamaStream reads one response a line. Texts follow one another; the last line has the rest.
func ollamaStream(text []byte) (*llm.Response, error) {
	whole := &llm.Response{}
	var thinking, content strings.Builder
	var others []llm.Part
	done := false
	for n, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if !jsonio.ValidSyntax([]byte(line)) {
			return nil, fmt.Errorf("line %d of the response is not JSON", n+1)
		}
		r, err := ollamaResponse(json.RawMessage(line))
		if err != nil {
			return nil, fmt.Errorf("line %d of the response: %w", n+1, err)
		}
		for _, part := range r.Parts {
			switch p := part.(type) {
			case llm.Text:
				content.WriteString(p.Text)
			case llm.Reasoning:
				thinking.WriteString(p.Text)
			default:
				others = append(others, p)
			}
		}
		done = tree.IsTrue(json.RawMessage(line), "done")
		if r.Parts = nil; r.Opaque == nil {
			r.Opaque = whole.Opaque
		} else if whole.Opaque != nil {
			return nil, fmt.Errorf("line %d of the response: several messages have members that a stream is not known to have", n+1)
		}
		whole = r
	}
	if !done {
		return nil, protocol.ErrTruncated
	}
	if thinking.Len() > 0 {
		whole.Parts = append(whole.Parts, llm.Reasoning{Text: thinking.String()})
	}
	if content.Len() > 0 {
		whole.Parts = append(whole.Parts, llm.Text{Text: content.String()})
	}
	whole.Parts = append(whole.Parts, others...)
	return whole, nil
}

// promptRequest reads the request of Completions, whose prompt is a string or a list of strings.
func promptRequest(raw json.RawMessage, req *llm.Request) error {
	prompt := tree.Member(raw, "prompt")
	if prompt == nil {
		return errors.New("the member prompt is missing")
	}
	delete(req.Extra, "prompt")
	text := tree.String(prompt)
	if only := tree.Element(prompt, "0"); only != nil && tree.Element(prompt, "1") == nil {
		text = tree.String(only)
	}
	req.Messages = []llm.Message{llm.User(text)}
	return nil
}

// completion reads the response of Completions, and of Mistral's completions with a suffix, which have a message.
func completion(raw json.RawMessage) (*llm.Response, error) {
	first := tree.Element(tree.Member(raw, "choices"), "0")
	text, ok := tree.Text(first, "text")
	if !ok {
		text, ok = tree.Text(first, "message", "content")
	}
	r := &llm.Response{
		Parts: []llm.Part{llm.Text{Text: text}}, ResponseID: tree.Scalar(raw, "id"), Model: tree.Scalar(raw, "model"),
		RawFinishReason: tree.Scalar(first, "finish_reason"),
	}
	r.FinishReason = finishReasons[r.RawFinishReason]
	r.Usage = llm.Usage{InputTokens: number(raw, "usage", "prompt_tokens"), OutputTokens: number(raw, "usage", "completion_tokens")}
	return finished(r, ok)
}
