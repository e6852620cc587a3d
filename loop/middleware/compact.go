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

// AskModel makes a model call.
type AskModel func(ctx context.Context, req *llm.Request) (*llm.Response, error)

// Compaction is what summing a conversation up has come to.
type Compaction struct {
	// Messages are the conversation from now on: the summary as a message of a user,
	// a word of the assistant's where a user's message follows, and what was kept.
	Messages []llm.Message
	// Summary is the text of the summary, and Replaced what it stands for.
	Summary  string
	Replaced []llm.Message
}

// Compact sums a conversation up, however short it is. It returns nil where there is
// nothing to do: no message, or none but an earlier summary, before what is kept.
//
// Of the newest messages, as many as the SummaryConfig says, what is kept begins with
// the first of a user, else with the first of an assistant, whose results follow: a
// call and its results are never parted. Where nothing would be before it, it begins
// with the last message of a user.
func (z *Summarizer) Compact(ctx context.Context, messages []llm.Message, ask AskModel) (*Compaction, error) {
	cut := z.cut(messages)
	if cut <= summaries(messages) {
		cut = lastUser(messages)
	}
	return z.sumUp(ctx, messages, cut, ask)
}

// cut is where what is kept begins.
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

// sumUp puts a summary in the place of the messages before cut.
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

// The texts of a summary.
const (
	summaryHead   = "This is a summary of the conversation so far:\n\n"
	summaryTaken  = "I have read the summary and go on from there."
	summaryPrompt = "You sum up the first part of a conversation between a user and an assistant that works with tools. " +
		"The assistant will go on from your summary alone: keep what the user wants, what was decided, what was found out " +
		"(names, paths, numbers, errors) and what is left to do. Answer with the summary and nothing else."
)

// summaries is how many messages an earlier summary has at the beginning.
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

// transcriptText is how many characters of a text are in a transcript.
const transcriptText = 4000

// transcript writes messages down for a model that is not one of those who speak.
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
