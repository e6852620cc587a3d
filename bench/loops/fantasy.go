package loops

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"charm.land/fantasy"

	"github.com/looptape/looptape/bench/work"
)

// fantasyModel is the double of a fantasy.LanguageModel.
type fantasyModel struct{ script[fantasyResponse] }

// fantasyResponse is a response in both forms.
type fantasyResponse struct {
	whole *fantasy.Response
	parts []fantasy.StreamPart
}

var errUnused = errors.New("loops: the benchmark does not use this method")

// Generate implements fantasy.LanguageModel.
func (m *fantasyModel) Generate(context.Context, fantasy.Call) (*fantasy.Response, error) {
	return m.take().whole, nil
}

// Stream implements fantasy.LanguageModel.
func (m *fantasyModel) Stream(context.Context, fantasy.Call) (fantasy.StreamResponse, error) {
	return slices.Values(m.take().parts), nil
}

// addResponse adds a response in both forms.
func (m *fantasyModel) addResponse(r *fantasy.Response) {
	var parts []fantasy.StreamPart
	for _, c := range r.Content {
		switch c := c.(type) {
		case fantasy.ToolCallContent:
			args := work.Halves(c.Input)
			parts = append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeToolInputStart, ID: c.ToolCallID, ToolCallName: c.ToolName},
				fantasy.StreamPart{Type: fantasy.StreamPartTypeToolInputDelta, ID: c.ToolCallID, Delta: args[0]},
				fantasy.StreamPart{Type: fantasy.StreamPartTypeToolInputDelta, ID: c.ToolCallID, Delta: args[1]},
				fantasy.StreamPart{Type: fantasy.StreamPartTypeToolInputEnd, ID: c.ToolCallID},
				fantasy.StreamPart{Type: fantasy.StreamPartTypeToolCall, ID: c.ToolCallID, ToolCallName: c.ToolName, ToolCallInput: c.Input})
		case fantasy.TextContent:
			text := work.Halves(c.Text)
			parts = append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeTextStart, ID: "0"},
				fantasy.StreamPart{Type: fantasy.StreamPartTypeTextDelta, ID: "0", Delta: text[0]},
				fantasy.StreamPart{Type: fantasy.StreamPartTypeTextDelta, ID: "0", Delta: text[1]},
				fantasy.StreamPart{Type: fantasy.StreamPartTypeTextEnd, ID: "0"})
		}
	}
	m.add(fantasyResponse{r, append(parts, fantasy.StreamPart{Type: fantasy.StreamPartTypeFinish, Usage: r.Usage, FinishReason: r.FinishReason})})
}

// GenerateObject implements fantasy.LanguageModel.
func (m *fantasyModel) GenerateObject(context.Context, fantasy.ObjectCall) (*fantasy.ObjectResponse, error) {
	return nil, errUnused
}

// StreamObject implements fantasy.LanguageModel.
func (m *fantasyModel) StreamObject(context.Context, fantasy.ObjectCall) (fantasy.ObjectStreamResponse, error) {
	return nil, errUnused
}

// Provider implements fantasy.LanguageModel.
func (m *fantasyModel) Provider() string { return "bench" }

// Model implements fantasy.LanguageModel.
func (m *fantasyModel) Model() string { return "bench" }

// newFantasy uses fantasy.Agent, which runs tools sequentially.
func newFantasy(w *work.Work, o Options) (Run, func() error, error) {
	usage := fantasy.Usage{InputTokens: work.Input, OutputTokens: work.Output, TotalTokens: work.Input + work.Output}
	model := &fantasyModel{}
	for _, calls := range w.Steps {
		response := &fantasy.Response{FinishReason: fantasy.FinishReasonToolCalls, Usage: usage}
		for _, c := range calls {
			response.Content = append(response.Content, fantasy.ToolCallContent{ToolCallID: c.ID, ToolName: work.Tool, Input: c.Raw})
		}
		model.addResponse(response)
	}
	model.addResponse(&fantasy.Response{
		Content: fantasy.ResponseContent{fantasy.TextContent{Text: work.Final}}, FinishReason: fantasy.FinishReasonStop, Usage: usage,
	})
	tool, err := newFantasyTool(o)
	if err != nil {
		return nil, nil, err
	}
	agent := fantasy.NewAgent(model, fantasy.WithTools(tool))
	return func(ctx context.Context) (string, error) {
		model.next = 0
		if o.Stream {
			text := ""
			_, err := agent.Stream(ctx, fantasy.AgentStreamCall{Prompt: work.Prompt, OnTextDelta: func(_, delta string) error {
				text += delta
				return nil
			}})
			return text, err
		}
		res, err := agent.Generate(ctx, fantasy.AgentCall{Prompt: work.Prompt})
		if err != nil {
			return "", err
		}
		return res.Response.Content.Text(), nil
	}, nil, nil
}

func newFantasyTool(o Options) (fantasy.AgentTool, error) {
	if o.Typed {
		return fantasy.NewAgentTool(work.Tool, work.About, func(_ context.Context, in work.Arguments, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
			o.called(in.Day)
			return fantasy.NewTextResponse(work.Answer), nil
		}), nil
	}
	var schema struct {
		Properties map[string]any
		Required   []string
	}
	if err := json.Unmarshal([]byte(work.Schema), &schema); err != nil {
		return nil, err
	}
	info := fantasy.ToolInfo{Name: work.Tool, Description: work.About, Parameters: schema.Properties, Required: schema.Required}
	return &fantasyRawTool{o: o, info: info}, nil
}

// fantasyRawTool is a fantasy.AgentTool that gets its arguments unchanged. The loop still
// decodes them to check the required members.
type fantasyRawTool struct {
	o       Options
	info    fantasy.ToolInfo
	options fantasy.ProviderOptions
}

// Info implements fantasy.AgentTool.
func (t *fantasyRawTool) Info() fantasy.ToolInfo { return t.info }

// Run implements fantasy.AgentTool.
func (t *fantasyRawTool) Run(_ context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	t.o.rawCalled(call.Input)
	return fantasy.NewTextResponse(work.Answer), nil
}

// ProviderOptions implements fantasy.AgentTool.
func (t *fantasyRawTool) ProviderOptions() fantasy.ProviderOptions { return t.options }

// SetProviderOptions implements fantasy.AgentTool.
func (t *fantasyRawTool) SetProviderOptions(o fantasy.ProviderOptions) { t.options = o }
