package conversation

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/looptape/looptape/llm"
)

// This file has what a model call needs of a conversation: the comparison of messages, the
// ids of calls, and the repair of a response.

// CommonPrefix counts the messages that a and b begin with.
func CommonPrefix(a, b []llm.Message) int {
	n := min(len(a), len(b))
	if n == 0 || &a[0] == &b[0] {
		return n
	}
	for i := range n {
		if !equalMessage(&a[i], &b[i]) {
			return i
		}
	}
	return n
}

// Equal reports whether two lists have the same messages.
func Equal(a, b []llm.Message) bool { return len(a) == len(b) && CommonPrefix(a, b) == len(a) }

// equalMessage compares the parts by identity where it can.
func equalMessage(a, b *llm.Message) bool {
	if len(a.Parts) == len(b.Parts) && len(a.Parts) > 0 && &a.Parts[0] == &b.Parts[0] {
		return a.Role == b.Role && bytes.Equal(a.Opaque, b.Opaque)
	}
	return bytes.Equal(a.AppendJSON(nil), b.AppendJSON(nil))
}

// IDs keeps the call ids of a run unique. It keeps a provider's id unless the id is
// empty or used before, in the run or its input; then it generates one from a
// counter, so that a repeated run gets the same ids.
//
// The ids of a response are reserved until the response is accepted: a retry may use
// them again.
type IDs struct {
	used      map[string]struct{} // the reserved ids included
	reserved  []string
	generated int // in accepted responses
	trying    int // in the current response
}

// NewIDs returns the ids of the calls in a history.
func NewIDs(history []llm.Message) IDs {
	s := IDs{used: map[string]struct{}{}}
	s.AddAll(history)
	return s
}

// AddAll adds the ids of all calls in a list. It drops the reserved ids.
func (s *IDs) AddAll(list []llm.Message) {
	s.Reset()
	for _, m := range list {
		for _, p := range m.Parts {
			if c, ok := p.(llm.ToolCall); ok {
				s.add(c.ID)
			}
		}
	}
}

// add adds an id and reports whether it was unused.
func (s *IDs) add(id string) bool {
	n := len(s.used)
	s.used[id] = struct{}{}
	return len(s.used) > n
}

// Reset drops the reserved ids.
func (s *IDs) Reset() {
	for _, id := range s.reserved {
		delete(s.used, id)
	}
	s.reserved, s.trying = s.reserved[:0], 0
}

// Accept keeps the reserved ids.
func (s *IDs) Accept() {
	s.generated += s.trying
	s.reserved, s.trying = s.reserved[:0], 0
}

// Reserve returns the id of a call in the current response.
func (s *IDs) Reserve(providerID string) (id string, generated bool) {
	id = providerID
	for id == "" || !s.add(id) {
		s.trying++
		id, generated = generatedID(s.generated+s.trying), true
	}
	s.reserved = append(s.reserved, id)
	return id, generated
}

// fresh returns an unused id and adds it.
func (s *IDs) fresh() string {
	for {
		s.generated++
		if id := generatedID(s.generated); s.add(id) {
			return id
		}
	}
}

func generatedID(n int) string { return "loop_call_" + strconv.Itoa(n) }

// Adopt returns a copy of a response of middleware, whose calls have unique ids. The
// ids of the response that it replaces, which may be nil, are unused again.
func (s *IDs) Adopt(response, replaced *llm.Response) *llm.Response {
	s.Reset()
	if replaced != nil {
		for _, c := range replaced.Calls() {
			delete(s.used, c.ID)
		}
	}
	out := *response
	out.Warnings = slices.Clip(out.Warnings)
	out.Parts = make([]llm.Part, len(response.Parts))
	for i, p := range response.Parts {
		if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
			id, generated := s.Reserve(c.ID)
			if generated && !c.IDGenerated {
				c.ProviderID = c.ID
			}
			c.ID, c.IDGenerated = id, c.IDGenerated || generated
			p = c
		}
		out.Parts[i] = p
	}
	s.Accept()
	return &out
}

// UnnamedTool is the name of calls without one. WarnNoName and WarnNoCall are codes of
// the warnings of [RepairResponse].
const (
	UnnamedTool = "unnamed_tool"
	WarnNoName  = "missing_name"
	WarnNoCall  = "result_without_call"
)

// RepairResponse names calls without a name, removes nil parts, and removes results
// of calls that the provider did not execute: providers reject them in a history.
// It changes the response and appends warnings to it.
func RepairResponse(response *llm.Response) {
	kept, executed := response.Parts[:0], executedCalls{parts: response.Parts}
	for _, p := range response.Parts {
		switch x := p.(type) {
		case llm.ToolCall:
			if x.Name == "" {
				x.Name = UnnamedTool
				p = x
				response.Warnings = append(response.Warnings, llm.Warning{Code: WarnNoName, Message: "the call " + x.ID + " names no tool"})
			}
		case llm.ToolResult:
			if !executed.has(x.ID) {
				response.Warnings = append(response.Warnings, llm.Warning{Code: WarnNoCall, Message: "removed the result " + strconv.Quote(x.ID) + ": the provider executed no call with this id"})
				continue
			}
		case nil: // of middleware
			continue
		case llm.Text, llm.Reasoning, llm.Media, llm.Unknown:
		}
		kept = append(kept, p)
	}
	response.Parts = slices.Clip(kept)
}
