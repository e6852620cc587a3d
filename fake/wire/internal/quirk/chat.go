package quirk

import (
	"bytes"
	"encoding/json"
	"slices"
	"sort"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
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
	sort.SliceStable(list, func(i, j int) bool { return list[j].after.frame < list[i].after.frame })
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

var chatFinishQuirks = []*Form{
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

var chatTextQuirks = []*Form{
	chat.inStream("QO-19", "", "as from Azure: the first chunk has prompt filters only, without an id or a model, and a later choice has no delta", filtered),
	chat.inScript("QO-23", "tags", "calls are in the text, between <tool_call> and </tool_call>", func(t *fake.Response) bool {
		return leakCalls(t, t.Text+strings.Join(t.Chunks, ""), func(call string) string { return "<tool_call>" + call + "</tool_call>" })
	}),
	chat.inScript("QO-23", "bare", "calls are in the text, as JSON without other text", func(t *fake.Response) bool {
		return leakCalls(t, "", func(call string) string { return call })
	}),
	chat.inReply("QO-24", "noise", "there are unknown and null members", edited(noise)),
	chat.inScript("QO-24", "refusal", "the model refuses", refusal),
	chat.inScript("QO-28", "", "as from Mistral: the content is an array, which includes the reasoning", reasonIn("content")).and(edited(contentArray)),
	chat.inScript("QO-29", "reasoning_content", "the reasoning is in reasoning_content", reasonIn("reasoning_content")),
	chat.inScript("QO-29", "reasoning", "the reasoning is in reasoning", reasonIn("reasoning")),
	chat.inScript("QO-29", "reasoning_details", "the reasoning is in reasoning_details", func(t *fake.Response) bool {
		return setReasoning(t, `{"reasoning_details":[{"type":"reasoning.text","text":`+reply.Quote(t.Reasoning)+`,"signature":"c2lnbmVk","format":"unknown","index":0}]}`)
	}),
}

func filtered(r *reply.Reply) bool {
	const result = `{"hate":{"filtered":false,"severity":"safe"}}`
	at := finishAt(r)
	if at < 0 {
		return false
	}
	r.Frames = slices.Insert(r.Frames, at, reply.NewFrame("",
		`{"id":"","object":"","created":0,"model":"","choices":[{"index":0,"finish_reason":null,"content_filter_results":`+result+`,"content_filter_offsets":{"check_offset":44,"start_offset":44,"end_offset":198}}]}`,
	))
	r.Frames = slices.Insert(r.Frames, 0, reply.NewFrame("",
		`{"id":"","object":"","created":0,"model":"","choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":`+result+`}]}`,
	))
	return true
}

func leakCalls(t *fake.Response, said string, mark func(call string) string) bool {
	calls := scriptedCalls(t)
	if len(calls) == 0 {
		return false
	}
	for _, c := range calls {
		said += mark(`{"name":` + reply.Quote(c.Name) + `,"arguments":` + wholeArguments(c) + `}`)
	}
	t.Text, t.Chunks, t.Calls, t.FinishReason, t.RawFinishReason = said, nil, nil, "", ""
	return true
}

func refusal(t *fake.Response) bool {
	if t.Events != nil {
		return false
	}
	t.Text, t.Chunks, t.Calls, t.Refusal = "I cannot help with that.", nil, nil, true
	t.FinishReason, t.RawFinishReason = "", ""
	return true
}

func noise(text string) string {
	at := deltaPath
	switch {
	case gjson.Get(text, messagePath).Exists():
		at = messagePath
	case !gjson.Get(text, deltaPath).Exists():
		return text
	}
	for _, m := range [][2]string{
		{at + ".content", "null"}, {at + ".refusal", "null"}, {choicePath + ".logprobs", "null"}, {choicePath + ".native_finish_reason", `"STOP"`},
		{"obfuscation", `"Kx9"`}, {"x_groq", `{"id":"req_01"}`}, {"provider", `"some-provider"`},
		{"timings", `{"prompt_n":7,"predicted_ms":12.5}`}, {"latency_checkpoint", `{"engine_ttft_ms":30}`},
	} {
		if !gjson.Get(text, m[0]).Exists() {
			text = reply.Put(text, m[0], m[1])
		}
	}
	return text
}

// reasonIn sends the reasoning in a member of a delta.
func reasonIn(field string) func(t *fake.Response) bool {
	return func(t *fake.Response) bool { return setReasoning(t, `{"field":"`+field+`"}`) }
}

func setReasoning(t *fake.Response, opaque string) bool {
	if t.Reasoning == "" || t.Events != nil {
		return false
	}
	t.ReasoningOpaque = json.RawMessage(opaque)
	return true
}

// contentArray makes content an array that also has an element of another type.
func contentArray(text string) string {
	for _, at := range []string{deltaPath + ".content", messagePath + ".content"} {
		if said := gjson.Get(text, at); said.Type == gjson.String && said.String() != "" {
			text = reply.Put(text, at, `[{"type":"text","text":`+said.Raw+`},{"type":"reference","reference_ids":[1]}]`)
		}
	}
	return text
}
