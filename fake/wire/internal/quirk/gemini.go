package quirk

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

// onGemini describes a form of Gemini's protocol.
func onGemini(id, form, says string) Info {
	return Info{ID: id, Form: form, Description: says, Protocols: []string{reply.Generate}}
}

// geminiQuirks are those of Gemini.
var geminiQuirks = []Form{
	{Info: onGemini("QG-01", "", "the finish reason STOP stands beside a call"), edit: stopsAtCall},
	{Info: onGemini("QG-02", "", "an empty text comes behind the last call"), edit: emptyBehindCall},
	{Info: onGemini("QG-03", "", "the calls have no ids"), script: namesCalls(func(int, int) string { return "" })},
	{Info: onGemini("QG-03", "id", "the calls have ids that are the provider's own"), script: namesCalls(callID)},
	{Info: onGemini("QG-04", "", "the first call of a turn is signed, others are not"), edit: signsCall},
	{Info: onGemini("QG-04", "text", "the text of a turn is signed"), edit: signsText},
	{Info: onGemini("QG-05", "", "the request is refused as if it had other function responses than calls (SG-01)"), edit: refusesResponses},
	{Info: onGemini("QG-06", "", "the model made a malformed call, and there is no content"), script: malformed("MALFORMED_FUNCTION_CALL", silence)},
	{Info: onGemini("QG-06", "text", "the model made a malformed call after a text"), script: malformed("MALFORMED_FUNCTION_CALL", func(t *fake.Response) { t.Calls = nil })},
	{Info: onGemini("QG-07", "", "the candidate has no content"), script: silent, edit: contentIs("")},
	{Info: onGemini("QG-07", "noparts", "the candidate has content without parts"), script: silent, edit: contentIs(`{"role":"model"}`)},
	{Info: onGemini("QG-08", "", "the candidate has no parts in its content"), script: silent, edit: contentIs(`{"parts":[],"role":"model"}`)},
	{Info: onGemini("QG-08", "blocked", "there is no candidate: the prompt was blocked"), edit: blocksPrompt},
	{Info: inStream(onGemini("QG-09", "", "the usage grows from chunk to chunk, and the last chunk leaves the output out")), edit: growingCounts},
	{Info: inStream(onGemini("QG-10", "", "the arguments of calls come in pieces, each at its path")), edit: partialArgs},
	{Info: onGemini("QG-10", "noargs", "calls without arguments have no args"), edit: leavesArgsOut},
	{Info: onGemini("QG-11", "", "the model made an unexpected call, and there is no content"), script: malformed("UNEXPECTED_TOOL_CALL", silence)},
	{Info: onGemini("QG-11", "call", "the model made an unexpected call, which is in the content all the same"), script: malformed("UNEXPECTED_TOOL_CALL", func(*fake.Response) {})},
	{Info: inStream(onGemini("QG-12", "", "an error comes after the first words, with status 200")), edit: unavailable(1, false)},
	{Info: inStream(onGemini("QG-12", "first", "the first try gets an error before anything of the answer, with status 200")), edit: unavailable(0, false)},
	{Info: inStream(onGemini("QG-12", "bare", "an error comes after the first words, with status 200 and outside any event")), edit: unavailable(1, true)},
	{Info: inStream(onGemini("QG-12", "barefirst", "the first try gets an error before anything of the answer, with status 200 and outside any event")), edit: unavailable(0, true)},
}

// Where things stand in a chunk and in an answer.
const (
	candidatePath = "candidates.0"
	contentPath   = candidatePath + ".content"
	partsPath     = contentPath + ".parts"
	reasonPath    = candidatePath + ".finishReason"
	outputPath    = "usageMetadata.candidatesTokenCount"
)

// partWhere returns the place of the first part for which f holds.
func partWhere(text string, f func(part gjson.Result) bool) (path string, ok bool) {
	for i, part := range gjson.Get(text, partsPath).Array() {
		if f(part) {
			return partsPath + "." + strconv.Itoa(i), true
		}
	}
	return "", false
}

func isCall(part gjson.Result) bool { return part.Get("functionCall").Exists() }

func hasCall(data []byte) bool {
	_, ok := partWhere(string(data), isCall)
	return ok
}

// stopsAtCall puts the end of a stream into the chunk before it, if that has a call.
// An answer in one piece is so already, and so is a stream of a model before Gemini 3.
func stopsAtCall(_ *reply.Response, r *reply.Reply) bool {
	n := len(r.Frames)
	if n == 0 {
		return hasCall(r.Body)
	}
	end := r.Frames[n-1]
	if n == 1 || hasCall(end.Data) {
		return hasCall(end.Data) && end.At(reasonPath).Exists()
	}
	before := &r.Frames[n-2]
	if !hasCall(before.Data) || !end.At(reasonPath).Exists() {
		return false
	}
	before.Put(reasonPath, end.At(reasonPath).Raw)
	before.Put("usageMetadata", end.At("usageMetadata").Raw)
	r.Frames = r.Frames[:n-1]
	return true
}

// emptyBehindCall puts an empty text behind the last call; in a stream it comes with
// the reason, in a chunk of its own.
func emptyBehindCall(_ *reply.Response, r *reply.Reply) bool {
	if n := len(r.Frames); n > 0 {
		last := r.Frames[n-1]
		if !hasCall(last.Data) { // Gemini 3 does so anyway
			return n > 1 && hasCall(r.Frames[n-2].Data) && last.At(partsPath+".0.text").Exists()
		}
		empty := reply.Put(string(last.Data), partsPath, `[{"text":""}]`)
		r.Frames[n-1].Data = []byte(reply.Drop(string(last.Data), reasonPath))
		r.Frames = append(r.Frames, reply.NewFrame(last.Name, empty))
		return true
	}
	if !hasCall(r.Body) {
		return false
	}
	r.Body = []byte(reply.Put(string(r.Body), partsPath+".-1", `{"text":""}`))
	return true
}

// namesCalls gives each call the id that f has for the turn and the call.
func namesCalls(f func(turn, call int) string) scriptEdit {
	return func(p *reply.Response, t *fake.Response) bool {
		return eachCall(t, func(i int, c *fake.Call) { c.ID = f(p.Key.Response, i) })
	}
}

// callID looks like an id of Gemini 3.
func callID(turn, call int) string { return fmt.Sprintf("8h%d%dvsf", turn+1, call+1) }

// signsCall signs the first call.
func signsCall(p *reply.Response, r *reply.Reply) bool {
	found := false
	return r.Edit(func(text string) string {
		path, ok := partWhere(text, isCall)
		if !ok || found {
			return text
		}
		found = true
		return reply.Put(text, path+".thoughtSignature", ownSignature(p))
	})
}

// signsText signs the last piece of the text.
func signsText(p *reply.Response, r *reply.Reply) bool {
	last := -1
	isText := func(part gjson.Result) bool { return part.Get("text").Str != "" && !part.Get("thought").Bool() }
	for i, f := range r.Frames {
		if _, ok := partWhere(string(f.Data), isText); ok {
			last = i
		}
	}
	n := -1
	return r.Edit(func(text string) string {
		n++
		path, ok := partWhere(text, isText)
		if !ok || last >= 0 && n != last {
			return text
		}
		return reply.Put(text, path+".thoughtSignature", ownSignature(p))
	})
}

// ownSignature is a signature that no other answer has, in quotes: one that is given
// back in the place of another is seen.
func ownSignature(p *reply.Response) string {
	return `"` + base64.StdEncoding.EncodeToString([]byte("thought "+p.Key.ID())) + `"`
}

// refusesResponses answers as SG-01 does.
func refusesResponses(p *reply.Response, r *reply.Reply) bool {
	if at, _ := lastCalls(p); at < 0 {
		return false
	}
	p.Fail(r, &llm.APIError{Status: http.StatusBadRequest, Message: reply.UnequalResponses})
	return true
}

// malformed ends a turn with calls, of which only some is left, for such a reason.
func malformed(word string, leave func(t *fake.Response)) scriptEdit {
	return func(_ *reply.Response, t *fake.Response) bool {
		if len(t.Calls) == 0 {
			return false
		}
		c := t.Calls[0]
		leave(t)
		t.FinishReason, t.RawFinishReason = llm.FinishMalformedCall, word
		t.FinishMessage = "Malformed function call: print(default_api." + c.Name + "("
		if word == "UNEXPECTED_TOOL_CALL" {
			t.FinishMessage = "Unexpected tool call: " + c.Name
		}
		return true
	}
}

func silent(_ *reply.Response, t *fake.Response) bool {
	silence(t)
	return true
}

// contentIs sets the content of the candidate; none takes it out.
func contentIs(content string) edit {
	return func(_ *reply.Response, r *reply.Reply) bool {
		return r.Edit(func(text string) string {
			switch {
			case !gjson.Get(text, candidatePath).Exists():
				return text
			case content == "":
				return reply.Drop(text, contentPath)
			}
			return reply.Put(text, contentPath, content)
		})
	}
}

func blocksPrompt(_ *reply.Response, r *reply.Reply) bool {
	r.Frames = r.Frames[:min(1, len(r.Frames))]
	return r.Edit(func(text string) string {
		if !gjson.Get(text, candidatePath).Exists() {
			return text
		}
		text = reply.Put(reply.Drop(text, "candidates"), "promptFeedback", `{"blockReason":"PROHIBITED_CONTENT"}`)
		input := gjson.Get(text, "usageMetadata.promptTokenCount").Raw
		return reply.Put(text, "usageMetadata", `{"promptTokenCount":`+input+`,"totalTokenCount":`+input+`}`)
	})
}

// unavailable lets an error follow so many chunks; if they are none, only for the
// first try.
func unavailable(after int, bare bool) edit {
	return func(p *reply.Response, r *reply.Reply) bool {
		if len(r.Frames) <= after || after == 0 && p.Key.Attempt > 1 {
			return false
		}
		e := p.ErrorFrame(&llm.APIError{Status: http.StatusServiceUnavailable, Message: "The model is overloaded. Please try again later."})
		r.Frames = append(r.Frames[:after], e)
		r.Style.BareLast = bare
		return true
	}
}
