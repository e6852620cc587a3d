package quirk

import (
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

var chatCallQuirks = []*Form{
	chat.inStream("QO-04", "", "the deltas of calls have no index, and only the first of a call has its id", func(r *reply.Reply) bool {
		return eachDelta(r, func(_, _ int, delta string) string { return reply.Drop(delta, "index") })
	}),
	chat.inStream("QO-04", "ids", "the deltas of calls have no index, but all have the id, and the calls alternate", func(r *reply.Reply) bool {
		ids := map[int]string{}
		interleaveCalls(r)
		return eachDelta(r, func(call, n int, delta string) string {
			if n == 0 {
				ids[call] = gjson.Get(delta, "id").Raw
			}
			if ids[call] != "" {
				delta = reply.Put(delta, "id", ids[call])
			}
			return reply.Drop(delta, "index")
		})
	}),
	chat.inStream("QO-05", "", "every call has the index 0", indexed(func(int64) int64 { return 0 })),
	chat.inStream("QO-06", "gaps", "the indexes of calls have gaps", indexed(func(i int64) int64 { return 2 * i })),
	chat.inStream("QO-06", "late", "the first call has the index 1, since the text counts", indexed(func(i int64) int64 { return i + 1 })),
	chat.inReply("QO-07", "empty", "calls have an empty id", firstDeltas(func(_ int, delta string) string { return reply.Put(delta, "id", `""`) })),
	chat.inReply("QO-07", "absent", "calls have no id", firstDeltas(func(_ int, delta string) string { return reply.Drop(delta, "id") })),
	chat.inReply("QO-08", "counted", "each response counts its calls from call_0", firstDeltas(func(call int, delta string) string {
		return reply.Put(delta, "id", reply.Quote("call_"+strconv.Itoa(call)))
	})),
	chat.inReply("QO-08", "functions", "each response counts its calls from functions.NAME:0", firstDeltas(func(call int, delta string) string {
		return reply.Put(delta, "id", reply.Quote("functions."+gjson.Get(delta, namePath).String()+":"+strconv.Itoa(call)))
	})),
	chat.inReply("QO-09", "", "all calls of a response have the id of the first", func(r *reply.Reply) bool {
		id := ""
		return firstDeltas(func(call int, delta string) string {
			if call == 0 {
				id = gjson.Get(delta, "id").Raw
			}
			return reply.Put(delta, "id", id)
		})(r)
	}),
	chat.inStream("QO-10", "null", "the name of a call is null at first, and comes in the second chunk", lateName("null", false)),
	chat.inStream("QO-10", "empty", "the name of a call is empty at first, and comes in the second chunk", lateName(`""`, false)),
	chat.inStream("QO-10", "absent", "the name of a call comes in the second chunk", lateName("", false)),
	chat.inStream("QO-10", "last", "the name of a call comes after its arguments", lateName("", true)),
	chat.inScript("QO-11", "", "a call comes in a single chunk", func(t *fake.Response) bool {
		t.Calls = scriptedCalls(t)
		return eachCall(t, func(_ int, c *fake.Call) { c.SingleChunk = true })
	}).ofStream(),
	chat.inStream("QO-27", "", "all deltas of a call but the first have an empty id and an empty name", func(r *reply.Reply) bool {
		return eachDelta(r, func(_, n int, delta string) string {
			if n == 0 {
				return delta
			}
			return reply.Put(reply.Put(delta, "id", `""`), namePath, `""`)
		})
	}),
	chat.inReply("QO-30", "", "the name of the first call is empty, and stays so", firstDeltas(func(call int, delta string) string {
		if call > 0 {
			return delta
		}
		return reply.Put(delta, namePath, `""`)
	})),
	chat.inResponse("QO-31", "", "the request allows one call per response, and two come", func(p *reply.Response, t *fake.Response) bool {
		several := p.Request.Settings.ParallelToolCalls
		calls := scriptedCalls(t)
		if several == nil || *several || len(calls) == 0 {
			return false
		}
		again := calls[len(calls)-1]
		again.ID += "_again"
		t.Calls = append(calls, again)
		return true
	}),
}

const namePath = "function.name"

func indexed(f func(i int64) int64) edit {
	return func(r *reply.Reply) bool {
		return eachDelta(r, func(_, _ int, delta string) string {
			i := gjson.Get(delta, "index")
			if !i.Exists() {
				return delta
			}
			return reply.Put(delta, "index", strconv.FormatInt(f(i.Int()), 10))
		})
	}
}

func firstDeltas(f func(call int, delta string) string) edit {
	return func(r *reply.Reply) bool {
		return eachDelta(r, func(call, n int, delta string) string {
			if n > 0 {
				return delta
			}
			return f(call, delta)
		})
	}
}

// interleaveCalls reorders the deltas after the first one of each call: one of each
// call, then the next of each.
func interleaveCalls(r *reply.Reply) {
	var at []int // positions of the chunks, call by call
	var chunks []reply.Frame
	calls := callDeltas(r)
	for n, more := 0, true; more; n++ {
		more = false
		for _, places := range calls {
			if n >= len(places) || places[n].frame < 0 {
				continue
			}
			more = true
			at = append(at, places[n].frame)
			chunks = append(chunks, r.Frames[places[n].frame])
		}
	}
	slices.Sort(at)
	for i, place := range at {
		r.Frames[place] = chunks[i]
	}
}

// lateName replaces the name of each call by JSON, or removes it if that is empty, and
// sends it after the first delta or the last one.
func lateName(at string, last bool) edit {
	return func(r *reply.Reply) bool {
		var names []insertion
		for _, places := range callDeltas(r) {
			after := places[0]
			if last {
				after = places[len(places)-1]
			}
			if name := places[0].get(r).Get(namePath); name.String() != "" {
				names = append(names, insertion{after, `{"function":{"name":` + name.Raw + `}}`})
			}
		}
		return insert(r, names) && firstDeltas(func(_ int, delta string) string {
			if at == "" {
				return reply.Drop(delta, namePath)
			}
			return reply.Put(delta, namePath, at)
		})(r)
	}
}

var chatArgumentQuirks = []*Form{
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
	chat.inScript("QO-15", "", `the arguments of a call without any are "" and not {}`, func(t *fake.Response) (changed bool) {
		t.Calls = scriptedCalls(t)
		eachCall(t, func(_ int, c *fake.Call) {
			if c.Arguments == "{}" {
				c.Arguments, changed = "", true
			}
		})
		return changed
	}),
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
