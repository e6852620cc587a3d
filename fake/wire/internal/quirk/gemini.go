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

func onGemini(id, form, description string) Info {
	return Info{ID: id, Form: form, Description: description, Protocols: []string{reply.Generate}}
}

var geminiQuirks = []Form{
	{Info: onGemini("QG-01", "", "the finish reason STOP comes with a call"), edit: stopsAtCall},
	{Info: onGemini("QG-02", "", "an empty text comes after the last call"), edit: emptyAfterCall},
	{Info: onGemini("QG-03", "", "the calls have no ids"), script: namesCalls(func(int, int) string { return "" })},
	{Info: onGemini("QG-03", "id", "the calls have ids that are the provider's own"), script: namesCalls(callID)},
	{Info: onGemini("QG-04", "", "the first call of a response is signed, others are not"), edit: signsCall},
	{Info: onGemini("QG-04", "text", "the text of a response is signed"), edit: signsText},
	{Info: onGemini("QG-05", "", "the request is rejected as if it had other function responses than calls (SG-01)"), edit: refusesResponses},
	{Info: onGemini("QG-06", "", "the model made a malformed call, and there is no content"), script: malformed("MALFORMED_FUNCTION_CALL", clearContent)},
	{Info: onGemini("QG-06", "text", "the model made a malformed call after text"), script: malformed("MALFORMED_FUNCTION_CALL", func(t *fake.Response) { t.Calls = nil })},
	{Info: onGemini("QG-07", "", "the candidate has no content"), script: clearAll, edit: contentIs("")},
	{Info: onGemini("QG-07", "noparts", "the candidate has content without parts"), script: clearAll, edit: contentIs(`{"role":"model"}`)},
	{Info: onGemini("QG-08", "", "the candidate has no parts in its content"), script: clearAll, edit: contentIs(`{"parts":[],"role":"model"}`)},
	{Info: onGemini("QG-08", "blocked", "there is no candidate: the prompt was blocked"), edit: blocksPrompt},
	{Info: inStream(onGemini("QG-09", "", "the usage counts up from chunk to chunk, and the last chunk omits the output")), edit: growingCounts},
	{Info: inStream(onGemini("QG-10", "", "the arguments of calls come in chunks, each at its path")), edit: partialArguments},
	{Info: onGemini("QG-10", "noargs", "calls without arguments omit functionCall.args"), edit: omitArguments},
	{Info: onGemini("QG-11", "", "the model made an unexpected call, and there is no content"), script: malformed("UNEXPECTED_TOOL_CALL", clearContent)},
	{Info: onGemini("QG-11", "call", "the model made an unexpected call, which is also in the content"), script: malformed("UNEXPECTED_TOOL_CALL", func(*fake.Response) {})},
	{Info: inStream(onGemini("QG-12", "", "an error comes after the first text, with status 200")), edit: unavailable(1, false)},
	{Info: inStream(onGemini("QG-12", "first", "the first attempt gets an error before the response begins, with status 200")), edit: unavailable(0, false)},
	{Info: inStream(onGemini("QG-12", "bare", "an error comes after the first text, with status 200 and outside any event")), edit: unavailable(1, true)},
	{Info: inStream(onGemini("QG-12", "barefirst", "the first attempt gets an error before the response begins, with status 200 and outside any event")), edit: unavailable(0, true)},
}

// Paths in a chunk and in a response.
const (
	candidatePath = "candidates.0"
	contentPath   = candidatePath + ".content"
	partsPath     = contentPath + ".parts"
	reasonPath    = candidatePath + ".finishReason"
	outputPath    = "usageMetadata.candidatesTokenCount"
)

func findPart(text string, f func(part gjson.Result) bool) (path string, ok bool) {
	for i, part := range gjson.Get(text, partsPath).Array() {
		if f(part) {
			return partsPath + "." + strconv.Itoa(i), true
		}
	}
	return "", false
}

func isCall(part gjson.Result) bool { return part.Get("functionCall").Exists() }

func hasCall(data []byte) bool {
	_, ok := findPart(string(data), isCall)
	return ok
}

// stopsAtCall moves the end of a stream to the chunk before it, if that has a call.
// Other responses, and streams of models before Gemini 3, have it so already.
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

// emptyAfterCall adds an empty text after the last call; in a stream it comes with the
// finish reason, in its own chunk.
func emptyAfterCall(_ *reply.Response, r *reply.Reply) bool {
	if n := len(r.Frames); n > 0 {
		last := r.Frames[n-1]
		if !hasCall(last.Data) { // as Gemini 3 does
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

func namesCalls(f func(response, call int) string) scriptEdit {
	return func(p *reply.Response, t *fake.Response) bool {
		return eachCall(t, func(i int, c *fake.Call) { c.ID = f(p.Key.Response, i) })
	}
}

func callID(response, call int) string { return fmt.Sprintf("8h%d%dvsf", response+1, call+1) }

func signsCall(p *reply.Response, r *reply.Reply) bool {
	found := false
	return r.Edit(func(text string) string {
		path, ok := findPart(text, isCall)
		if !ok || found {
			return text
		}
		found = true
		return reply.Put(text, path+".thoughtSignature", ownSignature(p))
	})
}

func signsText(p *reply.Response, r *reply.Reply) bool {
	last := -1
	isText := func(part gjson.Result) bool { return part.Get("text").Str != "" && !part.Get("thought").Bool() }
	for i, f := range r.Frames {
		if _, ok := findPart(string(f.Data), isText); ok {
			last = i
		}
	}
	n := -1
	return r.Edit(func(text string) string {
		n++
		path, ok := findPart(text, isText)
		if !ok || last >= 0 && n != last {
			return text
		}
		return reply.Put(text, path+".thoughtSignature", ownSignature(p))
	})
}

// ownSignature returns a signature, in quotes, that no other response has.
func ownSignature(p *reply.Response) string {
	return `"` + base64.StdEncoding.EncodeToString([]byte("thought "+p.Key.ID())) + `"`
}

func refusesResponses(p *reply.Response, r *reply.Reply) bool {
	if at, _ := lastCalls(p); at < 0 {
		return false
	}
	p.Fail(r, &llm.APIError{Status: http.StatusBadRequest, Message: reply.UnequalResponses})
	return true
}

// malformed ends a response with calls for this reason; leave removes content.
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

func clearAll(_ *reply.Response, t *fake.Response) bool {
	clearContent(t)
	return true
}

// contentIs sets the content of the candidate; empty means to remove it.
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

// unavailable inserts an error after this number of chunks; 0 limits it to the first
// attempt.
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
