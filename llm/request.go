package llm

import (
	"encoding/json"
	"strings"
)

// Request is a request to a model.
type Request struct {
	Model    string    `json:"model"`                           // the provider's name of the model; may be empty
	System   System    `json:"system,omitempty" codec:"system"` // the system prompt, which is not in Messages
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools,omitzero"`
	// ToolChoice specifies whether the model may, must or must not call tools.
	ToolChoice ToolChoice `json:"tool_choice,omitzero" codec:"toolChoice"`
	// ResponseMode selects the wire form of the response. The [Response] is the same in both.
	ResponseMode ResponseMode `json:"response_mode,omitempty" v1:"delivery"`
	Settings     Settings     `json:"settings,omitzero"`
	// Extra contains members that only one provider defines, by their names. Adapters merge them
	// into the body.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// System is a system prompt: its parts in order. Most prompts are one part without a mark; see
// [SystemText].
type System []SystemPart

// SystemPart is a part of a system prompt.
//
//gencodec:inline
type SystemPart struct {
	Text string `json:"text"`
	// CacheMark makes the provider cache the request up to the end of this part. Adapters of
	// providers without such marks send the same text without it.
	CacheMark bool `json:"cache_mark,omitempty"`
}

// SystemText returns a system prompt of one part without a mark; nil for an empty text.
func SystemText(text string) System {
	if text == "" {
		return nil
	}
	return System{{Text: text}}
}

// Text joins the parts that are not empty by empty lines. This is the system prompt of a provider
// without parts.
func (s System) Text() string {
	if len(s) == 1 {
		return s[0].Text
	}
	var texts []string
	for _, p := range s {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// Settings are the generation parameters of a model call. nil and 0 mean the default of the
// provider.
type Settings struct {
	MaxTokens         int      `json:"max_tokens,omitempty"` // limit of the output tokens
	Temperature       *float64 `json:"temperature,omitzero"` // 0 … 2
	TopP              *float64 `json:"top_p,omitzero"`       // 0 … 1
	Seed              *int64   `json:"seed,omitzero"`
	StopSequences     []string `json:"stop_sequences,omitzero" v1:"stop"`
	ParallelToolCalls *bool    `json:"parallel_tool_calls,omitzero" v1:"parallel_calls"` // false requests at most one call per response
	ReasoningEffort   string   `json:"reasoning_effort,omitempty" v1:"reasoning"`        // such as low or high, as the provider defines it
	// OutputSchema is the JSON Schema of the response text.
	OutputSchema json.RawMessage `json:"output_schema,omitzero"`
}

// Tool is the definition of a tool that a request contains.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the JSON Schema of the arguments, an object.
	Parameters json.RawMessage `json:"parameters,omitzero"`
	// Strict makes the provider enforce the schema; nil means the provider's default.
	Strict *bool `json:"strict,omitzero"`
	// Builtin, if not nil, is a tool that the provider defines, in the form of the provider: a
	// JSON object. Requests contain it in place of the other fields.
	Builtin json.RawMessage `json:"builtin,omitzero"`
}

// ToolChoice specifies whether the model may call tools. The zero value lets the model choose.
// Name is set only for [ChooseTool].
type ToolChoice struct {
	Mode ToolMode
	Name string
}

// ToolMode is a mode of [ToolChoice].
type ToolMode string

// String returns the form that scenarios use: auto, required, none or tool:NAME.
func (c ToolChoice) String() string {
	switch c.Mode {
	case ChooseTool:
		return "tool:" + c.Name
	case ChooseAuto:
		return "auto"
	case ChooseRequired, ChooseNone:
	}
	return string(c.Mode)
}

// ResponseMode is the wire form of a response.
type ResponseMode string
