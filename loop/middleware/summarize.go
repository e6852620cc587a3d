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

// The values that zero fields of a SummaryConfig stand for.
const (
	DefaultSummaryWindow  = 32768
	DefaultSummaryTrigger = 0.85
	DefaultSummaryReserve = 4096 // and an eighth of the window at most
	DefaultKeepMessages   = 6
	DefaultKeepShare      = 0.25
)

// SummaryConfig says when a conversation is summed up, and how. Its zero value works.
// Tokens are estimated as package history does.
type SummaryConfig struct {
	// Window is how many tokens the model takes.
	Window int
	// Trigger is the part of the window, above 0 up to 1, that a request may fill, and
	// Reserve how many tokens of it are left for the answer: the conversation is summed
	// up once it is over either.
	Trigger float64
	Reserve int
	// KeepMessages is how many of the newest messages are kept as they are, and
	// KeepShare the part of the window, above 0 and below 1, that they may be. Of what
	// the model needs to go on, more is kept: see Compact.
	KeepMessages int
	KeepShare    float64
	// Model writes the summaries; nil is the agent's. ModelName is what the request
	// calls it; empty is the name in the agent's requests.
	Model     llm.Model
	ModelName string
	// Prompt is the system prompt of the request; empty is one of this package's.
	Prompt string
	// Archive, if set, gets the messages that a summary is to stand for, once there is
	// one. Where it fails they stay in the conversation.
	Archive func(ctx context.Context, messages []llm.Message) error
}

// Summarizer sums conversations up. It may be used by many runs at once.
type Summarizer struct{ cfg SummaryConfig }

// NewSummarizer checks cfg; nil is the zero value.
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

// WarnSummary is the code of the warning that a conversation could not be summed up.
const WarnSummary = "summary"

// Policy sums up the conversation of a run before a model call that would be over the
// limit: a call for trace.PurposeSummary, and then a rewrite with the cause
// "compaction". Where that fails the run goes on with all messages and a warning.
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
			if err != nil && !over(ctx) { // what ended the run is for the loop to say
				return loop.StepChange{}, s.Warn(WarnSummary, "the conversation could not be summed up: "+err.Error())
			}
			if done == nil {
				return loop.StepChange{}, nil
			}
			return loop.StepChange{Decision: loop.Decision{Messages: done.Messages, Note: "compaction"}}, nil
		}}
	}}
}

// limit is how many tokens a request may have.
func (z *Summarizer) limit() float64 {
	return min(z.cfg.Trigger*float64(z.cfg.Window), float64(z.cfg.Window-z.cfg.Reserve))
}

// tokenCount estimates a conversation that grows, message by message.
type tokenCount struct {
	last  *llm.Part // of the messages that were counted
	n     int
	total int64
}

func (c *tokenCount) of(messages []llm.Message) int64 {
	if c.n > len(messages) || c.n > 0 && firstPart(messages[c.n-1]) != c.last { // it was rewritten
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

// setupCount estimates what stands outside of the messages, anew where that changes.
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

// sameTools reports whether two lists are one in memory. What a request holds is never
// changed in place.
func sameTools(a, b []llm.Tool) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
