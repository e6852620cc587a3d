package wire

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
)

// chatFinishQuirks are about how an answer ends: its reason, its usage, its mark, or
// an error.
var chatFinishQuirks = []quirkForm{
	inChat("QO-01", "", "the reason is stop, and there are calls", func(r *reply) bool {
		return len(callPieces(r)) > 0 && finishWith(r, "stop")
	}),
	inChat("QO-02", "absent", "the reason is tool_calls, and there are none", func(r *reply) bool {
		return len(callPieces(r)) == 0 && finishWith(r, "tool_calls")
	}),
	inChat("QO-02", "empty", "the reason is tool_calls, and the list of them is empty", func(r *reply) bool {
		return len(callPieces(r)) == 0 && finishWith(r, "tool_calls") && r.edit(noCalls)
	}),
	inChunks("QO-17", "", "the last arguments and the reason come in one chunk", finishWithArgs),
	inChunks("QO-18", "after", "the usage comes behind the reason, in a chunk without choices; in all others it is null", func(r *reply) bool {
		return usageAt(r) >= 0 && r.edit(func(text string) string {
			if gjson.Get(text, choicePath).Exists() {
				return put(text, "usage", "null")
			}
			return text
		})
	}),
	inChunks("QO-18", "beside", "the usage comes in the chunk of the reason, which has choices", func(r *reply) bool {
		usage := usageAt(r)
		return usage >= 0 && usageToFinish(r, usage) && r.cut(usage, usage+1)
	}),
	inChunks("QO-18", "twice", "some usage comes in the chunk of the reason, and all of it behind", func(r *reply) bool {
		usage := usageAt(r)
		return usage >= 0 && usageToFinish(r, usage) && r.edit(func(text string) string {
			if !gjson.Get(text, choicePath).Exists() || !gjson.Get(text, "usage").IsObject() {
				return text
			}
			return put(text, "usage.completion_tokens", "1")
		})
	}),
	inChunks("QO-20", "choices", "an error breaks in: a chunk has it beside a choice whose reason is error", breakIn(
		`{"id":"gen-1","object":"chat.completion.chunk","created":946684800,"model":"some-model","provider":"some-provider","error":{"code":502,"message":"Provider returned error"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`,
	)),
	inChunks("QO-20", "no-choices", "an error breaks in: a chunk has it and no choices", breakIn(
		`{"error":{"message":"The server had an error while processing your request.","type":"server_error","param":null,"code":500},"choices":[]}`,
	)),
	inChunks("QO-20", "object", "an error breaks in: the object is one", breakIn(
		`{"object":"error","message":"The prompt is too long for this model.","type":"BadRequestError","param":null,"code":400}`,
	)),
	inChunks("QO-21", "", "the stream ends with neither a reason nor [DONE]", func(r *reply) bool {
		at := finishAt(r)
		return at >= 0 && r.cut(at, len(r.frames))
	}),
	inChunks("QO-22", "", "the stream ends without [DONE]", func(r *reply) bool {
		at := slices.IndexFunc(r.frames, isDone)
		return at >= 0 && r.cut(at, at+1)
	}),
	inChunks("QO-25", "", "[DONE] comes, and never was there a reason", noReason),
	{
		QuirkForm: inStream(onChat("QO-25", "cut", "[DONE] comes within the last call, and never was there a reason")),
		turn:      func(_ *play, t *fake.Response) bool { return cutLastCall(t) },
		reply:     func(_ *play, r *reply) bool { return noReason(r) },
	},
	inChunks("QO-26", "", "the chunk of the reason comes twice, the second time with the usage", func(r *reply) bool {
		at, usage := finishAt(r), usageAt(r)
		if at < 0 || usage < 0 {
			return false
		}
		r.frames = slices.Insert(r.frames, usage, frame{"", slices.Clone(r.frames[at].data)})
		return usageToFinish(r, usage+1) && r.cut(usage+1, usage+2)
	}),
}

func isDone(f frame) bool { return bytes.Equal(f.data, []byte("[DONE]")) }

// cut takes frames out.
func (r *reply) cut(from, to int) bool {
	r.frames = slices.Delete(r.frames, from, to)
	return true
}

// noCalls puts an empty list of calls beside the reason.
func noCalls(text string) string {
	switch {
	case gjson.Get(text, finishPath).Type != gjson.String:
		return text
	case gjson.Get(text, choicePath+".message").Exists():
		return put(text, choicePath+".message.tool_calls", "[]")
	}
	return put(text, deltaPath+".tool_calls", "[]")
}

// finishWithArgs moves the reason into the last chunk that has arguments.
func finishWithArgs(r *reply) bool {
	from, to := finishAt(r), -1
	for _, places := range callPieces(r) {
		for _, p := range places {
			if p.get(r).Get(argsPath).String() != "" {
				to = max(to, p.frame)
			}
		}
	}
	if to < 0 || from < 0 || gjson.GetBytes(r.frames[from].data, deltaPath).Raw != "{}" {
		return false
	}
	reason := gjson.GetBytes(r.frames[from].data, finishPath).Raw
	r.frames[to].data = []byte(put(string(r.frames[to].data), finishPath, reason))
	return r.cut(from, from+1)
}

// usageAt returns the place of the chunk that has the usage and no choice, or -1.
func usageAt(r *reply) int {
	return slices.IndexFunc(r.frames, func(f frame) bool {
		return gjson.GetBytes(f.data, "usage").IsObject() && !gjson.GetBytes(f.data, choicePath).Exists()
	})
}

// usageToFinish copies the usage of a chunk into the last one with a reason.
func usageToFinish(r *reply, from int) bool {
	to := finishAt(r)
	if to < 0 {
		return false
	}
	r.frames[to].data = []byte(put(string(r.frames[to].data), "usage", gjson.GetBytes(r.frames[from].data, "usage").Raw))
	return true
}

// breakIn puts an error in the place of the reason and of all behind it.
func breakIn(chunk string) func(r *reply) bool {
	return func(r *reply) bool {
		at := finishAt(r)
		if at < 0 {
			return false
		}
		r.frames = append(r.frames[:at], frame{"", []byte(chunk)})
		return true
	}
}

// noReason takes the reason out of a stream that has a mark.
func noReason(r *reply) bool {
	return slices.ContainsFunc(r.frames, isDone) && r.edit(func(text string) string {
		switch {
		case gjson.Get(text, finishPath).Type != gjson.String:
			return text
		case gjson.Get(text, deltaPath).Raw == "{}":
			return ""
		}
		return put(text, finishPath, "null")
	})
}
