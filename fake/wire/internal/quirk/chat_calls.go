package quirk

import (
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
)

// chatCallQuirks are about what tells calls apart: indexes, ids and names.
var chatCallQuirks = []Form{
	inChunks("QO-04", "", "the pieces of calls have no index, and only the first of a call has its id", noIndex),
	inChunks("QO-04", "ids", "the pieces of calls have no index, but all have the id, and calls take turns", func(r *reply.Reply) bool {
		ids := map[int]string{}
		takeTurns(r)
		return eachPiece(r, func(call, n int, piece string) string {
			if n == 0 {
				ids[call] = gjson.Get(piece, "id").Raw
			}
			if ids[call] != "" {
				piece = reply.Put(piece, "id", ids[call])
			}
			return reply.Drop(piece, "index")
		})
	}),
	inChunks("QO-05", "", "every call has the index 0", indexed(func(int64) int64 { return 0 })),
	inChunks("QO-06", "gaps", "the indexes of calls have gaps", indexed(func(i int64) int64 { return 2 * i })),
	inChunks("QO-06", "late", "the first call has the index 1, since the text counts", indexed(func(i int64) int64 { return i + 1 })),
	inChat("QO-07", "empty", "calls have an empty id", firsts(func(_ int, piece string) string { return reply.Put(piece, "id", `""`) })),
	inChat("QO-07", "absent", "calls have no id", firsts(func(_ int, piece string) string { return reply.Drop(piece, "id") })),
	inChat("QO-08", "counted", "each turn counts its calls from call_0", firsts(func(call int, piece string) string {
		return reply.Put(piece, "id", reply.Quote("call_"+strconv.Itoa(call)))
	})),
	inChat("QO-08", "functions", "each turn counts its calls from functions.NAME:0", firsts(func(call int, piece string) string {
		return reply.Put(piece, "id", reply.Quote("functions."+gjson.Get(piece, namePath).String()+":"+strconv.Itoa(call)))
	})),
	inChat("QO-09", "", "all calls of a turn have the id of the first", func(r *reply.Reply) bool {
		id := ""
		return firsts(func(call int, piece string) string {
			if call == 0 {
				id = gjson.Get(piece, "id").Raw
			}
			return reply.Put(piece, "id", id)
		})(r)
	}),
	inChunks("QO-10", "null", "the name of a call is null at first, and comes in the second chunk", lateName(func(piece string) string {
		return reply.Put(piece, namePath, "null")
	})),
	inChunks("QO-10", "empty", "the name of a call is empty at first, and comes in the second chunk", lateName(func(piece string) string {
		return reply.Put(piece, namePath, `""`)
	})),
	inChunks("QO-10", "absent", "the name of a call comes in the second chunk", lateName(withoutName)),
	inChunks("QO-10", "last", "the name of a call comes behind its arguments", lateNames(withoutName, func(places []piecePlace) piecePlace {
		return places[len(places)-1]
	})),
	inScript(inStream(onChat("QO-11", "", "a call comes whole in one chunk")), wholeCalls),
	inChunks("QO-27", "", "all pieces of a call but the first have an empty id and an empty name", func(r *reply.Reply) bool {
		return eachPiece(r, func(_, n int, piece string) string {
			if n == 0 {
				return piece
			}
			return reply.Put(reply.Put(piece, "id", `""`), namePath, `""`)
		})
	}),
	inChat("QO-30", "", "the name of the first call is empty, and stays so", firsts(func(call int, piece string) string {
		if call > 0 {
			return piece
		}
		return reply.Put(piece, namePath, `""`)
	})),
	{
		Info: onChat("QO-31", "", "one call a turn was asked for, and two come"),
		script: func(p *reply.Response, t *fake.Response) bool {
			one := p.Request.Settings.ParallelToolCalls
			return one != nil && !*one && oneMoreCall(t)
		},
	},
}

const namePath = "function.name"

func noIndex(r *reply.Reply) bool {
	return eachPiece(r, func(_, _ int, piece string) string { return reply.Drop(piece, "index") })
}

// indexed changes the indexes of calls.
func indexed(f func(i int64) int64) func(r *reply.Reply) bool {
	return func(r *reply.Reply) bool {
		return eachPiece(r, func(_, _ int, piece string) string {
			i := gjson.Get(piece, "index")
			if !i.Exists() {
				return piece
			}
			return reply.Put(piece, "index", strconv.FormatInt(f(i.Int()), 10))
		})
	}
}

// firsts changes the piece that begins each call.
func firsts(f func(call int, piece string) string) func(r *reply.Reply) bool {
	return func(r *reply.Reply) bool {
		return eachPiece(r, func(call, n int, piece string) string {
			if n > 0 {
				return piece
			}
			return f(call, piece)
		})
	}
}

// takeTurns puts the pieces of calls, behind those that begin them, in script: one of
// each call, then the next of each.
func takeTurns(r *reply.Reply) {
	var at []int // the places of the chunks, one call after the other
	var chunks []reply.Frame
	calls := callPieces(r)
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

func withoutName(piece string) string { return reply.Drop(piece, namePath) }

// lateName tells the name of each call in a piece of its own, right behind the first.
func lateName(without func(piece string) string) func(r *reply.Reply) bool {
	return lateNames(without, func(places []piecePlace) piecePlace { return places[0] })
}

func lateNames(without func(piece string) string, behind func(places []piecePlace) piecePlace) func(r *reply.Reply) bool {
	return func(r *reply.Reply) bool {
		var names []follow
		for _, places := range callPieces(r) {
			if name := places[0].get(r).Get(namePath); name.String() != "" {
				names = append(names, follow{behind(places), `{"function":{"name":` + name.Raw + `}}`})
			}
		}
		return insert(r, names) && firsts(func(_ int, piece string) string { return without(piece) })(r)
	}
}

// wholeCalls sends each call in one piece.
func wholeCalls(t *fake.Response) bool {
	t.Calls = scripted(t)
	for i := range t.Calls {
		t.Calls[i].SingleChunk = true
	}
	return len(t.Calls) > 0
}

// oneMoreCall says the last call of a turn once more, under another id.
func oneMoreCall(t *fake.Response) bool {
	calls := scripted(t)
	if len(calls) == 0 {
		return false
	}
	again := calls[len(calls)-1]
	again.ID += "_again"
	t.Calls = append(calls, again)
	return true
}
