package quirk

import (
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

var chatArgumentQuirks = []Form{
	inScript(onChat("QO-03", "length", "the response is truncated within the arguments of its last call, and the finish reason is length"), func(t *fake.Response) bool { return truncateBy(llm.FinishLength, t) }),
	inScript(onChat("QO-03", "tool_calls", "the response is truncated within the arguments of its last call, and the finish reason is tool_calls"), func(t *fake.Response) bool { return truncateBy(llm.FinishToolCalls, t) }),
	inChat("QO-03", "whole", "the finish reason is length, and the arguments of the last call look complete", func(r *reply.Reply) bool {
		return len(callDeltas(r)) > 0 && finishWith(r, "length")
	}),
	inChunks("QO-12", "", "each delta of the arguments repeats all before it", repeatArguments),
	inChunks("QO-13", "equal", "the arguments come again at the end", func(r *reply.Reply) bool {
		return flush(r, func(args string) string { return args })
	}),
	inChunks("QO-13", "unequal", "the arguments come again at the end, changed", func(r *reply.Reply) bool {
		return flush(r, func(args string) string { return reply.Put(args, "again", "true") })
	}),
	inChunks("QO-14", "placeholder", "the arguments are {} at first, and then the real ones", func(r *reply.Reply) bool {
		all := callArguments(r)
		return firstDeltas(func(call int, delta string) string {
			if !isWhole(all[call]) {
				return delta
			}
			return reply.Put(delta, argsPath, reply.Quote("{}"+gjson.Get(delta, argsPath).String()))
		})(r)
	}),
	inChunks("QO-14", "space", "white space follows the complete arguments", func(r *reply.Reply) bool {
		return afterArguments(r, func(string) string { return " \n" })
	}),
	inChunks("QO-14", "scalar", "the arguments are 1, and then 2", func(r *reply.Reply) bool {
		eachDelta(r, func(_, n int, delta string) string {
			if n > 0 {
				return ""
			}
			return reply.Put(delta, argsPath, `"1"`)
		})
		return afterArguments(r, func(string) string { return "2" })
	}),
	inScript(onChat("QO-15", "", `the arguments of a call without any are "" and not {}`), emptyArgs),
	inChat("QO-16", "", "the arguments are an object, not a string", func(r *reply.Reply) bool {
		all := callArguments(r)
		return eachDelta(r, func(call, n int, delta string) string {
			switch {
			case !isWhole(all[call]):
				return delta
			case n > 0:
				return ""
			}
			return reply.Put(delta, argsPath, all[call])
		})
	}),
}

func isWhole(args string) bool { return reply.IsObject([]byte(args)) && gjson.Valid(args) }

func truncateBy(reason llm.FinishReason, t *fake.Response) bool {
	if !truncateLastCall(t) {
		return false
	}
	t.FinishReason, t.RawFinishReason = reason, ""
	return true
}

func flush(r *reply.Reply, f func(args string) string) bool {
	return afterArguments(r, func(args string) string {
		if !isWhole(args) {
			return ""
		}
		return f(args)
	})
}

// afterArguments inserts what f returns for the arguments of each call after them,
// unless it is empty.
func afterArguments(r *reply.Reply, f func(args string) string) bool {
	var list []insertion
	all := callArguments(r)
	for call, places := range callDeltas(r) {
		if more := f(all[call]); more != "" {
			list = append(list, insertion{places[len(places)-1], `{"function":{"arguments":` + reply.Quote(more) + `}}`})
		}
	}
	return insert(r, list)
}

// repeatArguments makes each delta of arguments repeat those before it. It splits
// arguments that come in one delta: their first half, and then all of them.
func repeatArguments(r *reply.Reply) bool {
	soFar, deltas := map[int]string{}, map[int]int{}
	repeated := eachDelta(r, func(call, n int, delta string) string {
		args := gjson.Get(delta, argsPath).String()
		if args == "" {
			return delta
		}
		soFar[call] += args
		if deltas[call]++; n == 0 { // QO-11 sends a call in a single delta
			deltas[call]++
		}
		return reply.Put(delta, argsPath, reply.Quote(soFar[call]))
	})
	eachDelta(r, func(call, _ int, delta string) string {
		if args := gjson.Get(delta, argsPath).String(); deltas[call] == 1 && args != "" {
			return reply.Put(delta, argsPath, reply.Quote(half(args)))
		}
		return delta
	})
	var list []insertion
	for call, places := range callDeltas(r) {
		if deltas[call] == 1 {
			list = append(list, insertion{places[len(places)-1], `{"function":{"arguments":` + reply.Quote(soFar[call]) + `}}`})
		}
	}
	return insert(r, list) || repeated
}

func half(text string) string {
	end := len(text) / 2
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func emptyArgs(t *fake.Response) (changed bool) {
	calls := scriptedCalls(t)
	for i := range calls {
		if calls[i].Arguments == "{}" {
			calls[i].Arguments, changed = "", true
		}
	}
	t.Calls = calls
	return changed
}
