package quirk

import (
	"net/http"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

// The protocols: all, those whose streams have an event at the end, and each alone.
var (
	every     = protocols{reply.Chat, reply.Responses, reply.Messages, reply.Generate}
	marked    = every[:3]
	chat      = protocols{reply.Chat}
	responses = protocols{reply.Responses}
	messages  = protocols{reply.Messages}
	gemini    = protocols{reply.Generate}
)

var anyQuirks = slices.Concat(streamQuirks, statusQuirks, bodyQuirks, argumentQuirks, stallQuirks)

var streamQuirks = []*Form{
	every.inStream("QT-01", "crlf", "lines end in CRLF", styled(func(s *reply.Style) { s.LineEnd = "\r\n" })),
	every.inStream("QT-01", "cr", "lines end in CR", styled(func(s *reply.Style) { s.LineEnd = "\r" })),
	every.inScript("QT-01", "u2028", "the text contains U+2028 and U+0085, as they are", lineSeparators),
	every.inStream("QT-02", "comments", "a comment comes before each event", styled(func(s *reply.Style) { s.EventPrefix = ": OPENROUTER PROCESSING\n\n" })),
	every.inStream("QT-02", "fields", "each event has an id and a time to retry after", styled(func(s *reply.Style) { s.EventPrefix = "id: 7\nretry: 3000\n" })),
	every.inStream("QT-02", "tight", "there is no space after data:", styled(func(s *reply.Style) { s.NoSpace = true })),
	every.inStream("QT-02", "lines", "the data of an event comes in several lines", styled(func(s *reply.Style) { s.SplitData = true })),
	every.inStream("QT-02", "bom", "a byte order mark comes first", styled(func(s *reply.Style) { s.Prefix = "\ufeff" })),
	every.inReply("QT-03", "line", "a line has over 64 KiB", padded(70_000)),
	every.inReply("QT-03", "event", "an event has over 1 MiB", padded(1_100_000)),
	every.inReply("QT-04", "", "one byte at a time", func(r *reply.Reply) bool {
		r.Chunk = 1
		return true
	}),
	every.inStream("QT-05", "", "the connection is reset in the middle of a stream", func(r *reply.Reply) bool {
		n := len(r.Frames) / 2
		r.Frames, r.End = r.Frames[:n], reply.Reset
		return n > 0
	}),
	every.inReply("QT-05", "first", "the connection of the first attempt is reset before any readable part of the response", func(r *reply.Reply) bool {
		if r.Key.Attempt > 1 {
			return false
		}
		r.Frames, r.Body, r.End = nil, r.Body[:len(r.Body)/2], reply.Reset
		return true
	}),
}

var statusQuirks = []*Form{
	every.inReply("QT-06", "429", "the first attempt gets a 429 with Retry-After: 2", firstAttempt(429, "Retry-After", "2")),
	every.inReply("QT-06", "date", "the first attempt gets a 429 with a date three seconds away in Retry-After", firstAttempt(429, "Date", "Sat, 01 Jan 2000 00:00:00 GMT", "Retry-After", "Sat, 01 Jan 2000 00:00:03 GMT")),
	every.inReply("QT-06", "ms", "the first attempt gets a 429 with Retry-After-Ms: 1500", firstAttempt(429, "Retry-After-Ms", "1500")),
	every.inReply("QT-06", "long", "a 429 asks to wait longer than two minutes", eachAttempt(429, "Retry-After", "121")),
	every.inReply("QT-06", "500", "the first attempt gets a 500", firstAttempt(500)),
	every.inReply("QT-06", "502", "the first attempt gets a 502", firstAttempt(502)),
	every.inReply("QT-06", "503", "the first attempt gets a 503", firstAttempt(503)),
	every.inReply("QT-06", "529", "the first attempt gets a 529", firstAttempt(529)),
	every.inReply("QT-07", "400", "each attempt gets a 400", eachAttempt(400)),
	every.inReply("QT-07", "401", "each attempt gets a 401", eachAttempt(401)),
	every.inReply("QT-07", "403", "each attempt gets a 403", eachAttempt(403)),
	every.inReply("QT-07", "404", "each attempt gets a 404", eachAttempt(404)),
	every.inReply("QT-07", "413", "each attempt gets a 413", eachAttempt(413)),
	every.inReply("QT-07", "429", "each attempt gets a 429 with X-Should-Retry: false", eachAttempt(429, "X-Should-Retry", "false")),
	every.inReply("QT-07", "500", "each attempt gets a 500 with X-Should-Retry: false", eachAttempt(500, "X-Should-Retry", "false")),
	every.inReply("QT-07", "key", "each attempt gets a 401 that repeats a part of the key", func(r *reply.Reply) bool {
		r.Fail(&llm.APIError{Status: http.StatusUnauthorized, Message: "Incorrect API key provided: " + r.MaskedKey + ". You can find your API key in your account."})
		return true
	}),
}

// unreachable is what a proxy returns if it cannot reach a server.
const unreachable = "upstream connect error or disconnect/reset before headers"

var bodyQuirks = []*Form{
	every.inReply("QT-08", "html", "each attempt gets the error page of a proxy with status 520", replaceBody(520, "text/html; charset=UTF-8", "<html>\n<head><title>520: Web server is returning an unknown error</title></head>\n<body>Ray ID: 7</body>\n</html>\n")),
	every.inReply("QT-08", "502", "the first attempt gets a 502 with text that is not JSON", onFirstAttempt(replaceBody(502, "text/plain", unreachable))),
	every.inReply("QT-08", "503", "the first attempt gets a 503 without a body", onFirstAttempt(replaceBody(503, "text/plain", ""))),
	every.inReply("QT-08", "404", "each attempt gets a 404 with the error page of a proxy", replaceBody(404, "text/html", "<html>\n<head><title>404 Not Found</title></head>\n<body>nginx</body>\n</html>\n")),
	every.inReply("QT-08", "empty", "each attempt gets a 200 without a body", replaceBody(200, "application/json", "")),
	every.inReply("QT-08", "text", "each attempt gets a 200 with text that is not JSON", replaceBody(200, "text/plain", unreachable)),
	every.inReply("QT-08", "error", "each attempt gets a 200 with an error in JSON", replaceBody(200, "application/json", `{"error":"Input validation error","error_type":"validation"}`)),
	every.inStream("QT-08", "answer", "the request asks for a stream and gets a non-streaming response", func(r *reply.Reply) bool {
		asked, whole := *r.Request, *r.Response
		asked.ResponseMode = llm.NonStreaming
		whole.Request, whole.Array = &asked, false
		*r = *whole.Render()
		return true
	}),
}

var argumentQuirks = []*Form{
	marked.inScript("QT-09", "text", "the arguments of the first call are not JSON", setArguments("city: Bern")),
	marked.inScript("QT-09", "rubbish", "the arguments of the first call have other text after the object", setArguments(`{"city":"Bern"} please`)),
	every.inScript("QT-09", "scalar", "the arguments of the first call are a number", setArguments("7")),
	every.inScript("QT-09", "deep", "the arguments of the first call nest almost ten thousand deep", setArguments(`{"city":`+strings.Repeat("[", 9_990)+strings.Repeat("]", 9_990)+"}")),
	every.inScript("QT-09", "twice", "the arguments of the first call have a member twice", setArguments(`{"city":"Bern","city":"Rome"}`)),
	every.inScript("QT-09", "surrogate", "the arguments of the first call have half of a surrogate pair", setArguments(`{"city":"\ud83d"}`)),
}

var stallQuirks = []*Form{
	every.inReply("QT-10", "headers", "nothing comes after the headers", func(r *reply.Reply) bool {
		r.Frames, r.Body, r.End = nil, nil, reply.Hang
		return true
	}),
	every.inStream("QT-10", "events", "nothing comes after half of the events", stallHalfway("")),
	every.inStream("QT-10", "comments", "nothing but comments comes after half of the events", stallHalfway(": ping\n\n")),
	messages.inStream("QT-10", "pings", "nothing but pings comes after half of the events", stallHalfway("event: ping\ndata: {\"type\": \"ping\"}\n\n")),
	marked.inStream("QT-11", "", "the connection stays open after the event that ends the stream", func(r *reply.Reply) bool {
		if len(r.Frames) == 0 || r.End != reply.EndBody {
			return false
		}
		r.End = reply.Hang
		return true
	}),
}

func styled(f func(*reply.Style)) edit {
	return func(r *reply.Reply) bool {
		f(&r.Style)
		return true
	}
}

// lineSeparators ends the text with characters that some readers take for line ends.
func lineSeparators(t *fake.Response) bool {
	const separators = " A\u2028B\u0085C"
	switch {
	case len(t.Chunks) > 0:
		t.Chunks = append(slices.Clone(t.Chunks), separators)
	case t.Text != "":
		t.Text += separators
	default:
		return false
	}
	return true
}

// padded adds a member of this size to the first event, or to the body.
func padded(size int) edit {
	return func(r *reply.Reply) bool {
		done := false
		return r.Edit(func(text string) string {
			if done {
				return text
			}
			done = true
			return reply.Put(text, "padding", `"`+strings.Repeat("x", size)+`"`)
		})
	}
}

// eachAttempt replaces the response by an error with headers, as name and value.
func eachAttempt(status int, headers ...string) edit {
	text := http.StatusText(status)
	if status == 529 { // Anthropic only
		text = "Overloaded"
	}
	return func(r *reply.Reply) bool {
		r.Fail(&llm.APIError{Status: status, Message: "The request fails: " + text + "."})
		for h := range slices.Chunk(headers, 2) {
			r.Header.Set(h[0], h[1])
		}
		return true
	}
}

func firstAttempt(status int, headers ...string) edit {
	return onFirstAttempt(eachAttempt(status, headers...))
}

func onFirstAttempt(f edit) edit {
	return func(r *reply.Reply) bool { return r.Key.Attempt == 1 && f(r) }
}

func replaceBody(status int, contentType, body string) edit {
	return func(r *reply.Reply) bool {
		r.SetJSON(status, []byte(body))
		r.Header.Set("Content-Type", contentType)
		return true
	}
}

// setArguments replaces the arguments of the first call. Long ones come in a single
// chunk.
func setArguments(args string) func(t *fake.Response) bool {
	return func(t *fake.Response) bool {
		return eachCall(t, func(i int, c *fake.Call) {
			if i == 0 {
				c.Arguments, c.Chunks, c.SingleChunk = args, nil, len(args) > 1000
			}
		})
	}
}

func stallHalfway(drip string) edit {
	return func(r *reply.Reply) bool {
		r.Frames, r.End, r.Repeat = r.Frames[:len(r.Frames)/2], reply.Hang, []byte(drip)
		return true
	}
}
