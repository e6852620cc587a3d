package chat

import (
	"encoding/json"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
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
	if err := codec.CheckExtra(req.Extra); err != nil {
		return nil, err
	}
	w := writer{codec.Writer{Req: req, Dst: []byte{'{'}, OmitNull: true}, c}
	w.request()
	if w.Err != nil {
		return nil, w.Err
	}
	codec.RepairSurrogates(w.Dst)
	return &protocol.Request{Path: path, Body: w.Dst}, nil
}

type writer struct {
	codec.Writer
	chat Protocol
}

func (w *writer) request() {
	s := &w.Req.Settings
	if w.Has("model") {
		w.OptionalText("model", w.Req.Model)
	}
	w.messages()
	w.tools()
	if s.MaxTokens != 0 && w.Has("max_tokens") && w.Has("max_completion_tokens") {
		w.Int(w.chat.maxTokens(), int64(s.MaxTokens))
	}
	w.Float("temperature", s.Temperature)
	w.Float("top_p", s.TopP)
	if s.Seed != nil && w.Has("seed") {
		w.Int("seed", *s.Seed)
	}
	w.Strings("stop", s.StopSequences)
	if w.Has("reasoning_effort") {
		w.OptionalText("reasoning_effort", s.ReasoningEffort)
	}
	w.output(s.OutputSchema)
	w.Extra()
	w.Add("}")
}

// tools writes the tools and their options. OpenAI rejects the options without tools (SO-12,
// SO-18).
func (w *writer) tools() {
	if len(w.Req.Tools) > 0 && w.Has("tools") {
		w.Raw("tools", "[")
		for i, t := range w.Req.Tools {
			w.tool(i, t)
		}
		w.Add("]")
	}
	choice := w.Req.ToolChoice
	if len(w.Req.Tools) == 0 && len(w.Req.Extra["tools"]) == 0 {
		if choice.Mode == llm.ChooseRequired || choice.Mode == llm.ChooseTool {
			w.Fail("tool_choice: %s requires tools: add a tool", choice)
		}
		return
	}
	if w.Has("parallel_tool_calls") {
		w.Bool("parallel_tool_calls", w.Req.Settings.ParallelToolCalls)
	}
	if !w.Has("tool_choice") {
		return
	}
	switch choice.Mode {
	case llm.ChooseAuto: // the default
	case llm.ChooseRequired, llm.ChooseNone:
		w.Text("tool_choice", string(choice.Mode))
	case llm.ChooseTool:
		w.Add(`,"tool_choice":{"type":"function","function":{"name":%}}`, choice.Name)
	}
}

func (w *writer) tool(i int, t llm.Tool) {
	w.Next(`{"type":"function","function":{"name":%`, t.Name)
	w.OptionalText("description", t.Description)
	if t.Parameters != nil {
		if !jsonio.Valid(t.Parameters) {
			w.Fail("tools[%d]: the parameters of %s are not JSON: set a JSON Schema", i, t.Name)
		}
		w.Value("parameters", api.Parameters(t.Parameters))
	}
	w.Bool("strict", t.Strict)
	w.Add("}}")
}

func (c Protocol) maxTokens() string {
	if c.MaxTokens {
		return "max_tokens"
	}
	return "max_completion_tokens"
}

// output writes the response format. A stream has usage only on request.
func (w *writer) output(schema json.RawMessage) {
	if schema != nil && w.Has("response_format") {
		if !jsonio.Valid(schema) {
			w.Fail("settings.output_schema: not JSON: set a JSON Schema")
		}
		w.Raw("response_format", format(schema))
	}
	if w.Req.ResponseMode != llm.Streaming {
		return
	}
	if w.Has("stream") {
		w.Raw("stream", "true")
	}
	if w.Has("stream_options") {
		w.Raw("stream_options", usageInStream)
	}
}

const usageInStream = `{"include_usage":true}`

// format returns the response format of a schema, with the name that OpenAI requires. It is
// strict if the schema allows it.
func format(schema json.RawMessage) string {
	strict := strconv.FormatBool(api.FollowsStrict(schema))
	inner := `{"name":"answer","strict":` + strict + `,"schema":` + string(codec.Compact(schema)) + `}`
	return `{"type":"json_schema","json_schema":` + inner + `}`
}
