package quirk

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

// Edits of scripted responses leave responses alone that are written as events.

// scriptedCalls returns a copy of the calls, each with its arguments in one string.
func scriptedCalls(t *fake.Response) []fake.Call {
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

func truncateLastCall(t *fake.Response) bool {
	calls := scriptedCalls(t)
	n := len(calls) - 1
	if n < 0 || len(calls[n].Arguments) < 2 {
		return false
	}
	calls[n].Arguments, calls[n].OmitEnd = truncateArguments(calls[n].Arguments), true
	t.Calls = calls
	return true
}

// truncateArguments removes the last bytes of arguments of two bytes or more.
func truncateArguments(args string) string { return firstBytes(args, max(len(args)-3, 1)) }

func firstHalf(text string) string { return firstBytes(text, len(text)/2) }

// firstBytes returns at most n bytes of a text, up to a character boundary.
func firstBytes(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// lastCalls returns the last message of the request that has calls, and their ids; -1 if
// none has.
func lastCalls(p *reply.Response) (at int, ids []string) {
	for i, m := range slices.Backward(p.Request.Messages) {
		for _, c := range m.Calls() {
			ids = append(ids, c.ID)
		}
		if ids != nil {
			return i, ids
		}
	}
	return -1, nil
}

func eachCall(t *fake.Response, f func(i int, c *fake.Call)) bool {
	t.Calls = slices.Clone(t.Calls)
	for i := range t.Calls {
		f(i, &t.Calls[i])
	}
	return len(t.Calls) > 0
}

// clearContent removes the content of a response.
func clearContent(t *fake.Response) {
	*t = fake.Response{
		Delay: t.Delay, EventInterval: t.EventInterval, Usage: t.Usage, ResponseID: t.ResponseID, Model: t.Model,
		FinishReason: llm.FinishStop, Error: t.Error, Err: t.Err, Stall: t.Stall,
	}
}
