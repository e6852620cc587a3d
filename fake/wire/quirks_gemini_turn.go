package wire

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
)

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
func stopsAtCall(_ *play, r *reply) bool {
	n := len(r.frames)
	if n == 0 {
		return hasCall(r.body)
	}
	end := r.frames[n-1]
	if n == 1 || hasCall(end.data) {
		return hasCall(end.data) && end.at(reasonPath).Exists()
	}
	before := &r.frames[n-2]
	if !hasCall(before.data) || !end.at(reasonPath).Exists() {
		return false
	}
	before.put(reasonPath, end.at(reasonPath).Raw)
	before.put("usageMetadata", end.at("usageMetadata").Raw)
	r.frames = r.frames[:n-1]
	return true
}

// emptyBehindCall puts an empty text behind the last call; in a stream it comes with
// the reason, in a chunk of its own.
func emptyBehindCall(_ *play, r *reply) bool {
	if n := len(r.frames); n > 0 {
		last := r.frames[n-1]
		if !hasCall(last.data) { // Gemini 3 does so anyway
			return n > 1 && hasCall(r.frames[n-2].data) && last.at(partsPath+".0.text").Exists()
		}
		empty := put(string(last.data), partsPath, `[{"text":""}]`)
		r.frames[n-1].data = []byte(drop(string(last.data), reasonPath))
		r.frames = append(r.frames, frame{last.name, []byte(empty)})
		return true
	}
	if !hasCall(r.body) {
		return false
	}
	r.body = []byte(put(string(r.body), partsPath+".-1", `{"text":""}`))
	return true
}

// finishWithLast has the last piece of an answer tell the reason of its end, as Gemini
// 2.5 does, where an empty text comes with it in a chunk of its own.
func finishWithLast(frames []frame) []frame {
	n := len(frames) - 1
	if n < 1 || frames[n].at(partsPath).Raw != `[{"text":""}]` || !frames[n-1].at(partsPath).Exists() {
		return frames
	}
	frames[n].data = []byte(put(string(frames[n].data), partsPath, frames[n-1].at(partsPath).Raw))
	return append(frames[:n-1], frames[n])
}

// namesCalls gives each call the id that f has for the turn and the call.
func namesCalls(f func(turn, call int) string) func(*play, *fake.Response) bool {
	return func(p *play, t *fake.Response) bool {
		return eachCall(t, func(i int, c *fake.Call) { c.ID = f(p.place.Response, i) })
	}
}

// callID looks like an id of Gemini 3.
func callID(turn, call int) string { return fmt.Sprintf("8h%d%dvsf", turn+1, call+1) }

// signsCall signs the first call.
func signsCall(p *play, r *reply) bool {
	found := false
	return r.edit(func(text string) string {
		path, ok := partWhere(text, isCall)
		if !ok || found {
			return text
		}
		found = true
		return put(text, path+".thoughtSignature", p.ownSignature())
	})
}

// signsText signs the last piece of the text.
func signsText(p *play, r *reply) bool {
	last := -1
	isText := func(part gjson.Result) bool { return part.Get("text").Str != "" && !part.Get("thought").Bool() }
	for i, f := range r.frames {
		if _, ok := partWhere(string(f.data), isText); ok {
			last = i
		}
	}
	n := -1
	return r.edit(func(text string) string {
		n++
		path, ok := partWhere(text, isText)
		if !ok || last >= 0 && n != last {
			return text
		}
		return put(text, path+".thoughtSignature", p.ownSignature())
	})
}

// ownSignature is a signature that no other answer has, in quotes: one that is given
// back in the place of another is seen.
func (p *play) ownSignature() string {
	return `"` + base64.StdEncoding.EncodeToString([]byte("thought "+p.place.name())) + `"`
}

// refusesResponses answers as SG-01 does.
func refusesResponses(p *play, r *reply) bool {
	if at, _ := p.called(); at < 0 {
		return false
	}
	p.fail(r, &llm.APIError{Status: http.StatusBadRequest, Message: unequalResponses})
	return true
}

// malformed ends a turn with calls, of which only some is left, for such a reason.
func malformed(word string, leave func(t *fake.Response)) func(*play, *fake.Response) bool {
	return func(_ *play, t *fake.Response) bool {
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

func silent(_ *play, t *fake.Response) bool {
	silence(t)
	return true
}

// contentIs sets the content of the candidate; none takes it out.
func contentIs(content string) func(*play, *reply) bool {
	return func(_ *play, r *reply) bool {
		return r.edit(func(text string) string {
			switch {
			case !gjson.Get(text, candidatePath).Exists():
				return text
			case content == "":
				return drop(text, contentPath)
			}
			return put(text, contentPath, content)
		})
	}
}

func blocksPrompt(_ *play, r *reply) bool {
	r.frames = r.frames[:min(1, len(r.frames))]
	return r.edit(func(text string) string {
		if !gjson.Get(text, candidatePath).Exists() {
			return text
		}
		text = put(drop(text, "candidates"), "promptFeedback", `{"blockReason":"PROHIBITED_CONTENT"}`)
		input := gjson.Get(text, "usageMetadata.promptTokenCount").Raw
		return put(text, "usageMetadata", `{"promptTokenCount":`+input+`,"totalTokenCount":`+input+`}`)
	})
}

// unavailable lets an error follow so many chunks; if they are none, only for the
// first try.
func unavailable(after int, bare bool) func(*play, *reply) bool {
	return func(p *play, r *reply) bool {
		if len(r.frames) <= after || after == 0 && p.place.Attempt > 1 {
			return false
		}
		e := p.tell(&llm.APIError{Status: http.StatusServiceUnavailable, Message: "The model is overloaded. Please try again later."})
		r.frames = append(r.frames[:after], e)
		r.style.bare = bare
		return true
	}
}
