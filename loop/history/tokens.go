package history

import (
	"unicode/utf8"

	"github.com/looptape/looptape/llm"
)

// The estimate of what nobody has counted yet: CharsPerToken characters of text
// are a token, rounded up in each part, and a media part is MediaTokens.
const (
	CharsPerToken = 4
	MediaTokens   = 250
)

// Anchor is a provider's count: the messages up to Index, and the system prompt,
// are Total tokens. An Index below 0 is no anchor.
type Anchor struct {
	Total int64 `json:"total"`
	Index int   `json:"index"`
}

var noAnchor = Anchor{Index: -1}

// EstimatedTokens is how many tokens the history is: the count of the anchor and an
// estimate of each message behind its index. Without an anchor it is an estimate of
// the system prompt and of all messages.
func (h *History) EstimatedTokens() int64 {
	h.mu.Lock()
	a, entries := h.anchor, h.entries
	h.mu.Unlock()
	if a.Index < 0 {
		a.Total = textTokens(h.System())
	}
	for _, e := range entries[a.Index+1:] {
		a.Total += Tokens(e.Message.Parts)
	}
	return a.Total
}

// RecordActualUsage makes a provider's count of the input tokens the anchor for the
// messages that are there now. Call it before the answer is appended. In an empty
// history it changes nothing.
func (h *History) RecordActualUsage(inputTokens int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.anchor = Anchor{Total: inputTokens, Index: len(h.entries) - 1}
}

// Tokens estimates parts: texts, reasoning, the names and arguments of calls, the
// content of results, media. What it does not know is nothing.
func Tokens(parts []llm.Part) (n int64) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			n += textTokens(p.Text)
		case llm.Reasoning:
			n += textTokens(p.Text)
		case llm.ToolCall:
			n += textTokens(p.Name + p.Arguments)
		case llm.ToolResult:
			n += Tokens(p.Content)
		case llm.Media:
			n += MediaTokens
		case llm.Unknown:
		}
	}
	return n
}

func textTokens(s string) int64 {
	return int64((utf8.RuneCountInString(s) + CharsPerToken - 1) / CharsPerToken)
}
