package wire

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/fake"
)

// These change what a scripted turn says. A turn that is written as events is not
// changed.

// scripted returns a copy of the calls of a turn, with their arguments in one piece.
func scripted(t *fake.Response) []fake.Call {
	if t.Events != nil {
		return nil
	}
	calls := slices.Clone(t.Calls)
	for i := range calls {
		c := &calls[i]
		c.Arguments, c.Chunks = c.Arguments+strings.Join(c.Chunks, ""), nil
	}
	return calls
}

// cutLastCall cuts the arguments of the last call near their end.
func cutLastCall(t *fake.Response) bool {
	calls := scripted(t)
	n := len(calls) - 1
	if n < 0 || len(calls[n].Arguments) < 2 {
		return false
	}
	calls[n].Arguments, calls[n].OmitEnd = cutArgs(calls[n].Arguments), true
	t.Calls = calls
	return true
}

// cutArgs cuts arguments of two bytes or more near their end, between two characters.
func cutArgs(args string) string {
	at := max(len(args)-3, 1)
	for !utf8.RuneStart(args[at]) {
		at--
	}
	return args[:at]
}
