package quirk

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake/wire/internal/reply"
)

var chatFinishQuirks = []Form{
	chat.inReply("QO-01", "", "the finish reason is stop, and there are calls", func(r *reply.Reply) bool {
		return len(callDeltas(r)) > 0 && finishWith(r, "stop")
	}),
	chat.inReply("QO-02", "absent", "the finish reason is tool_calls, and there are none", func(r *reply.Reply) bool {
		return len(callDeltas(r)) == 0 && finishWith(r, "tool_calls")
	}),
	chat.inReply("QO-02", "empty", "the finish reason is tool_calls, and the list of them is empty", func(r *reply.Reply) bool {
		return len(callDeltas(r)) == 0 && finishWith(r, "tool_calls") && r.Edit(noCalls)
	}),
	chat.inStream("QO-17", "", "the last arguments and the finish reason come in one chunk", finishWithArgs),
	chat.inStream("QO-18", "after", "the usage comes after the finish reason, in a chunk without choices; in all others it is null", func(r *reply.Reply) bool {
		return reply.UsageAt(r) >= 0 && r.Edit(func(text string) string {
			if gjson.Get(text, choicePath).Exists() {
				return reply.Put(text, "usage", "null")
			}
			return text
		})
	}),
	chat.inStream("QO-18", "beside", "the usage comes in the chunk of the finish reason, which has choices", func(r *reply.Reply) bool {
		usage := reply.UsageAt(r)
		return usage >= 0 && usageToFinish(r, usage) && r.Cut(usage, usage+1)
	}),
	chat.inStream("QO-18", "twice", "part of the usage comes in the chunk of the finish reason, and all of it after", func(r *reply.Reply) bool {
		usage := reply.UsageAt(r)
		return usage >= 0 && usageToFinish(r, usage) && r.Edit(func(text string) string {
			if !gjson.Get(text, choicePath).Exists() || !gjson.Get(text, "usage").IsObject() {
				return text
			}
			return reply.Put(text, "usage.completion_tokens", "1")
		})
	}),
	chat.inStream("QO-20", "choices", "an error interrupts the stream, in a chunk with a choice whose finish reason is error", interruptWith(
		`{"id":"gen-1","object":"chat.completion.chunk","created":946684800,"model":"some-model","provider":"some-provider","error":{"code":502,"message":"Provider returned error"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`,
	)),
	chat.inStream("QO-20", "no-choices", "an error interrupts the stream, in a chunk without choices", interruptWith(
		`{"error":{"message":"The server had an error while processing your request.","type":"server_error","param":null,"code":500},"choices":[]}`,
	)),
	chat.inStream("QO-20", "object", "an error object interrupts the stream", interruptWith(
		`{"object":"error","message":"The prompt is too long for this model.","type":"BadRequestError","param":null,"code":400}`,
	)),
	chat.inStream("QO-21", "", "the stream ends with neither a finish reason nor [DONE]", func(r *reply.Reply) bool {
		at := finishAt(r)
		return at >= 0 && r.Cut(at, len(r.Frames))
	}),
	chat.inStream("QO-22", "", "the stream ends without [DONE]", func(r *reply.Reply) bool {
		at := slices.IndexFunc(r.Frames, isDone)
		return at >= 0 && r.Cut(at, at+1)
	}),
	chat.inStream("QO-25", "", "[DONE] comes, and there is no finish reason", noReason),
	chat.inScript("QO-25", "cut", "[DONE] comes within the last call, and there is no finish reason", truncateLastCall).and(noReason).ofStream(),
	chat.inStream("QO-26", "", "the chunk of the finish reason comes twice, the second time with the usage", func(r *reply.Reply) bool {
		at, usage := finishAt(r), reply.UsageAt(r)
		if at < 0 || usage < 0 {
			return false
		}
		r.Frames = slices.Insert(r.Frames, usage, r.Frames[at])
		return usageToFinish(r, usage+1) && r.Cut(usage+1, usage+2)
	}),
}

func isDone(f reply.Frame) bool { return bytes.Equal(f.Data, []byte("[DONE]")) }

// noCalls adds an empty list of calls to the chunk with the finish reason.
func noCalls(text string) string {
	switch {
	case !isFinish(reply.Data(text)):
		return text
	case gjson.Get(text, messagePath).Exists():
		return reply.Put(text, messagePath+".tool_calls", "[]")
	}
	return reply.Put(text, deltaPath+".tool_calls", "[]")
}

func finishWithArgs(r *reply.Reply) bool {
	from, to := finishAt(r), -1
	for _, places := range callDeltas(r) {
		for _, p := range places {
			if p.get(r).Get(argsPath).String() != "" {
				to = max(to, p.frame)
			}
		}
	}
	if to < 0 || from < 0 || r.Frames[from].At(deltaPath).Raw != "{}" {
		return false
	}
	r.Frames[to].Put(finishPath, r.Frames[from].At(finishPath).Raw)
	return r.Cut(from, from+1)
}

func usageToFinish(r *reply.Reply, from int) bool {
	to := finishAt(r)
	if to < 0 {
		return false
	}
	r.Frames[to].Put("usage", r.Frames[from].At("usage").Raw)
	return true
}

func interruptWith(chunk string) edit {
	return func(r *reply.Reply) bool {
		at := finishAt(r)
		if at < 0 {
			return false
		}
		r.Frames = append(r.Frames[:at], reply.NewFrame("", chunk))
		return true
	}
}

func noReason(r *reply.Reply) bool {
	return slices.ContainsFunc(r.Frames, isDone) && r.Edit(func(text string) string {
		switch {
		case !isFinish(reply.Data(text)):
			return text
		case gjson.Get(text, deltaPath).Raw == "{}":
			return ""
		}
		return reply.Put(text, finishPath, "null")
	})
}
