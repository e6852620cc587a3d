// Package conversation checks and repairs the messages of a run: tool calls with
// their results, call ids, roles and parts.
package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// Problem is a reason why providers reject a list of messages.
type Problem struct {
	Message int    // index
	Part    int    // index in the message; -1 if the problem is the message itself
	Text    string // what is wrong, and what to do
}

// Check reports the first problem in a list of messages that cannot be repaired, or the
// first one that [Repair] repairs. With resume the list ends with calls without results.
func Check(messages []llm.Message, resume bool) (repairable, fatal *Problem) {
	var open pending
	var at int // the message with the open calls
	seen := map[string]bool{}
	canRepair := func(message, part int, text string) {
		if repairable == nil {
			repairable = &Problem{message, part, text}
		}
	}
	for i, m := range messages {
		if m.Role != llm.RoleTool && open.left > 0 {
			return nil, unanswered(at, &open)
		}
		if text := checkMessage(m); text != "" {
			return nil, &Problem{i, -1, text}
		}
		executed := executedCalls{parts: m.Parts}
		for j, p := range m.Parts {
			if text := checkPart(m, p, &executed); text != "" {
				return nil, &Problem{i, j, text}
			}
			switch p := p.(type) {
			case llm.ToolCall:
				if p.ProviderExecuted {
					continue
				}
				if p.ID == "" || seen[p.ID] {
					canRepair(i, j, fmt.Sprintf("the call id %q is empty or belongs to an earlier call; give the call an id of its own", p.ID))
				}
				open.call(p.ID)
				at, seen[p.ID] = i, true
			case llm.ToolResult:
				if m.Role == llm.RoleAssistant {
					continue // of a call that the provider executed
				}
				next := open.first
				k := open.result(p.ID)
				if k < 0 {
					return nil, &Problem{i, j, fmt.Sprintf("the result %q has no unanswered call in the assistant message before it; remove the result", p.ID)}
				}
				if k > next && !resume { // Repair needs all results
					canRepair(i, j, fmt.Sprintf("the result %q comes before the result of an earlier call; put results in the order of their calls", p.ID))
				}
			case llm.Text, llm.Reasoning, llm.Media, llm.Unknown:
			}
		}
	}
	switch {
	case resume && open.left == 0:
		return nil, &Problem{len(messages) - 1, -1, "no call without a result to resume; leave Input.Resume out"}
	case resume && repairable != nil:
		return nil, repairable
	case !resume && open.left > 0:
		return nil, unanswered(at, &open)
	}
	return repairable, nil
}

func unanswered(at int, open *pending) *Problem {
	return &Problem{at, -1, fmt.Sprintf("the call %q has no result directly after it; append a tool message with one result for each call", open.ids[open.first])}
}

// checkMessage returns the problem of a message, except those of its parts.
func checkMessage(m llm.Message) string {
	switch m.Role {
	case llm.RoleSystem, llm.RoleUser:
	case llm.RoleAssistant:
		if IsEmpty(m.Parts) {
			return "the assistant message is empty; remove it"
		}
	case llm.RoleTool:
		if len(m.Parts) == 0 {
			return "the tool message has no result; remove it"
		}
	default:
		return fmt.Sprintf("unknown role %q; use system, user, assistant or tool", m.Role)
	}
	return checkOpaque(m.Opaque)
}

// IsEmpty reports whether parts contain nothing but empty texts.
func IsEmpty(parts []llm.Part) bool {
	for _, p := range parts {
		if t, ok := p.(llm.Text); !ok || t.Text != "" || t.Opaque != nil {
			return false
		}
	}
	return true
}

// checkPart returns the problem of a part of m.
func checkPart(m llm.Message, p llm.Part, executed *executedCalls) string {
	switch p := p.(type) {
	case nil:
		return "the part is nil; remove it"
	case llm.ToolCall:
		if m.Role != llm.RoleAssistant {
			return fmt.Sprintf("the call %q is in a message of role %q; only an assistant message has calls", p.ID, m.Role)
		}
		return checkOpaque(p.Opaque)
	case llm.Reasoning:
		if m.Role != llm.RoleAssistant {
			return fmt.Sprintf("reasoning is in a message of role %q; only an assistant message has reasoning", m.Role)
		}
		return checkOpaque(p.Opaque)
	case llm.ToolResult:
		switch {
		case m.Role == llm.RoleAssistant && !executed.has(p.ID):
			return fmt.Sprintf("the result %q has no call in this message that the provider executed; put it into a tool message", p.ID)
		case m.Role != llm.RoleTool && m.Role != llm.RoleAssistant:
			return fmt.Sprintf("the result %q is in a message of role %q; put it into a tool message", p.ID, m.Role)
		case slices.ContainsFunc(p.Content, IsNil):
			return fmt.Sprintf("the result %q has a part that is nil; remove the part", p.ID)
		}
		return checkOpaque(p.Opaque)
	case llm.Text:
		return cmp.Or(checkOther(m), checkOpaque(p.Opaque))
	case llm.Media:
		return cmp.Or(checkOther(m), checkOpaque(p.Opaque))
	case llm.Unknown:
		return cmp.Or(checkOther(m), checkOpaque(p.Raw))
	}
	return ""
}

// IsNil reports whether p is nil.
func IsNil(p llm.Part) bool { return p == nil }

// checkOther is checkPart for parts other than calls and results.
func checkOther(m llm.Message) string {
	if m.Role == llm.RoleTool {
		return "a tool message may contain results only; put other parts into another message"
	}
	return ""
}

func checkOpaque(raw json.RawMessage) string {
	if raw != nil && !jsonio.Valid(raw) {
		return "its opaque data is not JSON"
	}
	return ""
}
