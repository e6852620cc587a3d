package quirk

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake/wire/internal/reply"
)

// chatQuirks are those of OpenAI Chat Completions and of OpenAI-compatible servers.
var chatQuirks = slices.Concat(chatFinishQuirks, chatCallQuirks, chatArgumentQuirks, chatTextQuirks)

// Paths in a chunk.
const (
	choicePath = "choices.0"
	deltaPath  = choicePath + ".delta"
	finishPath = choicePath + ".finish_reason"

	messagePath = choicePath + ".message" // in a non-streaming response
)

func isFinish(d reply.Data) bool { return d.At(finishPath).Type == gjson.String }

// finishAt returns the index of the chunk with the finish reason, or -1.
func finishAt(r *reply.Reply) int {
	for i, f := range slices.Backward(r.Frames) {
		if isFinish(f.Data) {
			return i
		}
	}
	return -1
}

func finishWith(r *reply.Reply, word string) bool {
	return r.Edit(func(text string) string {
		if !isFinish(reply.Data(text)) {
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

func dataAt(r *reply.Reply, frame int) *reply.Data {
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
		dataAt(r, frame).At(list).ForEach(func(i, delta gjson.Result) bool {
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
	find(-1, messagePath+".tool_calls")
	return calls
}

func (p deltaPosition) get(r *reply.Reply) gjson.Result {
	return dataAt(r, p.frame).At(p.path)
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
				data.Put(p.path, now)
			case isFinish(*data):
				data.Put(deltaPath, "{}")
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
		more := r.Frames[f.after.frame]
		more.Put(deltaPath, `{"tool_calls":[`+delta+`]}`)
		more.Put(finishPath, "null")
		r.Frames = slices.Insert(r.Frames, f.after.frame+1, more)
	}
	return len(list) > 0
}
