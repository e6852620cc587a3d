package loop

import (
	"slices"
	"strconv"

	"github.com/looptape/looptape/llm"
)

// idSet keeps the call ids of a run unique. A provider's id is kept unless it is
// empty or was used before, in the run or in the history it was given; then one
// is minted from a counter, so that a repeat mints the same.
//
// The ids of an answer are only taken for good when it is accepted: a retry may
// use them again.
type idSet struct {
	used    map[string]struct{} // those of the answer that is read among them
	pending []string            // which those are
	minted  int                 // in all accepted answers
	trying  int                 // in this answer
}

func newIDSet(history []llm.Message) idSet {
	s := idSet{used: map[string]struct{}{}}
	s.takeAll(history)
	return s
}

// takeAll takes the ids of all calls in a list. No answer is read then.
func (s *idSet) takeAll(list []llm.Message) {
	s.begin()
	for _, m := range list {
		for _, p := range m.Parts {
			if c, ok := p.(llm.ToolCall); ok {
				s.take(c.ID)
			}
		}
	}
}

// take takes an id and reports whether it was free.
func (s *idSet) take(id string) bool {
	n := len(s.used)
	s.used[id] = struct{}{}
	return len(s.used) > n
}

// begin gives back the ids of an answer that was not accepted.
func (s *idSet) begin() {
	for _, id := range s.pending {
		delete(s.used, id)
	}
	s.pending, s.trying = s.pending[:0], 0
}

// accept takes the ids of the answer for good.
func (s *idSet) accept() {
	s.minted += s.trying
	s.pending, s.trying = s.pending[:0], 0
}

// mint returns the id by which the loop knows a call.
func (s *idSet) mint(providerID string) (id string, minted bool) {
	id = providerID
	for id == "" || !s.take(id) {
		s.trying++
		id, minted = mintedID(s.minted+s.trying), true
	}
	s.pending = append(s.pending, id)
	return id, minted
}

// fresh returns an id that no call has, and takes it.
func (s *idSet) fresh() string {
	for {
		s.minted++
		if id := mintedID(s.minted); s.take(id) {
			return id
		}
	}
}

func mintedID(n int) string { return "loop_call_" + strconv.Itoa(n) }

// adopt gives the calls of a turn that a policy made unique ids. It comes instead
// of the model's turn, if there was one, whose ids are free again.
func (s *idSet) adopt(turn, instead *llm.Response) *llm.Response {
	s.begin()
	if instead != nil {
		for _, c := range instead.Calls() {
			delete(s.used, c.ID)
		}
	}
	out := *turn
	out.Warnings = slices.Clip(out.Warnings)
	out.Parts = make([]llm.Part, len(turn.Parts))
	for i, p := range turn.Parts {
		if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
			id, minted := s.mint(c.ID)
			if minted && !c.IDGenerated {
				c.ProviderID = c.ID
			}
			c.ID, c.IDGenerated = id, c.IDGenerated || minted
			p = c
		}
		out.Parts[i] = p
	}
	s.accept()
	return &out
}
