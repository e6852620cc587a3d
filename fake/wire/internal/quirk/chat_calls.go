package quirk

import (
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
)

var chatCallQuirks = []Form{
	inChunks("QO-04", "", "the deltas of calls have no index, and only the first of a call has its id", noIndex),
	inChunks("QO-04", "ids", "the deltas of calls have no index, but all have the id, and the calls alternate", func(r *reply.Reply) bool {
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
	inChunks("QO-05", "", "every call has the index 0", indexed(func(int64) int64 { return 0 })),
	inChunks("QO-06", "gaps", "the indexes of calls have gaps", indexed(func(i int64) int64 { return 2 * i })),
	inChunks("QO-06", "late", "the first call has the index 1, since the text counts", indexed(func(i int64) int64 { return i + 1 })),
	inChat("QO-07", "empty", "calls have an empty id", firstDeltas(func(_ int, delta string) string { return reply.Put(delta, "id", `""`) })),
	inChat("QO-07", "absent", "calls have no id", firstDeltas(func(_ int, delta string) string { return reply.Drop(delta, "id") })),
	inChat("QO-08", "counted", "each response counts its calls from call_0", firstDeltas(func(call int, delta string) string {
		return reply.Put(delta, "id", reply.Quote("call_"+strconv.Itoa(call)))
	})),
	inChat("QO-08", "functions", "each response counts its calls from functions.NAME:0", firstDeltas(func(call int, delta string) string {
		return reply.Put(delta, "id", reply.Quote("functions."+gjson.Get(delta, namePath).String()+":"+strconv.Itoa(call)))
	})),
	inChat("QO-09", "", "all calls of a response have the id of the first", func(r *reply.Reply) bool {
		id := ""
		return firstDeltas(func(call int, delta string) string {
			if call == 0 {
				id = gjson.Get(delta, "id").Raw
			}
			return reply.Put(delta, "id", id)
		})(r)
	}),
	inChunks("QO-10", "null", "the name of a call is null at first, and comes in the second chunk", lateName(func(delta string) string {
		return reply.Put(delta, namePath, "null")
	})),
	inChunks("QO-10", "empty", "the name of a call is empty at first, and comes in the second chunk", lateName(func(delta string) string {
		return reply.Put(delta, namePath, `""`)
	})),
	inChunks("QO-10", "absent", "the name of a call comes in the second chunk", lateName(withoutName)),
	inChunks("QO-10", "last", "the name of a call comes after its arguments", lateNames(withoutName, func(places []deltaPosition) deltaPosition {
		return places[len(places)-1]
	})),
	inScript(inStream(onChat("QO-11", "", "a call comes in a single chunk")), singleChunkCalls),
	inChunks("QO-27", "", "all deltas of a call but the first have an empty id and an empty name", func(r *reply.Reply) bool {
		return eachDelta(r, func(_, n int, delta string) string {
			if n == 0 {
				return delta
			}
			return reply.Put(reply.Put(delta, "id", `""`), namePath, `""`)
		})
	}),
	inChat("QO-30", "", "the name of the first call is empty, and stays so", firstDeltas(func(call int, delta string) string {
		if call > 0 {
			return delta
		}
		return reply.Put(delta, namePath, `""`)
	})),
	{
		Info: onChat("QO-31", "", "the request allows one call per response, and two come"),
		script: func(p *reply.Response, t *fake.Response) bool {
			one := p.Request.Settings.ParallelToolCalls
			return one != nil && !*one && repeatLastCall(t)
		},
	},
}

const namePath = "function.name"

func noIndex(r *reply.Reply) bool {
	return eachDelta(r, func(_, _ int, delta string) string { return reply.Drop(delta, "index") })
}

func indexed(f func(i int64) int64) func(r *reply.Reply) bool {
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

func firstDeltas(f func(call int, delta string) string) func(r *reply.Reply) bool {
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

func withoutName(delta string) string { return reply.Drop(delta, namePath) }

func lateName(without func(delta string) string) func(r *reply.Reply) bool {
	return lateNames(without, func(places []deltaPosition) deltaPosition { return places[0] })
}

func lateNames(without func(delta string) string, after func(places []deltaPosition) deltaPosition) func(r *reply.Reply) bool {
	return func(r *reply.Reply) bool {
		var names []insertion
		for _, places := range callDeltas(r) {
			if name := places[0].get(r).Get(namePath); name.String() != "" {
				names = append(names, insertion{after(places), `{"function":{"name":` + name.Raw + `}}`})
			}
		}
		return insert(r, names) && firstDeltas(func(_ int, delta string) string { return without(delta) })(r)
	}
}

func singleChunkCalls(t *fake.Response) bool {
	t.Calls = scriptedCalls(t)
	for i := range t.Calls {
		t.Calls[i].SingleChunk = true
	}
	return len(t.Calls) > 0
}

func repeatLastCall(t *fake.Response) bool {
	calls := scriptedCalls(t)
	if len(calls) == 0 {
		return false
	}
	again := calls[len(calls)-1]
	again.ID += "_again"
	t.Calls = append(calls, again)
	return true
}
