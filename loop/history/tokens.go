package history

import (
	"unicode/utf8"

	"github.com/looptape/looptape/llm"
)

// Constants of the token estimate: charsPerToken characters of text are one token, rounded up
// in each part. A media part has mediaTokens.
const (
	charsPerToken = 4
	mediaTokens   = 250
)

// Anchor is a token count from a provider: the system prompt and the messages up to Index have
// Total tokens. An Index below 0 means no anchor.
type Anchor struct {
	Total int64 `json:"total"`
	Index int   `json:"index"`
}

var noAnchor = Anchor{Index: -1}

// EstimatedTokens returns the estimated tokens of the history: the total of the anchor and an
// estimate of each later message. Without an anchor it estimates the system prompt and all
// messages.
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

// RecordActualUsage sets the anchor to the current messages with a provider's count of their
// input tokens. Call it before the response is appended. It does nothing if the history is
// empty.
func (h *History) RecordActualUsage(inputTokens int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.anchor = Anchor{Total: inputTokens, Index: len(h.entries) - 1}
}

// Tokens estimates the tokens of parts: text, reasoning, names and arguments of calls, content
// of results, and media. Unknown parts have 0 tokens.
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
			n += mediaTokens
		case llm.Unknown:
		}
	}
	return n
}

func textTokens(s string) int64 {
	return int64((utf8.RuneCountInString(s) + charsPerToken - 1) / charsPerToken)
}
