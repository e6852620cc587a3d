package middleware

import (
	"context"
	"errors"
	"fmt"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/trace"
)

// Default values of zero [SummaryConfig] fields.
const (
	DefaultSummaryWindow  = 32768
	DefaultSummaryTrigger = 0.85
	DefaultSummaryReserve = 4096 // at most an eighth of the window
	DefaultKeepMessages   = 6
	DefaultKeepShare      = 0.25
)

// SummaryConfig configures when and how a conversation is summarized. Its zero value is ready
// to use. Package history estimates the tokens.
type SummaryConfig struct {
	// Window is the context window of the model in tokens.
	Window int
	// Trigger is the maximum share of the window for a request, above 0 and up to 1. Reserve
	// is the number of tokens reserved for the response. The conversation is summarized if a
	// request exceeds either limit.
	Trigger float64
	Reserve int
	// KeepMessages is the number of newest messages to keep. KeepShare is the maximum share of
	// the window for them, above 0 and below 1. Compact may keep more messages; see
	// [Summarizer.Compact].
	KeepMessages int
	KeepShare    float64
	// Model writes the summaries; nil means the model of the agent. ModelName is the model
	// name in the request; empty means that of the agent's requests.
	Model     llm.Model
	ModelName string
	// Prompt is the system prompt of the request; empty means the default prompt.
	Prompt string
	// Archive receives the messages that a summary will replace; nil means no archive. If it
	// returns an error, the messages stay in the conversation.
	Archive func(ctx context.Context, messages []llm.Message) error
}

// Summarizer summarizes conversations. It is safe for use by many goroutines.
type Summarizer struct{ cfg SummaryConfig }

// NewSummarizer returns a Summarizer; a nil cfg means the zero value. It returns an error if
// cfg is invalid.
func NewSummarizer(cfg *SummaryConfig) (*Summarizer, error) {
	z := &Summarizer{}
	if cfg != nil {
		z.cfg = *cfg
	}
	z.cfg.fill()
	c := z.cfg
	switch {
	case c.Window < 0 || c.Reserve < 0 || c.KeepMessages < 0:
		return nil, errors.New("middleware: NewSummarizer: of Window, Reserve and KeepMessages none may be negative")
	case c.Reserve >= c.Window:
		return nil, fmt.Errorf("middleware: NewSummarizer: the Reserve of %d tokens leaves nothing of the Window of %d", c.Reserve, c.Window)
	case c.Trigger < 0 || c.Trigger > 1:
		return nil, fmt.Errorf("middleware: NewSummarizer: the Trigger is %v; it is a part of the window, above 0 up to 1", c.Trigger)
	case c.KeepShare < 0 || c.KeepShare >= 1:
		return nil, fmt.Errorf("middleware: NewSummarizer: the KeepShare is %v; it is a part of the window, above 0 and below 1", c.KeepShare)
	}
	return z, nil
}

func (c *SummaryConfig) fill() {
	if c.Window == 0 {
		c.Window = DefaultSummaryWindow
	}
	if c.Reserve == 0 {
		c.Reserve = min(DefaultSummaryReserve, c.Window/8)
	}
	if c.Trigger == 0 {
		c.Trigger = DefaultSummaryTrigger
	}
	if c.KeepMessages == 0 {
		c.KeepMessages = DefaultKeepMessages
	}
	if c.KeepShare == 0 {
		c.KeepShare = DefaultKeepShare
	}
	if c.Prompt == "" {
		c.Prompt = summaryPrompt
	}
}

// WarnSummary is the code of the warning that a summary failed.
const WarnSummary = "summary"

// Middleware summarizes the conversation of a run before a model call that would exceed the
// limit. It makes a model call with trace.PurposeSummary and rewrites the history with the
// reason "compaction". If this fails, the run continues with all messages and a warning.
func (z *Summarizer) Middleware() loop.Middleware {
	return loop.Middleware{Name: "summarize", New: func(loop.RunInfo) loop.Hooks {
		var count tokenCount
		var setup setupCount
		return loop.Hooks{BeforeStep: func(ctx context.Context, s *loop.StepInfo) (loop.StepChange, error) {
			messages := s.History()
			if float64(count.of(messages)+setup.of(s.Request)) <= z.limit() {
				return loop.StepChange{}, nil
			}
			ask := func(ctx context.Context, req *llm.Request) (*llm.Response, error) {
				if req.Model == "" {
					req.Model = s.Request.Model
				}
				return s.CallModel(ctx, loop.ModelCall{Purpose: trace.PurposeSummary, Model: z.cfg.Model, Request: req})
			}
			done, err := z.sumUp(ctx, messages, z.cut(messages), ask)
			if err != nil && !over(ctx) { // the loop reports why the run ended
				return loop.StepChange{}, s.Warn(WarnSummary, "the conversation could not be summed up: "+err.Error())
			}
			if done == nil {
				return loop.StepChange{}, nil
			}
			return loop.StepChange{Decision: loop.Decision{Messages: done.Messages, Note: "compaction"}}, nil
		}}
	}}
}

// limit returns the maximum number of tokens of a request.
func (z *Summarizer) limit() float64 {
	return min(z.cfg.Trigger*float64(z.cfg.Window), float64(z.cfg.Window-z.cfg.Reserve))
}

// tokenCount estimates a growing conversation incrementally.
type tokenCount struct {
	last  *llm.Part // of the counted messages
	n     int
	total int64
}

func (c *tokenCount) of(messages []llm.Message) int64 {
	if c.n > len(messages) || c.n > 0 && firstPart(messages[c.n-1]) != c.last { // the history was rewritten
		*c = tokenCount{}
	}
	for _, m := range messages[c.n:] {
		c.total += history.Tokens(m.Parts)
		c.last = firstPart(m)
	}
	c.n = len(messages)
	return c.total
}

func firstPart(m llm.Message) *llm.Part {
	if len(m.Parts) == 0 {
		return nil
	}
	return &m.Parts[0]
}

// setupCount estimates the system prompt and the tools, again after each change.
type setupCount struct {
	system string
	tools  []llm.Tool
	total  int64
}

func (c *setupCount) of(req *llm.Request) int64 {
	if c.total > 0 && c.system == req.System && sameTools(c.tools, req.Tools) {
		return c.total
	}
	c.system, c.tools = req.System, req.Tools
	parts := []llm.Part{llm.Text{Text: req.System}}
	for _, t := range req.Tools {
		parts = append(parts, llm.Text{Text: t.Name + t.Description + string(t.Parameters)})
	}
	c.total = history.Tokens(parts)
	return c.total
}

// sameTools reports whether two lists share their memory. The elements of a request are never
// changed in place.
func sameTools(a, b []llm.Tool) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
