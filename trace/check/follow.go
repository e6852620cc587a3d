package check

import (
	"bytes"

	"github.com/looptape/looptape/llm"
)

// Follow holds what a client sends behind messages that it has sent before against
// what the model said to those: the answer comes back first, with its calls (INV-01),
// its words and arguments (INV-05) and its opaque data in their places (INV-22). The
// rest of next is for Messages to check. Event is at, the index of next[0] among all
// messages of the request.
func Follow(run string, at int, said llm.Message, next []llm.Message) []Violation {
	var found []Violation
	s := &sink{run: run, event: at, found: &found}
	if empty(said) {
		return nil // nobody sends an empty turn
	}
	if len(next) == 0 || next[0].Role != llm.RoleAssistant {
		s.report(invAppendOnly, "the assistant turn is left out, and it said %s", brief(said))
		return found
	}
	echo := next[0]
	was, is := spoken(said.Parts), spoken(echo.Parts)
	kept, wrong := retold(said.Parts, echo.Parts)
	switch {
	case kept < was.calls:
		s.report(invPairing, "the assistant turn is sent back with %d of its %d calls", kept, was.calls)
		return found
	case is.calls > was.calls:
		s.report(invPairing, "the assistant turn is sent back with %d calls, and the model made %d", is.calls, was.calls)
		return found
	case carries(said):
		if lost := unlike(&said, &echo, was.words == is.words); lost != "" {
			s.report(invOpaqueEcho, "the assistant turn is sent back with %s", lost)
			return found
		}
	}
	switch {
	case wrong != "":
	case was.words != is.words:
		wrong = "another text"
	case was.wholes+is.wholes > 0 && !bytes.Equal(wholes(said.Parts), wholes(echo.Parts)):
		wrong = "other media or calls that the provider ran"
	}
	if wrong != "" {
		s.report(invAppendOnly, "the assistant turn is sent back with %s", wrong)
	}
	return found
}

// brief names what a message holds.
func brief(m llm.Message) string {
	for _, p := range m.Parts {
		switch p := p.(type) {
		case llm.ToolCall:
			return "the call " + quoted(p.ID)
		case llm.Text:
			if p.Text != "" {
				return quoted(p.Text)
			}
		case llm.Reasoning, llm.Media, llm.ToolResult, llm.Unknown:
		}
	}
	return "something"
}
