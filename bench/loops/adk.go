package loops

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/tool/toolutils"
	"google.golang.org/genai"

	"github.com/looptape/looptape/bench/work"
)

// adkModel is the double of a model.LLM.
type adkModel struct{ script[*model.LLMResponse] }

// Name implements model.LLM.
func (m *adkModel) Name() string { return "bench" }

// GenerateContent implements model.LLM.
//
// As the client of Gemini does, a streaming response has partial text before the complete
// response. Calls are not divided.
func (m *adkModel) GenerateContent(_ context.Context, _ *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	response := m.take()
	return func(yield func(*model.LLMResponse, error) bool) {
		if text := response.Content.Parts[0].Text; stream && text != "" {
			for _, delta := range work.Halves(text) {
				if !yield(&model.LLMResponse{Content: genai.NewContentFromText(delta, genai.RoleModel), Partial: true}, nil) {
					return
				}
			}
		}
		yield(response, nil)
	}
}

// newADK uses adk's runner with an LLM agent and sessions in memory, one session per run. Its
// tools run concurrently. Its model returns decoded arguments.
func newADK(w *work.Work, o Options) (Run, func() error, error) {
	m := &adkModel{}
	usage := &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: work.Input, CandidatesTokenCount: work.Output}
	add := func(parts ...*genai.Part) {
		content := &genai.Content{Role: genai.RoleModel, Parts: parts}
		m.add(&model.LLMResponse{Content: content, UsageMetadata: usage, FinishReason: genai.FinishReasonStop})
	}
	for _, calls := range w.Steps {
		var parts []*genai.Part
		for _, c := range calls {
			args := map[string]any{"city": c.Arguments.City, "day": float64(c.Arguments.Day)}
			parts = append(parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: c.ID, Name: work.Tool, Args: args}})
		}
		add(parts...)
	}
	add(genai.NewPartFromText(work.Final))
	t, err := newADKTool(o)
	if err != nil {
		return nil, nil, err
	}
	a, err := llmagent.New(llmagent.Config{Name: "bench", Model: m, Tools: []tool.Tool{t}})
	if err != nil {
		return nil, nil, err
	}
	sessions := session.InMemoryService()
	r, err := runner.New(runner.Config{AppName: "bench", Agent: a, SessionService: sessions, AutoCreateSession: true})
	if err != nil {
		return nil, nil, err
	}
	config := agent.RunConfig{}
	if o.Stream {
		config.StreamingMode = agent.StreamingModeSSE
	}
	return func(ctx context.Context) (text string, err error) {
		m.next = 0
		streamed := ""
		message := genai.NewContentFromText(work.Prompt, genai.RoleUser)
		for ev, err := range r.Run(ctx, "user", "run", message, config) {
			if err != nil {
				return "", err
			}
			if ev.Content != nil && len(ev.Content.Parts) == 1 {
				text = ev.Content.Parts[0].Text
			}
			if ev.Partial {
				streamed += text
			}
		}
		if o.Stream {
			text = streamed
		}
		return text, sessions.Delete(ctx, &session.DeleteRequest{AppName: "bench", UserID: "user", SessionID: "run"})
	}, nil, nil
}

// adkResult is the result of the typed tool; adk accepts no string.
type adkResult struct {
	Weather string `json:"weather"`
}

func newADKTool(o Options) (tool.Tool, error) {
	if o.Typed {
		return functiontool.New(functiontool.Config{Name: work.Tool, Description: work.About},
			func(_ agent.Context, in work.Arguments) (adkResult, error) {
				o.called(in.Day)
				return adkResult{work.Answer}, nil
			})
	}
	return &adkRawTool{o: o}, nil
}

// adkRawTool is a tool.Tool that gets its arguments from adk as a decoded map.
type adkRawTool struct{ o Options }

// Name implements tool.Tool.
func (t *adkRawTool) Name() string { return work.Tool }

// Description implements tool.Tool.
func (t *adkRawTool) Description() string { return work.About }

// IsLongRunning implements tool.Tool.
func (t *adkRawTool) IsLongRunning() bool { return false }

// ProcessRequest adds the tool to the request, as the function tools of adk do.
func (t *adkRawTool) ProcessRequest(_ agent.Context, req *model.LLMRequest) error {
	return toolutils.PackTool(req, t)
}

// Declaration describes the tool for the model.
func (t *adkRawTool) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: work.Tool, Description: work.About}
}

// Run runs one call.
func (t *adkRawTool) Run(_ agent.Context, args any) (map[string]any, error) {
	m, ok := args.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("loops: adk passes arguments as %T", args)
	}
	if day, ok := m["day"].(float64); ok {
		t.o.called(int(day))
	}
	return map[string]any{"weather": work.Answer}, nil
}
