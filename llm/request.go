package llm

import "encoding/json"

// Request is a request to a model.
type Request struct {
	Model    string // the provider's name of the model; may be empty
	System   string // the system prompt, which is not in Messages
	Messages []Message
	Tools    []Tool
	// ToolChoice specifies whether the model may, must or must not call tools.
	ToolChoice ToolChoice
	// ResponseMode selects the wire form of the response. The [Response] is the same in both.
	ResponseMode ResponseMode
	Settings     Settings
	// Extra contains members that only one provider defines, by their names. Adapters merge them
	// into the body.
	Extra map[string]json.RawMessage
}

// Settings are the generation parameters of a model call. nil and 0 mean the default of the
// provider.
type Settings struct {
	MaxTokens         int      // limit of the output tokens
	Temperature       *float64 // 0 … 2
	TopP              *float64 // 0 … 1
	Seed              *int64
	StopSequences     []string
	ParallelToolCalls *bool  // false requests at most one call per response
	ReasoningEffort   string // such as low or high, as the provider defines it
	// OutputSchema is the JSON Schema of the response text.
	OutputSchema json.RawMessage
}

// Tool is the definition of a tool that a request contains.
type Tool struct {
	Name        string
	Description string
	// Parameters is the JSON Schema of the arguments, an object.
	Parameters json.RawMessage
	// Strict makes the provider enforce the schema; nil means the provider's default.
	Strict *bool
}

// ToolChoice specifies whether the model may call tools. The zero value lets the model choose.
// Name is set only for [ChooseTool].
type ToolChoice struct {
	Mode ToolMode
	Name string
}

// ToolMode is a mode of [ToolChoice].
type ToolMode string

// The modes.
const (
	ChooseAuto     ToolMode = "" // the model decides
	ChooseRequired ToolMode = "required"
	ChooseNone     ToolMode = "none"
	ChooseTool     ToolMode = "tool" // the tool ToolChoice.Name
)

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

// The response modes.
const (
	Streaming    ResponseMode = "" // as a stream of events
	NonStreaming ResponseMode = "buffered"
)
