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
	used    map[string]struct{}
	pending []string
	minted  int             // in all accepted answers
	trying  int             // in this answer
	index   map[string]bool // of the first `indexed` pending ones, when they are many
	indexed int
}

func newIDSet(history []llm.Message) idSet {
	s := idSet{}
	s.takeAll(history)
	return s
}

// takeAll takes the ids of all calls in a list.
func (s *idSet) takeAll(list []llm.Message) {
	for _, m := range list {
		for _, p := range m.Parts {
			if c, ok := p.(llm.ToolCall); ok {
				s.take(c.ID)
			}
		}
	}
}

func (s *idSet) take(id string) {
	if s.used == nil {
		s.used = map[string]struct{}{}
	}
	s.used[id] = struct{}{}
}

// begin forgets the ids of an answer that was not accepted.
func (s *idSet) begin() { s.pending, s.trying, s.index, s.indexed = s.pending[:0], 0, nil, 0 }

// accept takes the ids of the answer.
func (s *idSet) accept() {
	for _, id := range s.pending {
		s.take(id)
	}
	s.minted += s.trying
	s.begin()
}

func (s *idSet) taken(id string) bool {
	if len(s.pending) > few {
		if s.index == nil {
			s.index = map[string]bool{}
		}
		for ; s.indexed < len(s.pending); s.indexed++ {
			s.index[s.pending[s.indexed]] = true
		}
		if s.index[id] {
			return true
		}
	} else if slices.Contains(s.pending, id) {
		return true
	}
	_, taken := s.used[id]
	return taken
}

// mint returns the id by which the loop knows a call.
func (s *idSet) mint(providerID string) (id string, minted bool) {
	id = providerID
	for id == "" || s.taken(id) {
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
		if id := mintedID(s.minted); !s.taken(id) {
			s.take(id)
			return id
		}
	}
}

func mintedID(n int) string { return "loop_call_" + strconv.Itoa(n) }

// adopt gives the calls of a turn that a policy made unique ids. It comes instead
// of the model's turn, if there was one, whose ids are free again.
func (s *idSet) adopt(turn, instead *llm.Turn) *llm.Turn {
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
			if minted && !c.Minted {
				c.ProviderID = c.ID
			}
			c.ID, c.Minted = id, c.Minted || minted
			p = c
		}
		out.Parts[i] = p
	}
	s.accept()
	return &out
}
