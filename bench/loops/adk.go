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
type adkModel struct {
	turns []*model.LLMResponse
	next  int
}

// Name implements model.LLM.
func (m *adkModel) Name() string { return "bench" }

// GenerateContent implements model.LLM.
func (m *adkModel) GenerateContent(context.Context, *model.LLMRequest, bool) iter.Seq2[*model.LLMResponse, error] {
	turn := m.turns[m.next]
	m.next++
	return func(yield func(*model.LLMResponse, error) bool) { yield(turn, nil) }
}

// newADK uses adk's runner with an LLM agent and sessions in memory, one session
// a run. Its tools run at the same time. Arguments come to it decoded.
func newADK(w *work.Work, o Options) (Run, func() error, error) {
	m := &adkModel{}
	usage := &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: work.Input, CandidatesTokenCount: work.Output}
	add := func(parts ...*genai.Part) {
		m.turns = append(m.turns, &model.LLMResponse{
			Content: &genai.Content{Role: genai.RoleModel, Parts: parts}, UsageMetadata: usage, FinishReason: genai.FinishReasonStop,
		})
	}
	for _, calls := range w.Steps {
		var parts []*genai.Part
		for _, c := range calls {
			args := map[string]any{"city": c.Args.City, "day": float64(c.Args.Day)}
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
	return func(ctx context.Context) (text string, err error) {
		m.next = 0
		message := genai.NewContentFromText(work.Prompt, genai.RoleUser)
		for ev, err := range r.Run(ctx, "user", "run", message, agent.RunConfig{}) {
			if err != nil {
				return "", err
			}
			if ev.Content != nil && len(ev.Content.Parts) == 1 {
				text = ev.Content.Parts[0].Text
			}
		}
		return text, sessions.Delete(ctx, &session.DeleteRequest{AppName: "bench", UserID: "user", SessionID: "run"})
	}, nil, nil
}

// adkResult is what the typed tool returns; adk takes no bare text.
type adkResult struct {
	Weather string `json:"weather"`
}

func newADKTool(o Options) (tool.Tool, error) {
	if o.Typed {
		return functiontool.New(functiontool.Config{Name: work.Tool, Description: work.About},
			func(_ agent.Context, in work.Args) (adkResult, error) {
				o.called(in.Day)
				return adkResult{work.Answer}, nil
			})
	}
	return &adkRawTool{o: o}, nil
}

// adkRawTool is a tool.Tool that takes its arguments as adk hands them on: a
// decoded map.
type adkRawTool struct{ o Options }

// Name implements tool.Tool.
func (t *adkRawTool) Name() string { return work.Tool }

// Description implements tool.Tool.
func (t *adkRawTool) Description() string { return work.About }

// IsLongRunning implements tool.Tool.
func (t *adkRawTool) IsLongRunning() bool { return false }

// ProcessRequest puts the tool into the request, as adk's own function tools do.
func (t *adkRawTool) ProcessRequest(_ agent.Context, req *model.LLMRequest) error {
	return toolutils.PackTool(req, t)
}

// Declaration is what the model is told of the tool.
func (t *adkRawTool) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: work.Tool, Description: work.About}
}

// Run runs one call.
func (t *adkRawTool) Run(_ agent.Context, args any) (map[string]any, error) {
	m, ok := args.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("loops: adk hands on arguments as %T", args)
	}
	if day, ok := m["day"].(float64); ok {
		t.o.called(int(day))
	}
	return map[string]any{"weather": work.Answer}, nil
}
