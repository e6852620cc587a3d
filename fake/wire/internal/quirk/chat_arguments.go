package quirk

import (
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

// chatArgsQuirks are about the arguments of calls.
var chatArgsQuirks = []Form{
	inScript(onChat("QO-03", "length", "the answer is cut within the arguments of its last call, and the reason is length"), func(t *fake.Response) bool { return cutBy(llm.FinishLength, t) }),
	inScript(onChat("QO-03", "tool_calls", "the answer is cut within the arguments of its last call, and the reason is tool_calls"), func(t *fake.Response) bool { return cutBy(llm.FinishToolCalls, t) }),
	inChat("QO-03", "whole", "the reason is length, and the arguments of the last call look whole", func(r *reply.Reply) bool {
		return len(callPieces(r)) > 0 && finishWith(r, "length")
	}),
	inChunks("QO-12", "", "each piece of the arguments repeats all before it", repeatPieces),
	inChunks("QO-13", "equal", "the arguments come once more in the end", func(r *reply.Reply) bool {
		return flush(r, func(args string) string { return args })
	}),
	inChunks("QO-13", "unequal", "the arguments come once more in the end, and are others", func(r *reply.Reply) bool {
		return flush(r, func(args string) string { return reply.Put(args, "again", "true") })
	}),
	inChunks("QO-14", "placeholder", "the arguments are {} at first, and then the real ones", func(r *reply.Reply) bool {
		all := chatArgs(r)
		return firsts(func(call int, piece string) string {
			if !isWhole(all[call]) {
				return piece
			}
			return reply.Put(piece, argsPath, reply.Quote("{}"+gjson.Get(piece, argsPath).String()))
		})(r)
	}),
	inChunks("QO-14", "space", "white space comes behind the whole arguments", func(r *reply.Reply) bool {
		return behindArgs(r, func(string) string { return " \n" })
	}),
	inChunks("QO-14", "scalar", "the arguments are 1, and then 2", func(r *reply.Reply) bool {
		eachPiece(r, func(_, n int, piece string) string {
			if n > 0 {
				return ""
			}
			return reply.Put(piece, argsPath, `"1"`)
		})
		return behindArgs(r, func(string) string { return "2" })
	}),
	inScript(onChat("QO-15", "", `the arguments of a call without any are "" and not {}`), emptyArgs),
	inChat("QO-16", "", "the arguments are an object, and not the text of one", func(r *reply.Reply) bool {
		all := chatArgs(r)
		return eachPiece(r, func(call, n int, piece string) string {
			switch {
			case !isWhole(all[call]):
				return piece
			case n > 0:
				return ""
			}
			return reply.Put(piece, argsPath, all[call])
		})
	}),
}

// isWhole reports whether arguments are one JSON object.
func isWhole(args string) bool { return reply.IsObject([]byte(args)) && gjson.Valid(args) }

// cutBy cuts the last call of a turn, and tells a reason for its end.
func cutBy(reason llm.FinishReason, t *fake.Response) bool {
	if !cutLastCall(t) {
		return false
	}
	t.FinishReason, t.RawFinishReason = reason, ""
	return true
}

// flush sends something for the whole arguments of each call behind them.
func flush(r *reply.Reply, f func(args string) string) bool {
	return behindArgs(r, func(args string) string {
		if !isWhole(args) {
			return ""
		}
		return f(args)
	})
}

// behindArgs sends what f makes of the arguments of each call in a piece behind them,
// if it is something.
func behindArgs(r *reply.Reply, f func(args string) string) bool {
	var list []follow
	all := chatArgs(r)
	for call, places := range callPieces(r) {
		if more := f(all[call]); more != "" {
			list = append(list, follow{places[len(places)-1], `{"function":{"arguments":` + reply.Quote(more) + `}}`})
		}
	}
	return insert(r, list)
}

// repeatPieces makes each piece of arguments repeat all before it. Arguments in one piece
// behind the one that begins the call become two: their first half, and then all of them.
func repeatPieces(r *reply.Reply) bool {
	soFar, pieces := map[int]string{}, map[int]int{}
	repeated := eachPiece(r, func(call, n int, piece string) string {
		args := gjson.Get(piece, argsPath).String()
		if args == "" {
			return piece
		}
		soFar[call] += args
		if pieces[call]++; n == 0 { // the quirk of a whole call in one piece (QO-11) stays
			pieces[call]++
		}
		return reply.Put(piece, argsPath, reply.Quote(soFar[call]))
	})
	eachPiece(r, func(call, _ int, piece string) string {
		if args := gjson.Get(piece, argsPath).String(); pieces[call] == 1 && args != "" {
			return reply.Put(piece, argsPath, reply.Quote(half(args)))
		}
		return piece
	})
	var list []follow
	for call, places := range callPieces(r) {
		if pieces[call] == 1 {
			list = append(list, follow{places[len(places)-1], `{"function":{"arguments":` + reply.Quote(soFar[call]) + `}}`})
		}
	}
	return insert(r, list) || repeated
}

// half is the first half of a text, in whole characters.
func half(text string) string {
	end := len(text) / 2
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// emptyArgs leaves arguments that are {} out.
func emptyArgs(t *fake.Response) (changed bool) {
	calls := scripted(t)
	for i := range calls {
		if calls[i].Arguments == "{}" {
			calls[i].Arguments, changed = "", true
		}
	}
	t.Calls = calls
	return changed
}
