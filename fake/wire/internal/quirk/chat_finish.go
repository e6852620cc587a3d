package quirk

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
)

// chatFinishQuirks are about how an answer ends: its reason, its usage, its mark, or
// an error.
var chatFinishQuirks = []Form{
	inChat("QO-01", "", "the reason is stop, and there are calls", func(r *reply.Reply) bool {
		return len(callPieces(r)) > 0 && finishWith(r, "stop")
	}),
	inChat("QO-02", "absent", "the reason is tool_calls, and there are none", func(r *reply.Reply) bool {
		return len(callPieces(r)) == 0 && finishWith(r, "tool_calls")
	}),
	inChat("QO-02", "empty", "the reason is tool_calls, and the list of them is empty", func(r *reply.Reply) bool {
		return len(callPieces(r)) == 0 && finishWith(r, "tool_calls") && r.Edit(noCalls)
	}),
	inChunks("QO-17", "", "the last arguments and the reason come in one chunk", finishWithArgs),
	inChunks("QO-18", "after", "the usage comes behind the reason, in a chunk without choices; in all others it is null", func(r *reply.Reply) bool {
		return reply.UsageAt(r) >= 0 && r.Edit(func(text string) string {
			if gjson.Get(text, choicePath).Exists() {
				return reply.Put(text, "usage", "null")
			}
			return text
		})
	}),
	inChunks("QO-18", "beside", "the usage comes in the chunk of the reason, which has choices", func(r *reply.Reply) bool {
		usage := reply.UsageAt(r)
		return usage >= 0 && usageToFinish(r, usage) && r.Cut(usage, usage+1)
	}),
	inChunks("QO-18", "twice", "some usage comes in the chunk of the reason, and all of it behind", func(r *reply.Reply) bool {
		usage := reply.UsageAt(r)
		return usage >= 0 && usageToFinish(r, usage) && r.Edit(func(text string) string {
			if !gjson.Get(text, choicePath).Exists() || !gjson.Get(text, "usage").IsObject() {
				return text
			}
			return reply.Put(text, "usage.completion_tokens", "1")
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
	inChunks("QO-21", "", "the stream ends with neither a reason nor [DONE]", func(r *reply.Reply) bool {
		at := finishAt(r)
		return at >= 0 && r.Cut(at, len(r.Frames))
	}),
	inChunks("QO-22", "", "the stream ends without [DONE]", func(r *reply.Reply) bool {
		at := slices.IndexFunc(r.Frames, isDone)
		return at >= 0 && r.Cut(at, at+1)
	}),
	inChunks("QO-25", "", "[DONE] comes, and never was there a reason", noReason),
	{
		Info:   inStream(onChat("QO-25", "cut", "[DONE] comes within the last call, and never was there a reason")),
		script: func(_ *reply.Response, t *fake.Response) bool { return cutLastCall(t) },
		edit:   func(_ *reply.Response, r *reply.Reply) bool { return noReason(r) },
	},
	inChunks("QO-26", "", "the chunk of the reason comes twice, the second time with the usage", func(r *reply.Reply) bool {
		at, usage := finishAt(r), reply.UsageAt(r)
		if at < 0 || usage < 0 {
			return false
		}
		r.Frames = slices.Insert(r.Frames, usage, reply.NewFrame("", string(r.Frames[at].Data)))
		return usageToFinish(r, usage+1) && r.Cut(usage+1, usage+2)
	}),
}

func isDone(f reply.Frame) bool { return bytes.Equal(f.Data, []byte("[DONE]")) }

// noCalls puts an empty list of calls beside the reason.
func noCalls(text string) string {
	switch {
	case gjson.Get(text, finishPath).Type != gjson.String:
		return text
	case gjson.Get(text, choicePath+".message").Exists():
		return reply.Put(text, choicePath+".message.tool_calls", "[]")
	}
	return reply.Put(text, deltaPath+".tool_calls", "[]")
}

// finishWithArgs moves the reason into the last chunk that has arguments.
func finishWithArgs(r *reply.Reply) bool {
	from, to := finishAt(r), -1
	for _, places := range callPieces(r) {
		for _, p := range places {
			if p.get(r).Get(argsPath).String() != "" {
				to = max(to, p.frame)
			}
		}
	}
	if to < 0 || from < 0 || gjson.GetBytes(r.Frames[from].Data, deltaPath).Raw != "{}" {
		return false
	}
	reason := gjson.GetBytes(r.Frames[from].Data, finishPath).Raw
	r.Frames[to].Data = []byte(reply.Put(string(r.Frames[to].Data), finishPath, reason))
	return r.Cut(from, from+1)
}

// usageToFinish copies the usage of a chunk into the last one with a reason.
func usageToFinish(r *reply.Reply, from int) bool {
	to := finishAt(r)
	if to < 0 {
		return false
	}
	r.Frames[to].Data = []byte(reply.Put(string(r.Frames[to].Data), "usage", gjson.GetBytes(r.Frames[from].Data, "usage").Raw))
	return true
}

// breakIn puts an error in the place of the reason and of all behind it.
func breakIn(chunk string) func(r *reply.Reply) bool {
	return func(r *reply.Reply) bool {
		at := finishAt(r)
		if at < 0 {
			return false
		}
		r.Frames = append(r.Frames[:at], reply.NewFrame("", chunk))
		return true
	}
}

// noReason takes the reason out of a stream that has a mark.
func noReason(r *reply.Reply) bool {
	return slices.ContainsFunc(r.Frames, isDone) && r.Edit(func(text string) string {
		switch {
		case gjson.Get(text, finishPath).Type != gjson.String:
			return text
		case gjson.Get(text, deltaPath).Raw == "{}":
			return ""
		}
		return reply.Put(text, finishPath, "null")
	})
}
