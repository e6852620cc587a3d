package quirk

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake/wire/internal/reply"
)

// chatQuirks are those of OpenAI Chat Completions and of OpenAI-compatible servers.
var chatQuirks = slices.Concat(chatFinishQuirks, chatCallQuirks, chatArgumentQuirks, chatTextQuirks)

func onChat(id, form, description string) Info {
	return Info{ID: id, Form: form, Description: description, Protocols: []string{reply.Chat}}
}

func inChat(id, form, description string, change func(r *reply.Reply) bool) Form {
	return inReply(onChat(id, form, description), change)
}

func inChunks(id, form, description string, change func(r *reply.Reply) bool) Form {
	return inReply(inStream(onChat(id, form, description)), change)
}

// Paths in a chunk.
const (
	choicePath = "choices.0"
	deltaPath  = choicePath + ".delta"
	finishPath = choicePath + ".finish_reason"
)

func finishAt(r *reply.Reply) int {
	for i, f := range slices.Backward(r.Frames) {
		if gjson.GetBytes(f.Data, finishPath).Type == gjson.String {
			return i
		}
	}
	return -1
}

func finishWith(r *reply.Reply, word string) bool {
	return r.Edit(func(text string) string {
		if gjson.Get(text, finishPath).Type != gjson.String {
			return text
		}
		return reply.Put(text, finishPath, reply.Quote(word))
	})
}

// deltaPosition is the position of a tool call delta.
type deltaPosition struct {
	frame int    // -1 means the body
	path  string // of the element of tool_calls
}

func dataAt(r *reply.Reply, frame int) *[]byte {
	if frame < 0 {
		return &r.Body
	}
	return &r.Frames[frame].Data
}

// callDeltas returns the positions of the deltas of each call. A delta with a type
// starts a call; others continue the last call with their index.
func callDeltas(r *reply.Reply) (calls [][]deltaPosition) {
	last := map[string]int{}
	find := func(frame int, list string) {
		gjson.GetBytes(*dataAt(r, frame), list).ForEach(func(i, delta gjson.Result) bool {
			index := delta.Get("index").Raw
			if delta.Get("type").Exists() || len(calls) == 0 {
				last[index] = len(calls)
				calls = append(calls, nil)
			}
			n := last[index]
			calls[n] = append(calls[n], deltaPosition{frame, list + "." + i.String()})
			return true
		})
	}
	for i := range r.Frames {
		find(i, deltaPath+".tool_calls")
	}
	find(-1, choicePath+".message.tool_calls")
	return calls
}

func (p deltaPosition) get(r *reply.Reply) gjson.Result {
	return gjson.GetBytes(*dataAt(r, p.frame), p.path)
}

// eachDelta replaces each tool call delta by the result of f; n counts the deltas of a
// call. It removes a delta if the result is empty. It reports whether anything changed.
func eachDelta(r *reply.Reply, f func(call, n int, delta string) string) (changed bool) {
	for call, places := range callDeltas(r) {
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

func callArguments(r *reply.Reply) (args []string) {
	for _, places := range callDeltas(r) {
		joined := ""
		for _, p := range places {
			joined += p.get(r).Get(argsPath).String()
		}
		args = append(args, joined)
	}
	return args
}

// insertion is a tool call delta to insert after another one.
type insertion struct {
	after deltaPosition
	delta string // without its index
}

// insert inserts deltas into a stream, each in a copy of the chunk before it. It reports
// whether it inserted any.
func insert(r *reply.Reply, list []insertion) bool {
	list = slices.DeleteFunc(list, func(f insertion) bool { return f.after.frame < 0 })
	slices.SortStableFunc(list, func(a, b insertion) int { return b.after.frame - a.after.frame })
	for _, f := range list {
		delta := f.delta
		if index := f.after.get(r).Get("index"); index.Exists() {
			delta = reply.Put(delta, "index", index.Raw)
		}
		data := reply.Put(string(*dataAt(r, f.after.frame)), deltaPath, `{"tool_calls":[`+delta+`]}`)
		data = reply.Put(data, finishPath, "null")
		r.Frames = slices.Insert(r.Frames, f.after.frame+1, reply.NewFrame("", data))
	}
	return len(list) > 0
}
