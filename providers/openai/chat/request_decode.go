package chat

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/openai/internal/api"
)

// DecodeRequest implements [protocol.Protocol]. It ignores the path.
//
// A first system message with one plain text becomes Request.System; other system and developer
// messages stay messages. Tool messages in a row become one. A function_call becomes a call
// with a generated id, and the following message with the role function becomes its result.
// EncodeRequest writes both in the current format. The result differs from the request that
// EncodeRequest encoded in what the protocol omits: the order of reasoning, text and calls,
// empty text, IsError, the media type of images at URLs, tool names on results (they are those
// of the calls), IDGenerated and ProviderID, and a tool choice without tools.
//
// Extra contains unknown members and known ones that Request cannot represent, so that
// EncodeRequest writes them again. A stream without usage has stream_options null there. Null
// members are omitted.
func (c Protocol) DecodeRequest(_ string, body []byte) (*llm.Request, error) {
	if !jsonio.ValidUTF8(body) {
		return nil, errors.New("the request is not UTF-8")
	}
	r := reader{Dec: jsonio.NewDec(string(body)), chat: c, req: &llm.Request{ResponseMode: llm.NonStreaming}}
	r.request()
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("invalid Chat Completions request: %w", err)
	}
	return r.req, nil
}

type reader struct {
	jsonio.Dec
	chat Protocol
	req  *llm.Request
	// These members depend on others.
	choice, parallel, options string
	limit, otherLimit         int64 // of the output, by the codec's name for it and by the other
	otherLimitName            string
}

func (r *reader) keep(key, raw string) {
	if r.Err() == nil {
		codec.SetExtra(r.req, key, codec.Compact(raw))
	}
}

func (r *reader) request() {
	s := &r.req.Settings
	keep := func(key string) {
		if raw := r.Raw(); raw != "null" {
			r.keep(key, raw)
		}
	}
	limits := []string{"max_tokens", "max_completion_tokens"}
	r.otherLimitName = limits[1-slices.Index(limits, r.chat.maxTokens())]
	codec.ReadStrict(&r.Dec, keep,
		"model", &r.req.Model,
		"messages", func() {
			for range r.Elements() {
				r.message()
			}
		},
		"tools", r.tools,
		"tool_choice", func() { r.choice = r.Raw() },
		"parallel_tool_calls", func() { r.parallel = r.Raw() },
		r.chat.maxTokens(), &r.limit,
		r.otherLimitName, &r.otherLimit,
		"temperature", &s.Temperature,
		"top_p", &s.TopP,
		"seed", &s.Seed,
		"stop", r.stop,
		"reasoning_effort", &s.ReasoningEffort,
		"response_format", r.format,
		"stream", func() {
			if r.Bool() {
				r.req.ResponseMode = llm.Streaming
			}
		},
		"stream_options", func() { r.options = r.Raw() })
	r.settle()
}

func (r *reader) stop() {
	if r.Peek() == '"' {
		r.req.Settings.StopSequences = []string{r.String()}
		return
	}
	for range r.Elements() {
		r.req.Settings.StopSequences = append(r.req.Settings.StopSequences, r.String())
	}
}

// format reads the response format. Extra keeps it if this codec would write it differently.
func (r *reader) format() {
	raw := r.Raw()
	schema := codec.Get(codec.Get(raw, "json_schema"), "schema")
	if schema != nil {
		r.req.Settings.OutputSchema = codec.Compact(schema)
		if jsonval.Canonical(format(schema)) == jsonval.Canonical(raw) {
			return
		}
	}
	r.keep("response_format", raw)
}

// tools reads the tools. Extra keeps all of them if Tool cannot represent one.
func (r *reader) tools() {
	from := r.Offset()
	exact := true
	r.req.Tools = nil
	for range r.Elements() {
		t, function, complete := r.tool()
		if function {
			r.req.Tools = append(r.req.Tools, t)
		}
		exact = exact && complete
	}
	if !exact || len(r.req.Tools) == 0 {
		r.keep("tools", r.Since(from))
	}
}

// tool reads a tool, and reports whether it is a function and whether t represents all of it.
func (r *reader) tool() (t llm.Tool, function, complete bool) {
	complete = true
	other := func(string) { complete = r.Raw() == "null" && complete }
	codec.ReadStrict(&r.Dec, other,
		"type", func() { complete = r.String() == "function" && complete },
		"function", func() {
			function = true
			codec.ReadStrict(&r.Dec, other, "name", &t.Name, "description", &t.Description, "parameters", &t.Parameters, "strict", &t.Strict)
		})
	return t, function, complete && function
}

// settle handles the members that depend on others.
func (r *reader) settle() {
	s := &r.req.Settings
	s.MaxTokens = int(cmp.Or(r.limit, r.otherLimit))
	if r.otherLimit != 0 {
		r.keep(r.otherLimitName, strconv.FormatInt(r.otherLimit, 10))
		if r.limit != 0 {
			r.keep(r.chat.maxTokens(), strconv.FormatInt(r.limit, 10))
		}
	}
	tools := len(r.req.Tools) > 0
	if r.parallel != "" {
		switch {
		case tools && r.parallel == "true", tools && r.parallel == "false":
			s.ParallelToolCalls = new(r.parallel == "true")
		default:
			r.keep("parallel_tool_calls", r.parallel)
		}
	}
	if r.choice != "" {
		name := codec.GetString(codec.Get(r.choice, "function"), "name")
		choice, ok := api.ToolChoice(r.choice, name)
		if ok && tools {
			r.req.ToolChoice = choice
		} else {
			r.keep("tool_choice", r.choice)
		}
	}
	streamed := r.req.ResponseMode == llm.Streaming
	switch {
	case streamed && r.options == "":
		r.keep("stream_options", "null")
	case r.options != "" && (!streamed || string(codec.Compact(r.options)) != usageInStream):
		r.keep("stream_options", r.options)
	}
}
