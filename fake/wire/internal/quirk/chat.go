package quirk

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake/wire/internal/reply"
)

// chatQuirks are those of OpenAI reply.Chat Completions and of what imitates it.
var chatQuirks = slices.Concat(chatFinishQuirks, chatCallQuirks, chatArgsQuirks, chatSaidQuirks)

// onChat describes a form.
func onChat(id, form, says string) Info {
	return Info{ID: id, Form: form, Description: says, Protocols: []string{reply.Chat}}
}

// inChat is a form that changes the bytes of an answer, streamed or not.
func inChat(id, form, says string, change func(r *reply.Reply) bool) Form {
	return inReply(onChat(id, form, says), change)
}

// inChunks is a form that only streams show.
func inChunks(id, form, says string, change func(r *reply.Reply) bool) Form {
	return inReply(inStream(onChat(id, form, says)), change)
}

// Where things stand in a chunk.
const (
	choicePath = "choices.0"
	deltaPath  = choicePath + ".delta"
	finishPath = choicePath + ".finish_reason"
)

// finishAt returns the place of the last chunk with a finish reason, or -1.
func finishAt(r *reply.Reply) int {
	for i, f := range slices.Backward(r.Frames) {
		if gjson.GetBytes(f.Data, finishPath).Type == gjson.String {
			return i
		}
	}
	return -1
}

// finishWith sets the finish reason, where there is one.
func finishWith(r *reply.Reply, word string) bool {
	return r.Edit(func(text string) string {
		if gjson.Get(text, finishPath).Type != gjson.String {
			return text
		}
		return reply.Put(text, finishPath, reply.Quote(word))
	})
}

// piecePlace is where a piece of a call stands.
type piecePlace struct {
	frame int    // -1 is the body
	path  string // of the element of tool_calls
}

// at returns the data of a frame, or the body.
func dataAt(r *reply.Reply, frame int) *[]byte {
	if frame < 0 {
		return &r.Body
	}
	return &r.Frames[frame].Data
}

// callPieces returns where the pieces of each call stand, in the order in which the
// calls begin: what has a type begins one, and all else goes on with the last one
// of its index.
func callPieces(r *reply.Reply) (calls [][]piecePlace) {
	last := map[string]int{}
	find := func(frame int, list string) {
		gjson.GetBytes(*dataAt(r, frame), list).ForEach(func(i, piece gjson.Result) bool {
			index := piece.Get("index").Raw
			if piece.Get("type").Exists() || len(calls) == 0 {
				last[index] = len(calls)
				calls = append(calls, nil)
			}
			n := last[index]
			calls[n] = append(calls[n], piecePlace{frame, list + "." + i.String()})
			return true
		})
	}
	for i := range r.Frames {
		find(i, deltaPath+".tool_calls")
	}
	find(-1, choicePath+".message.tool_calls")
	return calls
}

// get returns a piece.
func (p piecePlace) get(r *reply.Reply) gjson.Result {
	return gjson.GetBytes(*dataAt(r, p.frame), p.path)
}

// eachPiece lets f change each piece of a call, the n-th of its call, and reports
// whether anything is another now. A piece for which f returns nothing is taken
// out, with its chunk.
func eachPiece(r *reply.Reply, f func(call, n int, piece string) string) (changed bool) {
	for call, places := range callPieces(r) {
		for n, p := range places {
			was := p.get(r).Raw
			now := f(call, n, was)
			changed = changed || now != was
			data := dataAt(r, p.frame)
			switch {
			case now != "":
				*data = []byte(reply.Put(string(*data), p.path, now))
			case gjson.GetBytes(*data, finishPath).Type == gjson.String:
				*data = []byte(reply.Put(string(*data), deltaPath, "{}"))
			default:
				*data = nil
			}
		}
	}
	r.Frames = slices.DeleteFunc(r.Frames, func(f reply.Frame) bool { return len(f.Data) == 0 })
	return changed
}

const argsPath = "function.arguments"

// chatArgs returns the arguments of each call.
func chatArgs(r *reply.Reply) (args []string) {
	for _, places := range callPieces(r) {
		joined := ""
		for _, p := range places {
			joined += p.get(r).Get(argsPath).String()
		}
		args = append(args, joined)
	}
	return args
}

// follow puts a further piece of a call behind one.
type follow struct {
	after piecePlace
	piece string // without its index
}

// insert puts further pieces into a stream, each in a chunk like that of the one
// before it, and reports whether there are any.
func insert(r *reply.Reply, list []follow) bool {
	list = slices.DeleteFunc(list, func(f follow) bool { return f.after.frame < 0 })
	slices.SortStableFunc(list, func(a, b follow) int { return b.after.frame - a.after.frame })
	for _, f := range list {
		piece := f.piece
		if index := f.after.get(r).Get("index"); index.Exists() {
			piece = reply.Put(piece, "index", index.Raw)
		}
		data := reply.Put(string(*dataAt(r, f.after.frame)), deltaPath, `{"tool_calls":[`+piece+`]}`)
		data = reply.Put(data, finishPath, "null")
		r.Frames = slices.Insert(r.Frames, f.after.frame+1, reply.NewFrame("", data))
	}
	return len(list) > 0
}
