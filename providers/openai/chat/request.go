package chat

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/openai/internal/api"
	"github.com/looptape/looptape/providers/protocol"
)

const path = "/chat/completions"

// EncodeRequest implements [protocol.Protocol].
//
// Tool names, descriptions and schemas that the provider may reject are sent unchanged, so that
// the caller sees the provider's error. Output of a model is repaired: a call without a name
// gets unnamed_tool, other characters in the name of an undeclared tool become "_", and invalid
// UTF-8 and lone surrogates in arguments become U+FFFD.
func (c Protocol) EncodeRequest(req *llm.Request) (*protocol.Request, error) {
	w := writer{chat: c, req: req, buf: []byte{'{'}}
	if err := w.request(); err != nil {
		return nil, err
	}
	wirejson.RepairSurrogates(w.buf)
	return &protocol.Request{Path: path, Body: w.buf}, nil
}

// writer writes the body of a request, or the message of a response.
type writer struct {
	chat Protocol
	req  *llm.Request // nil in an answer
	buf  []byte
}

func (w *writer) comma() {
	w.buf = wirejson.AppendComma(w.buf)
}

func (w *writer) name(key string) {
	w.comma()
	w.buf = append(append(append(w.buf, '"'), key...), '"', ':')
}

func (w *writer) text(key, value string) {
	w.name(key)
	w.buf = jsonio.AppendString(w.buf, value)
}

func (w *writer) raw(key, value string) {
	w.name(key)
	w.buf = append(w.buf, value...)
}

// asks reports whether the codec writes a member: it does unless Extra has it.
func (w *writer) asks(key string) bool {
	_, told := w.req.Extra[key]
	return !told
}

func (w *writer) request() error {
	if w.req.Model != "" && w.asks("model") {
		w.text("model", w.req.Model)
	}
	for _, write := range []func() error{w.messages, w.tools, w.settings, w.output, w.extra} {
		if err := write(); err != nil {
			return err
		}
	}
	w.buf = append(w.buf, '}')
	return nil
}

// tools writes the tools and their options. OpenAI rejects the options without tools (SO-12,
// SO-18).
func (w *writer) tools() error {
	if len(w.req.Tools) > 0 && w.asks("tools") {
		w.raw("tools", "[")
		for i, t := range w.req.Tools {
			w.comma()
			if err := w.tool(t); err != nil {
				return fmt.Errorf("tools[%d]: %w", i, err)
			}
		}
		w.buf = append(w.buf, ']')
	}
	if len(w.req.Tools) == 0 && len(w.req.Extra["tools"]) == 0 {
		switch w.req.ToolChoice.Mode {
		case llm.ChooseAuto, llm.ChooseNone:
			return nil
		case llm.ChooseRequired, llm.ChooseTool:
		}
		return fmt.Errorf("tool_choice: %s requires tools: add a tool", w.req.ToolChoice)
	}
	if p := w.req.Settings.ParallelToolCalls; p != nil && w.asks("parallel_tool_calls") {
		w.raw("parallel_tool_calls", strconv.FormatBool(*p))
	}
	if w.asks("tool_choice") {
		w.toolChoice()
	}
	return nil
}

func (w *writer) tool(t llm.Tool) error {
	w.buf = append(w.buf, `{"type":"function","function":{`...)
	w.text("name", t.Name)
	if t.Description != "" {
		w.text("description", t.Description)
	}
	if t.Parameters != nil {
		if !jsonio.Valid(t.Parameters) {
			return fmt.Errorf("the parameters of %s are not JSON: set a JSON Schema", t.Name)
		}
		w.name("parameters")
		w.buf = jsonio.AppendRaw(w.buf, api.Parameters(t.Parameters))
	}
	if t.Strict != nil {
		w.raw("strict", strconv.FormatBool(*t.Strict))
	}
	w.buf = append(w.buf, '}', '}')
	return nil
}

func (w *writer) toolChoice() {
	switch w.req.ToolChoice.Mode {
	case llm.ChooseAuto: // the default
	case llm.ChooseRequired, llm.ChooseNone:
		w.text("tool_choice", string(w.req.ToolChoice.Mode))
	case llm.ChooseTool:
		w.raw("tool_choice", `{"type":"function","function":{`)
		w.text("name", w.req.ToolChoice.Name)
		w.buf = append(w.buf, '}', '}')
	}
}

func (w *writer) settings() error {
	s := &w.req.Settings
	if s.MaxTokens != 0 && w.asks("max_tokens") && w.asks("max_completion_tokens") {
		w.raw(w.chat.maxTokens(), strconv.Itoa(s.MaxTokens))
	}
	for _, m := range [...]struct {
		key   string
		value *float64
	}{{"temperature", s.Temperature}, {"top_p", s.TopP}} {
		if m.value == nil || !w.asks(m.key) {
			continue
		}
		if math.IsNaN(*m.value) || math.IsInf(*m.value, 0) {
			return fmt.Errorf("%s: %v is not a JSON number", m.key, *m.value)
		}
		w.raw(m.key, strconv.FormatFloat(*m.value, 'g', -1, 64))
	}
	if s.Seed != nil && w.asks("seed") {
		w.raw("seed", strconv.FormatInt(*s.Seed, 10))
	}
	if len(s.StopSequences) > 0 && w.asks("stop") {
		w.raw("stop", "[")
		for _, word := range s.StopSequences {
			w.comma()
			w.buf = jsonio.AppendString(w.buf, word)
		}
		w.buf = append(w.buf, ']')
	}
	if s.ReasoningEffort != "" && w.asks("reasoning_effort") {
		w.text("reasoning_effort", s.ReasoningEffort)
	}
	return nil
}

// maxTokens returns the name of the member with the token limit.
func (c Protocol) maxTokens() string {
	if c.MaxTokens {
		return "max_tokens"
	}
	return "max_completion_tokens"
}

// outputName is the name of the output schema, which OpenAI requires.
const outputName = "answer"

// output writes the response format. A stream has usage only on request.
func (w *writer) output() error {
	if schema := w.req.Settings.OutputSchema; schema != nil && w.asks("response_format") {
		if !jsonio.Valid(schema) {
			return fmt.Errorf("settings.output_schema: not JSON: set a JSON Schema")
		}
		w.name("response_format")
		w.buf = appendFormat(w.buf, schema)
	}
	if w.req.ResponseMode != llm.Streaming {
		return nil
	}
	if w.asks("stream") {
		w.raw("stream", "true")
	}
	if w.asks("stream_options") {
		w.raw("stream_options", usageInStream)
	}
	return nil
}

const usageInStream = `{"include_usage":true}`

// appendFormat appends the response format of a schema. It is strict if the schema allows it.
func appendFormat(dst []byte, schema json.RawMessage) []byte {
	dst = append(dst, `{"type":"json_schema","json_schema":{"name":"`+outputName+`","strict":`...)
	dst = strconv.AppendBool(dst, api.FollowsStrict(schema))
	dst = jsonio.AppendRaw(append(dst, `,"schema":`...), schema)
	return append(dst, '}', '}')
}

// extra writes the members of Extra, except null.
func (w *writer) extra() error {
	for _, key := range slices.Sorted(maps.Keys(w.req.Extra)) {
		raw := w.req.Extra[key]
		if !jsonio.Valid(raw) {
			return fmt.Errorf("extra %q: not JSON", key)
		}
		if value := jsonio.AppendRaw(nil, raw); string(value) != "null" {
			w.comma()
			w.buf = append(jsonio.AppendString(w.buf, key), ':')
			w.buf = append(w.buf, value...)
		}
	}
	return nil
}
