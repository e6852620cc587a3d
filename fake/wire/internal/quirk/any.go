package quirk

import (
	"slices"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
)

var (
	every  = []string{reply.Chat, reply.Responses, reply.Messages, reply.Generate}
	marked = []string{reply.Chat, reply.Responses, reply.Messages}
)

func onAny(id, form, description string) Info {
	return Info{ID: id, Form: form, Description: description, Protocols: every}
}

func asText(id, form, description string) Info {
	return Info{ID: id, Form: form, Description: description, Protocols: []string{reply.Chat, reply.Responses, reply.Messages}}
}

var anyQuirks = slices.Concat(streamQuirks, statusQuirks, bodyQuirks, argumentQuirks, stallQuirks)

var streamQuirks = []Form{
	{Info: inStream(onAny("QT-01", "crlf", "lines end in CRLF")), edit: styled(func(s *reply.Style) { s.LineEnd = "\r\n" })},
	{Info: inStream(onAny("QT-01", "cr", "lines end in CR")), edit: styled(func(s *reply.Style) { s.LineEnd = "\r" })},
	{Info: onAny("QT-01", "u2028", "the text contains U+2028 and U+0085, as they are"), script: lineSeparators},
	{Info: inStream(onAny("QT-02", "comments", "a comment comes before each event")), edit: styled(func(s *reply.Style) { s.EventPrefix = ": OPENROUTER PROCESSING\n\n" })},
	{Info: inStream(onAny("QT-02", "fields", "each event has an id and a time to retry after")), edit: styled(func(s *reply.Style) { s.EventPrefix = "id: 7\nretry: 3000\n" })},
	{Info: inStream(onAny("QT-02", "tight", "there is no space after data:")), edit: styled(func(s *reply.Style) { s.NoSpace = true })},
	{Info: inStream(onAny("QT-02", "lines", "the data of an event comes in several lines")), edit: styled(func(s *reply.Style) { s.SplitData = true })},
	{Info: inStream(onAny("QT-02", "bom", "a byte order mark comes first")), edit: styled(func(s *reply.Style) { s.Prefix = "\ufeff" })},
	{Info: onAny("QT-03", "line", "a line has over 64 KiB"), edit: padded(70_000)},
	{Info: onAny("QT-03", "event", "an event has over 1 MiB"), edit: padded(1_100_000)},
	{Info: onAny("QT-04", "", "one byte at a time"), edit: func(_ *reply.Response, r *reply.Reply) bool { r.Chunk = 1; return true }},
	{Info: inStream(onAny("QT-05", "", "the connection is reset in the middle of a stream")), edit: resetsLate},
	{Info: onAny("QT-05", "first", "the connection of the first attempt is reset before any readable part of the response"), edit: resetsFirst},
}

var statusQuirks = []Form{
	{Info: onAny("QT-06", "429", "the first attempt gets a 429 with Retry-After: 2"), edit: firstAttempt(429, "Retry-After", "2")},
	{Info: onAny("QT-06", "date", "the first attempt gets a 429 with a date three seconds away in Retry-After"), edit: firstAttempt(429, "Date", "Sat, 01 Jan 2000 00:00:00 GMT", "Retry-After", "Sat, 01 Jan 2000 00:00:03 GMT")},
	{Info: onAny("QT-06", "ms", "the first attempt gets a 429 with Retry-After-Ms: 1500"), edit: firstAttempt(429, "Retry-After-Ms", "1500")},
	{Info: onAny("QT-06", "long", "a 429 asks to wait longer than two minutes"), edit: eachAttempt(429, "Retry-After", "121")},
	{Info: onAny("QT-06", "500", "the first attempt gets a 500"), edit: firstAttempt(500)},
	{Info: onAny("QT-06", "502", "the first attempt gets a 502"), edit: firstAttempt(502)},
	{Info: onAny("QT-06", "503", "the first attempt gets a 503"), edit: firstAttempt(503)},
	{Info: onAny("QT-06", "529", "the first attempt gets a 529"), edit: firstAttempt(529)},
	{Info: onAny("QT-07", "400", "each attempt gets a 400"), edit: eachAttempt(400)},
	{Info: onAny("QT-07", "401", "each attempt gets a 401"), edit: eachAttempt(401)},
	{Info: onAny("QT-07", "403", "each attempt gets a 403"), edit: eachAttempt(403)},
	{Info: onAny("QT-07", "404", "each attempt gets a 404"), edit: eachAttempt(404)},
	{Info: onAny("QT-07", "413", "each attempt gets a 413"), edit: eachAttempt(413)},
	{Info: onAny("QT-07", "429", "each attempt gets a 429 with X-Should-Retry: false"), edit: eachAttempt(429, "X-Should-Retry", "false")},
	{Info: onAny("QT-07", "500", "each attempt gets a 500 with X-Should-Retry: false"), edit: eachAttempt(500, "X-Should-Retry", "false")},
	{Info: onAny("QT-07", "key", "each attempt gets a 401 that repeats a part of the key"), edit: quoteKey},
}

// unreachable is what a proxy returns if it cannot reach a server.
const unreachable = "upstream connect error or disconnect/reset before headers"

var bodyQuirks = []Form{
	{Info: onAny("QT-08", "html", "each attempt gets the error page of a proxy with status 520"), edit: replaceBody(520, "text/html; charset=UTF-8", "<html>\n<head><title>520: Web server is returning an unknown error</title></head>\n<body>Ray ID: 7</body>\n</html>\n")},
	{Info: onAny("QT-08", "502", "the first attempt gets a 502 with text that is not JSON"), edit: onFirstAttempt(replaceBody(502, "text/plain", unreachable))},
	{Info: onAny("QT-08", "503", "the first attempt gets a 503 without a body"), edit: onFirstAttempt(replaceBody(503, "text/plain", ""))},
	{Info: onAny("QT-08", "404", "each attempt gets a 404 with the error page of a proxy"), edit: replaceBody(404, "text/html", "<html>\n<head><title>404 Not Found</title></head>\n<body>nginx</body>\n</html>\n")},
	{Info: onAny("QT-08", "empty", "each attempt gets a 200 without a body"), edit: replaceBody(200, "application/json", "")},
	{Info: onAny("QT-08", "text", "each attempt gets a 200 with text that is not JSON"), edit: replaceBody(200, "text/plain", unreachable)},
	{Info: onAny("QT-08", "error", "each attempt gets a 200 with an error in JSON"), edit: replaceBody(200, "application/json", `{"error":"Input validation error","error_type":"validation"}`)},
	{Info: inStream(onAny("QT-08", "answer", "the request asks for a stream and gets a non-streaming response")), edit: nonStreaming},
}

var argumentQuirks = []Form{
	{Info: asText("QT-09", "text", "the arguments of the first call are not JSON"), script: setArguments("city: Bern")},
	{Info: asText("QT-09", "rubbish", "the arguments of the first call have other text after the object"), script: setArguments(`{"city":"Bern"} please`)},
	{Info: onAny("QT-09", "scalar", "the arguments of the first call are a number"), script: setArguments("7")},
	{Info: onAny("QT-09", "deep", "the arguments of the first call nest almost ten thousand deep"), script: setArguments(nestedArguments(9_990))},
	{Info: onAny("QT-09", "twice", "the arguments of the first call have a member twice"), script: setArguments(`{"city":"Bern","city":"Rome"}`)},
	{Info: onAny("QT-09", "surrogate", "the arguments of the first call have half of a surrogate pair"), script: setArguments(`{"city":"\ud83d"}`)},
}

var stallQuirks = []Form{
	{Info: onAny("QT-10", "headers", "nothing comes after the headers"), edit: stallAtStart},
	{Info: inStream(onAny("QT-10", "events", "nothing comes after half of the events")), edit: stallHalfway("")},
	{Info: inStream(onAny("QT-10", "comments", "nothing but comments comes after half of the events")), edit: stallHalfway(": ping\n\n")},
	{Info: inStream(onMessages("QT-10", "pings", "nothing but pings comes after half of the events")), edit: stallHalfway("event: ping\ndata: {\"type\": \"ping\"}\n\n")},
	{Info: inStream(Info{ID: "QT-11", Description: "the connection stays open after the event that ends the stream", Protocols: marked}), edit: neverCloses},
}

func styled(f func(*reply.Style)) edit {
	return func(_ *reply.Response, r *reply.Reply) bool {
		f(&r.Style)
		return true
	}
}

// lineSeparators ends the text with characters that some readers take for line ends.
func lineSeparators(_ *reply.Response, t *fake.Response) bool {
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
