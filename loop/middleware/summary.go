package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/trace"
)

// Summarizer summarizes conversations when they become too long. Its zero value is ready to
// use. It is safe for use by many goroutines. Package history estimates the tokens.
type Summarizer struct {
	// Window is the context window of the model in tokens; 0 means 32768.
	Window int
	// Trigger is the maximum share of the window for a request, above 0 and up to 1; 0 means
	// 0.85. Reserve is the number of tokens reserved for the response; 0 means 4096 or an
	// eighth of the window, whichever is less. The conversation is summarized if a request
	// exceeds either limit.
	Trigger float64
	Reserve int
	// KeepMessages is the number of newest messages to keep; 0 means 6. KeepShare is the
	// maximum share of the window for them, above 0 and below 1; 0 means 0.25. More messages
	// are kept if necessary; see [Summarizer.Compact].
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

func (z Summarizer) filled() (Summarizer, error) {
	z.Window = cmp.Or(z.Window, 32768)
	z.Reserve = cmp.Or(z.Reserve, min(4096, z.Window/8))
	z.Trigger = cmp.Or(z.Trigger, 0.85)
	z.KeepMessages = cmp.Or(z.KeepMessages, 6)
	z.KeepShare = cmp.Or(z.KeepShare, 0.25)
	z.Prompt = cmp.Or(z.Prompt, summaryPrompt)
	switch {
	case z.Window < 0 || z.Reserve < 0 || z.KeepMessages < 0:
		return z, errors.New("middleware: Summarizer: Window, Reserve or KeepMessages is negative: use 0 for the default")
	case z.Reserve >= z.Window:
		return z, fmt.Errorf("middleware: Summarizer: the Reserve of %d tokens is not less than the Window of %d", z.Reserve, z.Window)
	case z.Trigger < 0 || z.Trigger > 1:
		return z, fmt.Errorf("middleware: Summarizer: the Trigger is %v: want a share of the window, above 0 and up to 1", z.Trigger)
	case z.KeepShare < 0 || z.KeepShare >= 1:
		return z, fmt.Errorf("middleware: Summarizer: the KeepShare is %v: want a share of the window, above 0 and below 1", z.KeepShare)
	}
	return z, nil
}

// Middleware summarizes the conversation of a run before a model call that would exceed the
// limit. It makes a model call with [trace.PurposeSummary] and rewrites the history with the
// reason "compaction". If this fails, the run continues with all messages and a warning.
// Middleware returns an error if a field is invalid.
func (z Summarizer) Middleware() (m loop.Middleware, err error) {
	if z, err = z.filled(); err != nil {
		return m, err
	}
	limit := min(z.Trigger*float64(z.Window), float64(z.Window-z.Reserve))
	return loop.Middleware{Name: "summarize", New: func(loop.RunInfo) loop.Hooks {
		var tokens tokenCounter
		return loop.Hooks{BeforeStep: func(ctx context.Context, s *loop.StepInfo) (c loop.StepChange, err error) {
			messages := s.History()
			if float64(tokens.conversation(messages)+tokens.setup(s.Request)) <= limit {
				return c, nil
			}
			done, err := z.summarize(ctx, messages, z.firstKept(messages), func(ctx context.Context, req *llm.Request) (*llm.Response, error) {
				req.Model = cmp.Or(req.Model, s.Request.Model)
				return s.CallModel(ctx, loop.ModelCall{Purpose: trace.PurposeSummary, Model: z.Model, Request: req})
			})
			switch {
			case err != nil && ctx.Err() == nil: // otherwise the loop reports why the run ended
				return c, s.Warn(WarnSummary, "the conversation was not summarized: "+err.Error())
			case done == nil:
				return c, nil
			}
			return compacted(done.Messages), nil
		}}
	}}, nil
}

// Compaction is the result of summarizing a conversation.
type Compaction struct {
	// Messages is the new conversation: the summary as a user message, a short assistant
	// message if a user message follows, and the kept messages.
	Messages []llm.Message
	// Summary is the text of the summary, and Replaced the messages that it replaces.
	Summary  string
	Replaced []llm.Message
}

// Compact summarizes a conversation of any length with the model that callModel calls. It
// returns nil if only an earlier summary precedes the kept messages. It returns an error if a
// field of z is invalid, or callModel or the archive fails.
//
// The kept messages, which the fields of z limit, begin with the first user message within the
// limit, otherwise with the first assistant message, so a call and its results stay together.
// If nothing would precede them, they begin with the last user message.
func (z Summarizer) Compact(ctx context.Context, messages []llm.Message, callModel func(context.Context, *llm.Request) (*llm.Response, error)) (*Compaction, error) {
	z, err := z.filled()
	if err != nil {
		return nil, err
	}
	first := z.firstKept(messages)
	if first <= summaryLength(messages) {
		for first = len(messages) - 1; first > 0 && !isUser(messages[first]); {
			first--
		}
	}
	return z.summarize(ctx, messages, first, callModel)
}

func (z Summarizer) firstKept(messages []llm.Message) int {
	from, tokens := len(messages), int64(0)
	for from > 0 && len(messages)-from < z.KeepMessages {
		tokens += history.Tokens(messages[from-1].Parts)
		if float64(tokens) > z.KeepShare*float64(z.Window) {
			break
		}
		from--
	}
	for _, role := range []llm.Role{llm.RoleUser, llm.RoleAssistant} {
		if i := slices.IndexFunc(messages[from:], func(m llm.Message) bool { return m.Role == role }); i >= 0 {
			return from + i
		}
	}
	for from = len(messages) - 1; from > 0 && messages[from].Role == llm.RoleTool; { // the last step alone is too long
		from--
	}
	return from
}

// summarize replaces the messages before index first with a summary.
func (z Summarizer) summarize(ctx context.Context, messages []llm.Message, first int, callModel func(context.Context, *llm.Request) (*llm.Response, error)) (*Compaction, error) {
	if first <= summaryLength(messages) {
		return nil, nil
	}
	old, kept := messages[:first], messages[first:]
	response, err := callModel(ctx, &llm.Request{Model: z.ModelName, System: llm.SystemText(z.Prompt), Messages: []llm.Message{llm.User(transcript(old))}})
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(response.Text())
	if text == "" {
		return nil, errors.New("the summary is empty")
	}
	if z.Archive != nil {
		if err := z.Archive(ctx, slices.Clone(old)); err != nil {
			return nil, fmt.Errorf("archiving the replaced messages: %w", err)
		}
	}
	out := []llm.Message{llm.User(summaryHead + text)}
	if isUser(kept[0]) {
		out = append(out, llm.Assistant(llm.Text{Text: summaryRead}))
	}
	return &Compaction{Messages: append(out, kept...), Summary: text, Replaced: slices.Clone(old)}, nil
}

// Texts of a summary.
const (
	summaryHead   = "This is a summary of the conversation so far:\n\n"
	summaryRead   = "I have read the summary and go on from there."
	summaryPrompt = "You sum up the first part of a conversation between a user and an assistant that works with tools. " +
		"The assistant will go on from your summary alone: keep what the user wants, what was decided, what was found out " +
		"(names, paths, numbers, errors) and what is left to do. Answer with the summary and nothing else."
)

// summaryLength returns the number of messages of an earlier summary at the beginning.
func summaryLength(messages []llm.Message) int {
	switch {
	case len(messages) == 0 || !isSummary(messages[0]):
		return 0
	case len(messages) > 1 && messages[1].Text() == summaryRead:
		return 2
	}
	return 1
}

func isSummary(m llm.Message) bool { return isUser(m) && strings.HasPrefix(m.Text(), summaryHead) }

// transcript formats messages as text. It truncates all texts except that of an earlier
// summary.
func transcript(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		limit := 4000
		if isSummary(m) {
			limit = len(m.Text())
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				fmt.Fprintf(&b, "%s: %s\n", m.Role, truncate(p.Text, limit))
			case llm.ToolCall:
				fmt.Fprintf(&b, "%s calls %s: %s\n", m.Role, p.Name, truncate(p.Arguments, limit))
			case llm.ToolResult:
				fmt.Fprintf(&b, "%s returns: %s\n", p.Name, truncate(p.Text(), limit))
			case llm.Media:
				fmt.Fprintf(&b, "%s: (%s)\n", m.Role, p.MediaType)
			case llm.Reasoning, llm.Unknown:
			}
		}
	}
	return b.String()
}

// tokenCounter estimates a growing conversation, and its system prompt and tools, again only
// after changes.
type tokenCounter struct {
	last     *llm.Part // of the counted messages
	counted  int
	messages int64

	system llm.System
	tools  []llm.Tool
	others int64 // of the system prompt and the tools
}

func (c *tokenCounter) conversation(messages []llm.Message) int64 {
	if c.counted > len(messages) || c.counted > 0 && firstPart(messages[c.counted-1]) != c.last { // the history was rewritten
		c.counted, c.messages = 0, 0
	}
	for _, m := range messages[c.counted:] {
		c.messages += history.Tokens(m.Parts)
		c.last = firstPart(m)
	}
	c.counted = len(messages)
	return c.messages
}

func firstPart(m llm.Message) *llm.Part {
	if len(m.Parts) == 0 {
		return nil
	}
	return &m.Parts[0]
}

// setup compares the memory of the tools: those of a request are never changed in place.
func (c *tokenCounter) setup(req *llm.Request) int64 {
	sameTools := len(c.tools) == len(req.Tools) && (len(c.tools) == 0 || &c.tools[0] == &req.Tools[0])
	if c.others > 0 && slices.Equal(c.system, req.System) && sameTools {
		return c.others
	}
	c.system, c.tools = req.System, req.Tools
	parts := []llm.Part{llm.Text{Text: req.System.Text()}}
	for _, t := range req.Tools {
		parts = append(parts, llm.Text{Text: t.Name + t.Description + string(t.Parameters)})
	}
	c.others = history.Tokens(parts)
	return c.others
}
