package quirk

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
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

// called returns the last message of the request that has calls, and their ids; -1
// if there is none.
func lastCalls(p *reply.Response) (at int, ids []string) {
	list := p.Request.Messages
	for i := len(list) - 1; i >= 0; i-- {
		for _, c := range list[i].Calls() {
			ids = append(ids, c.ID)
		}
		if ids != nil {
			return i, ids
		}
	}
	return -1, nil
}

// eachCall gives a turn other calls, each changed by f.
func eachCall(t *fake.Response, f func(i int, c *fake.Call)) bool {
	t.Calls = slices.Clone(t.Calls)
	for i := range t.Calls {
		f(i, &t.Calls[i])
	}
	return len(t.Calls) > 0
}

// silence takes all away that a model says in a turn, but for its usage.
func silence(t *fake.Response) {
	*t = fake.Response{
		Delay: t.Delay, EventInterval: t.EventInterval, Usage: t.Usage, ResponseID: t.ResponseID, Model: t.Model,
		FinishReason: llm.FinishStop, Error: t.Error, Err: t.Err, Stall: t.Stall,
	}
}
