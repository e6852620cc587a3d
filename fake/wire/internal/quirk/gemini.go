package quirk

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

var geminiQuirks = []*Form{
	gemini.inReply("QG-01", "", "the finish reason STOP comes with a call", stopsAtCall),
	gemini.inReply("QG-02", "", "an empty text comes after the last call", emptyAfterCall),
	gemini.inResponse("QG-03", "", "the calls have no ids", namesCalls(func(int, int) string { return "" })),
	gemini.inResponse("QG-03", "id", "the calls have ids that are the provider's own", namesCalls(func(response, call int) string { return fmt.Sprintf("8h%d%dvsf", response+1, call+1) })),
	gemini.inReply("QG-04", "", "the first call of a response is signed, others are not", signsCall),
	gemini.inReply("QG-04", "text", "the text of a response is signed", signsText),
	gemini.inReply("QG-05", "", "the request is rejected as if it had other function responses than calls (SG-01)", func(r *reply.Reply) bool {
		at, _ := lastCalls(r.Response)
		if at >= 0 {
			r.Fail(&llm.APIError{Status: http.StatusBadRequest, Message: reply.UnequalResponses})
		}
		return at >= 0
	}),
	gemini.inScript("QG-06", "", "the model made a malformed call, and there is no content", malformed("MALFORMED_FUNCTION_CALL", malformedMessage, clearContent)),
	gemini.inScript("QG-06", "text", "the model made a malformed call after text", malformed("MALFORMED_FUNCTION_CALL", malformedMessage, func(t *fake.Response) { t.Calls = nil })),
	gemini.inScript("QG-07", "", "the candidate has no content", clearAll).and(contentIs("")),
	gemini.inScript("QG-07", "noparts", "the candidate has content without parts", clearAll).and(contentIs(`{"role":"model"}`)),
	gemini.inScript("QG-08", "", "the candidate has no parts in its content", clearAll).and(contentIs(`{"parts":[],"role":"model"}`)),
	gemini.inReply("QG-08", "blocked", "there is no candidate: the prompt was blocked", func(r *reply.Reply) bool {
		r.Frames = r.Frames[:min(1, len(r.Frames))]
		return r.Edit(func(text string) string {
			if !gjson.Get(text, candidatePath).Exists() {
				return text
			}
			text = reply.Put(reply.Drop(text, "candidates"), "promptFeedback", `{"blockReason":"PROHIBITED_CONTENT"}`)
			input := gjson.Get(text, "usageMetadata.promptTokenCount").Raw
			return reply.Put(text, "usageMetadata", `{"promptTokenCount":`+input+`,"totalTokenCount":`+input+`}`)
		})
	}),
	gemini.inStream("QG-09", "", "the usage counts up from chunk to chunk, and the last chunk omits the output", growingCounts),
	gemini.inStream("QG-10", "", "the arguments of calls come in chunks, each at its path", partialArguments),
	gemini.inReply("QG-10", "noargs", "calls without arguments omit functionCall.args", edited(omitArguments)),
	gemini.inScript("QG-11", "", "the model made an unexpected call, and there is no content", malformed("UNEXPECTED_TOOL_CALL", "Unexpected tool call: %s", clearContent)),
	gemini.inScript("QG-11", "call", "the model made an unexpected call, which is also in the content", malformed("UNEXPECTED_TOOL_CALL", "Unexpected tool call: %s", func(*fake.Response) {})),
	gemini.inStream("QG-12", "", "an error comes after the first text, with status 200", unavailable(1, false)),
	gemini.inStream("QG-12", "first", "the first attempt gets an error before the response begins, with status 200", unavailable(0, false)),
	gemini.inStream("QG-12", "bare", "an error comes after the first text, with status 200 and outside any event", unavailable(1, true)),
	gemini.inStream("QG-12", "barefirst", "the first attempt gets an error before the response begins, with status 200 and outside any event", unavailable(0, true)),
}

const malformedMessage = "Malformed function call: print(default_api.%s("

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
func stopsAtCall(r *reply.Reply) bool {
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
	return r.Cut(n-1, n)
}

// emptyAfterCall adds an empty text after the last call; in a stream it comes with the
// finish reason, in its own chunk.
func emptyAfterCall(r *reply.Reply) bool {
	n := len(r.Frames)
	switch {
	case n == 0 && hasCall(r.Body):
		r.Body.Put(partsPath+".-1", `{"text":""}`)
		return true
	case n == 0:
		return false
	}
	last := r.Frames[n-1]
	if !hasCall(last.Data) { // as Gemini 3 does
		return n > 1 && hasCall(r.Frames[n-2].Data) && last.At(partsPath+".0.text").Exists()
	}
	r.Frames[n-1].Drop(reasonPath)
	last.Put(partsPath, `[{"text":""}]`)
	r.Frames = append(r.Frames, last)
	return true
}

func namesCalls(f func(response, call int) string) scriptEdit {
	return func(p *reply.Response, t *fake.Response) bool {
		return eachCall(t, func(i int, c *fake.Call) { c.ID = f(p.Key.Response, i) })
	}
}

// signsCall signs the first call.
func signsCall(r *reply.Reply) bool {
	found := false
	return r.Edit(func(text string) string {
		path, ok := findPart(text, isCall)
		if !ok || found {
			return text
		}
		found = true
		return sign(r, text, path)
	})
}

// signsText signs the last text.
func signsText(r *reply.Reply) bool {
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
		return sign(r, text, path)
	})
}

// sign adds a signature to a part that no other response has.
func sign(r *reply.Reply, text, path string) string {
	signature := base64.StdEncoding.EncodeToString([]byte("thought " + r.Key.ID()))
	return reply.Put(text, path+".thoughtSignature", `"`+signature+`"`)
}

// malformed ends a response with calls for this reason; leave removes content.
func malformed(word, message string, leave func(t *fake.Response)) func(t *fake.Response) bool {
	return func(t *fake.Response) bool {
		if len(t.Calls) == 0 {
			return false
		}
		message := fmt.Sprintf(message, t.Calls[0].Name)
		leave(t)
		t.FinishReason, t.RawFinishReason, t.FinishMessage = llm.FinishMalformedCall, word, message
		return true
	}
}

func clearAll(t *fake.Response) bool {
	clearContent(t)
	return true
}

// contentIs sets the content of the candidate; empty means to remove it.
func contentIs(content string) edit {
	return edited(func(text string) string {
		switch {
		case !gjson.Get(text, candidatePath).Exists():
			return text
		case content == "":
			return reply.Drop(text, contentPath)
		}
		return reply.Put(text, contentPath, content)
	})
}

// unavailable inserts an error after this number of chunks; 0 limits it to the first
// attempt.
func unavailable(after int, bare bool) edit {
	return func(r *reply.Reply) bool {
		if len(r.Frames) <= after || after == 0 && r.Key.Attempt > 1 {
			return false
		}
		e := llm.APIError{Status: http.StatusServiceUnavailable, Message: "The model is overloaded. Please try again later."}
		r.Frames = append(r.Frames[:after], r.ErrorFrame(&e))
		r.Style.BareLast = bare
		return true
	}
}

// growingCounts counts the output tokens up from chunk to chunk. The last chunk has no
// count.
func growingCounts(r *reply.Reply) bool {
	n := len(r.Frames) - 1
	if n < 1 || !r.Frames[n].At(outputPath).Exists() {
		return false
	}
	maxCount := int(r.Frames[n].At(outputPath).Int())
	for i := range n {
		r.Frames[i].Put(outputPath, strconv.Itoa(maxCount*(i+1)/n))
	}
	r.Frames[n].Drop(outputPath)
	return true
}

func omitArguments(text string) string {
	for i, part := range gjson.Get(text, partsPath).Array() {
		if part.Get("functionCall.args").Raw == "{}" {
			text = reply.Drop(text, partsPath+"."+strconv.Itoa(i)+".functionCall.args")
		}
	}
	return text
}

// partialArguments splits each call with arguments into a start, a chunk for each scalar, two
// for a string, and an end.
func partialArguments(r *reply.Reply) bool {
	return r.Spread(func(f reply.Frame) []reply.Frame {
		path, ok := findPart(string(f.Data), isCall)
		args := f.At(path + ".functionCall.args")
		if !ok || !args.IsObject() {
			return nil
		}
		deltas := scalars("$", args)
		if deltas == nil {
			return nil
		}
		last := f
		f.Drop(reasonPath) // the last chunk has it
		out := []reply.Frame{f}
		out[0].Drop(path + ".functionCall.args")
		out[0].Put(path+".functionCall.willContinue", "true")
		for _, p := range deltas {
			next := f
			next.Put(partsPath, `[{"functionCall":{"partialArgs":[`+p+`],"willContinue":true}}]`)
			out = append(out, next)
		}
		last.Put(partsPath, `[{"functionCall":{}}]`)
		return append(out, last)
	})
}

// scalars returns the partial arguments of a value; nil if an object or array in it is
// empty, which partial arguments cannot represent.
func scalars(path string, v gjson.Result) (out []string) {
	delta := func(member string) string { return `{"jsonPath":` + reply.Quote(path) + `,` + member }
	switch v.Type {
	case gjson.Null:
		return []string{delta(`"nullValue":"NULL_VALUE"}`)}
	case gjson.True, gjson.False:
		return []string{delta(`"boolValue":` + v.Raw + `}`)}
	case gjson.Number:
		return []string{delta(`"numberValue":` + v.Raw + `}`)}
	case gjson.String:
		half := firstHalf(v.Str)
		return []string{
			delta(`"stringValue":` + reply.Quote(half) + `,"willContinue":true}`),
			delta(`"stringValue":` + reply.Quote(v.Str[len(half):]) + `}`),
		}
	case gjson.JSON:
	}
	n := 0
	v.ForEach(func(key, below gjson.Result) bool {
		to := path + "[" + strconv.Itoa(n) + "]"
		if v.IsObject() {
			to = path + step(key.Str)
		}
		deltas := scalars(to, below)
		if deltas == nil {
			out = nil
			return false
		}
		n++
		out = append(out, deltas...)
		return true
	})
	return out
}

func step(name string) string {
	plain := func(r rune) bool {
		return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if name != "" && strings.TrimFunc(name, plain) == "" {
		return "." + name
	}
	return "['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name) + "']"
}
