package middleware

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/history"
)

// AskModel calls a model.
type AskModel func(ctx context.Context, req *llm.Request) (*llm.Response, error)

// Compaction is the result of summarizing a conversation.
type Compaction struct {
	// Messages is the new conversation: the summary as a user message, a short assistant
	// message if a user message follows, and the kept messages.
	Messages []llm.Message
	// Summary is the text of the summary, and Replaced the messages that it replaces.
	Summary  string
	Replaced []llm.Message
}

// Compact summarizes a conversation of any length. It returns nil if no message precedes the
// kept messages except an earlier summary.
//
// The SummaryConfig limits the newest messages to keep. They begin with the first user message
// within the limit, otherwise with the first assistant message, so a call and its results stay
// together. If nothing would precede them, they begin with the last user message.
func (z *Summarizer) Compact(ctx context.Context, messages []llm.Message, ask AskModel) (*Compaction, error) {
	cut := z.cut(messages)
	if cut <= summaries(messages) {
		cut = lastUser(messages)
	}
	return z.sumUp(ctx, messages, cut, ask)
}

// cut returns the index of the first kept message.
func (z *Summarizer) cut(messages []llm.Message) int {
	from, tokens := len(messages), int64(0)
	for from > 0 && len(messages)-from < z.cfg.KeepMessages {
		tokens += history.Tokens(messages[from-1].Parts)
		if float64(tokens) > z.cfg.KeepShare*float64(z.cfg.Window) {
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

func lastUser(messages []llm.Message) int {
	for i, m := range slices.Backward(messages) {
		if m.Role == llm.RoleUser {
			return i
		}
	}
	return 0
}

// sumUp replaces the messages before cut with a summary.
func (z *Summarizer) sumUp(ctx context.Context, messages []llm.Message, cut int, ask AskModel) (*Compaction, error) {
	if cut <= summaries(messages) {
		return nil, nil
	}
	old, kept := messages[:cut], messages[cut:]
	turn, err := ask(ctx, &llm.Request{Model: z.cfg.ModelName, System: z.cfg.Prompt, Messages: []llm.Message{llm.User(transcript(old))}})
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(turn.Text())
	if text == "" {
		return nil, errors.New("the summary is empty")
	}
	if z.cfg.Archive != nil {
		if err := z.cfg.Archive(ctx, slices.Clone(old)); err != nil {
			return nil, fmt.Errorf("archiving what it stands for: %w", err)
		}
	}
	out := []llm.Message{llm.User(summaryHead + text)}
	if kept[0].Role == llm.RoleUser {
		out = append(out, llm.Assistant(llm.Text{Text: summaryTaken}))
	}
	return &Compaction{Messages: append(out, kept...), Summary: text, Replaced: slices.Clone(old)}, nil
}

// Texts of a summary.
const (
	summaryHead   = "This is a summary of the conversation so far:\n\n"
	summaryTaken  = "I have read the summary and go on from there."
	summaryPrompt = "You sum up the first part of a conversation between a user and an assistant that works with tools. " +
		"The assistant will go on from your summary alone: keep what the user wants, what was decided, what was found out " +
		"(names, paths, numbers, errors) and what is left to do. Answer with the summary and nothing else."
)

// summaries returns the number of messages of an earlier summary at the beginning.
func summaries(messages []llm.Message) int {
	switch {
	case len(messages) == 0 || !isSummary(messages[0]):
		return 0
	case len(messages) > 1 && messages[1].Text() == summaryTaken:
		return 2
	}
	return 1
}

func isSummary(m llm.Message) bool {
	return m.Role == llm.RoleUser && strings.HasPrefix(m.Text(), summaryHead)
}

// transcriptText is the maximum number of characters per text in a transcript.
const transcriptText = 4000

// transcript formats messages for a model that does not take part in the conversation.
func transcript(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		limit := transcriptText
		if isSummary(m) {
			limit = len(m.Text())
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				fmt.Fprintf(&b, "%s: %s\n", m.Role, cut(p.Text, limit))
			case llm.ToolCall:
				fmt.Fprintf(&b, "%s calls %s: %s\n", m.Role, p.Name, cut(p.Arguments, limit))
			case llm.ToolResult:
				fmt.Fprintf(&b, "%s returns: %s\n", p.Name, cut(p.Text(), limit))
			case llm.Media:
				fmt.Fprintf(&b, "%s: (%s)\n", m.Role, p.MediaType)
			case llm.Reasoning, llm.Unknown:
			}
		}
	}
	return b.String()
}
