package llm

import "encoding/json"

// Request is one question to a model.
type Request struct {
	Model    string // the provider's name of the model; may be empty
	System   string // the system prompt, which is not in Messages
	Messages []Message
	Tools    []Tool
	// ToolChoice says whether tools may, must or must not be called.
	ToolChoice ToolChoice
	// Delivery says which wire form to ask for. The turn is the same either way.
	ResponseMode ResponseMode
	Settings     Settings
	// Extra holds what only one provider knows, by its name there; adapters
	// merge it into the body.
	Extra map[string]json.RawMessage
}

// Settings are the usual knobs of a model call; nil and zero mean the
// provider's default.
type Settings struct {
	MaxTokens         int      // of output
	Temperature       *float64 // 0 … 2
	TopP              *float64 // 0 … 1
	Seed              *int64
	StopSequences     []string
	ParallelToolCalls *bool  // false asks for one call a turn at most
	ReasoningEffort   string // how hard to think, in the provider's words: low, high …
	// OutputSchema is the JSON Schema that the answer's text must follow.
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

// ToolChoice is whether tools may be called. The zero value lets the model
// choose; Name is set for ChooseTool alone.
type ToolChoice struct {
	Mode ToolMode
	Name string
}

// ToolMode is a way to choose tools.
type ToolMode string

// The modes.
const (
	ChooseAuto     ToolMode = "" // the model decides
	ChooseRequired ToolMode = "required"
	ChooseNone     ToolMode = "none"
	ChooseTool     ToolMode = "tool" // the one that ToolChoice.Name says
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

// Delivery is the wire form of an answer.
type ResponseMode string

// The deliveries.
const (
	Streaming    ResponseMode = "" // as a stream of events
	NonStreaming ResponseMode = "buffered"
)
