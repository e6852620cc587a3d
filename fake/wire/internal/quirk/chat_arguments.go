package quirk

import (
	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

var chatArgumentQuirks = []Form{
	chat.inScript("QO-03", "length", "the response is truncated within the arguments of its last call, and the finish reason is length", truncateBy(llm.FinishLength)),
	chat.inScript("QO-03", "tool_calls", "the response is truncated within the arguments of its last call, and the finish reason is tool_calls", truncateBy(llm.FinishToolCalls)),
	chat.inReply("QO-03", "whole", "the finish reason is length, and the arguments of the last call look complete", func(r *reply.Reply) bool {
		return len(callDeltas(r)) > 0 && finishWith(r, "length")
	}),
	chat.inStream("QO-12", "", "each delta of the arguments repeats all before it", repeatArguments),
	chat.inStream("QO-13", "equal", "the arguments come again at the end", afterArguments(func(args string) string {
		if !isWhole(args) {
			return ""
		}
		return args
	})),
	chat.inStream("QO-13", "unequal", "the arguments come again at the end, changed", afterArguments(func(args string) string {
		if !isWhole(args) {
			return ""
		}
		return reply.Put(args, "again", "true")
	})),
	chat.inStream("QO-14", "placeholder", "the arguments are {} at first, and then the real ones", func(r *reply.Reply) bool {
		all := callArguments(r)
		return firstDeltas(func(call int, delta string) string {
			if !isWhole(all[call]) {
				return delta
			}
			return reply.Put(delta, argsPath, reply.Quote("{}"+gjson.Get(delta, argsPath).String()))
		})(r)
	}),
	chat.inStream("QO-14", "space", "white space follows the complete arguments", afterArguments(func(string) string { return " \n" })),
	chat.inStream("QO-14", "scalar", "the arguments are 1, and then 2", func(r *reply.Reply) bool {
		eachDelta(r, func(_, n int, delta string) string {
			if n > 0 {
				return ""
			}
			return reply.Put(delta, argsPath, `"1"`)
		})
		return afterArguments(func(string) string { return "2" })(r)
	}),
	chat.inScript("QO-15", "", `the arguments of a call without any are "" and not {}`, emptyArgs),
	chat.inReply("QO-16", "", "the arguments are an object, not a string", func(r *reply.Reply) bool {
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

// wholeArguments returns the arguments of a call, or {} if they are not an object.
func wholeArguments(c fake.Call) string {
	if !isWhole(c.Arguments) {
		return "{}"
	}
	return c.Arguments
}

func truncateBy(reason llm.FinishReason) func(t *fake.Response) bool {
	return func(t *fake.Response) bool {
		if !truncateLastCall(t) {
			return false
		}
		t.FinishReason, t.RawFinishReason = reason, ""
		return true
	}
}

// afterArguments inserts what f returns for the arguments of each call after them,
// unless it is empty.
func afterArguments(f func(args string) string) edit {
	return func(r *reply.Reply) bool {
		var list []insertion
		all := callArguments(r)
		for call, places := range callDeltas(r) {
			if more := f(all[call]); more != "" {
				list = append(list, argumentsAfter(places, more))
			}
		}
		return insert(r, list)
	}
}

// argumentsAfter is a delta with arguments after all deltas of a call.
func argumentsAfter(places []deltaPosition, args string) insertion {
	return insertion{places[len(places)-1], `{"function":{"arguments":` + reply.Quote(args) + `}}`}
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
			return reply.Put(delta, argsPath, reply.Quote(firstHalf(args)))
		}
		return delta
	})
	var list []insertion
	for call, places := range callDeltas(r) {
		if deltas[call] == 1 {
			list = append(list, argumentsAfter(places, soFar[call]))
		}
	}
	return insert(r, list) || repeated
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
