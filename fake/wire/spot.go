package wire

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/looptape/looptape/fake"
)

// spot is where an answer stands: in a script and, in Responses, whose clients go on
// from an answer by its id alone, in one of the conversations of a lane.
type spot struct {
	fake.Place
	talk string // made by talkOf; empty in the other protocols
}

// talkOf tells conversations apart by their hashes.
func talkOf(hash uint64) string { return fmt.Sprintf("%08x", uint32(hash^hash>>32)) }

// name tells answers apart. The turn, the attempt and the conversation can be read
// from it (see spotOf).
func (s spot) name() string {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%q %d %d", s.Session, s.Response, s.Attempt) // a hash takes all
	return fmt.Sprintf("%04x%04x%08x%s", s.Response, s.Attempt, h.Sum32(), s.talk)
}

// spotOf returns the spot in a lane of Responses that text is the name of; ok is false
// if there is none.
func spotOf(lane, text string) (s spot, ok bool) {
	const digits = 16 // before those of the conversation
	if len(text) != digits+len(talkOf(0)) {
		return s, false
	}
	s.Session, s.talk = lane, text[digits:]
	_, err := strconv.ParseUint(s.talk, 16, 32)
	n, _ := fmt.Sscanf(text, "%04x%04x", &s.Response, &s.Attempt)
	return s, err == nil && n == 2 && s.Response >= 0 && s.Attempt >= 1 && s.name() == text
}
