package quirk

import (
	"slices"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
)

var (
	every = []string{reply.Chat, reply.Responses, reply.Messages, reply.Generate}
	// marked are those whose streams end with a mark.
	marked = []string{reply.Chat, reply.Responses, reply.Messages}
)

// onAny describes a form that all protocols can show.
func onAny(id, form, says string) Info {
	return Info{ID: id, Form: form, Description: says, Protocols: every}
}

// asText describes a form of those that have the arguments of calls as text.
func asText(id, form, says string) Info {
	return Info{ID: id, Form: form, Description: says, Protocols: []string{reply.Chat, reply.Responses, reply.Messages}}
}

// anyQuirks are those of any protocol.
var anyQuirks = slices.Concat(streamQuirks, statusQuirks, bodyQuirks, argsQuirks, stallQuirks)

// streamQuirks are about how a stream is cut into lines and pieces.
var streamQuirks = []Form{
	{Info: inStream(onAny("QT-01", "crlf", "lines end in CRLF")), edit: styled(func(s *reply.Style) { s.LineEnd = "\r\n" })},
	{Info: inStream(onAny("QT-01", "cr", "lines end in CR")), edit: styled(func(s *reply.Style) { s.LineEnd = "\r" })},
	{Info: onAny("QT-01", "u2028", "the text holds U+2028 and U+0085, as they are"), script: oddSeparators},
	{Info: inStream(onAny("QT-02", "comments", "a comment comes before each event")), edit: styled(func(s *reply.Style) { s.EventPrefix = ": OPENROUTER PROCESSING\n\n" })},
	{Info: inStream(onAny("QT-02", "fields", "each event has an id and a time to retry after")), edit: styled(func(s *reply.Style) { s.EventPrefix = "id: 7\nretry: 3000\n" })},
	{Info: inStream(onAny("QT-02", "tight", "no space comes after data:")), edit: styled(func(s *reply.Style) { s.NoSpace = true })},
	{Info: inStream(onAny("QT-02", "lines", "the data of an event comes in several lines")), edit: styled(func(s *reply.Style) { s.SplitData = true })},
	{Info: inStream(onAny("QT-02", "bom", "a byte order mark comes first")), edit: styled(func(s *reply.Style) { s.Prefix = "\ufeff" })},
	{Info: onAny("QT-03", "line", "a line has over 64 KiB"), edit: padded(70_000)},
	{Info: onAny("QT-03", "event", "an event has over 1 MiB"), edit: padded(1_100_000)},
	{Info: onAny("QT-04", "", "one byte at a time"), edit: func(_ *reply.Response, r *reply.Reply) bool { r.Chunk = 1; return true }},
	{Info: inStream(onAny("QT-05", "", "the connection is reset in the middle of a stream")), edit: resetsLate},
	{Info: onAny("QT-05", "first", "the connection of the first try is reset before anything of the answer that can be read"), edit: resetsFirst},
}

// statusQuirks are errors in the place of an answer.
var statusQuirks = []Form{
	{Info: onAny("QT-06", "429", "the first try gets a 429 with Retry-After: 2"), edit: firstTry(429, "Retry-After", "2")},
	{Info: onAny("QT-06", "date", "the first try gets a 429 with a date three seconds away in Retry-After"), edit: firstTry(429, "Date", "Sat, 01 Jan 2000 00:00:00 GMT", "Retry-After", "Sat, 01 Jan 2000 00:00:03 GMT")},
	{Info: onAny("QT-06", "ms", "the first try gets a 429 with Retry-After-Ms: 1500"), edit: firstTry(429, "Retry-After-Ms", "1500")},
	{Info: onAny("QT-06", "long", "a 429 asks to wait longer than two minutes"), edit: eachTry(429, "Retry-After", "121")},
	{Info: onAny("QT-06", "500", "the first try gets a 500"), edit: firstTry(500)},
	{Info: onAny("QT-06", "502", "the first try gets a 502"), edit: firstTry(502)},
	{Info: onAny("QT-06", "503", "the first try gets a 503"), edit: firstTry(503)},
	{Info: onAny("QT-06", "529", "the first try gets a 529"), edit: firstTry(529)},
	{Info: onAny("QT-07", "400", "each try gets a 400"), edit: eachTry(400)},
	{Info: onAny("QT-07", "401", "each try gets a 401"), edit: eachTry(401)},
	{Info: onAny("QT-07", "403", "each try gets a 403"), edit: eachTry(403)},
	{Info: onAny("QT-07", "404", "each try gets a 404"), edit: eachTry(404)},
	{Info: onAny("QT-07", "413", "each try gets a 413"), edit: eachTry(413)},
	{Info: onAny("QT-07", "429", "each try gets a 429 with X-Should-Retry: false"), edit: eachTry(429, "X-Should-Retry", "false")},
	{Info: onAny("QT-07", "500", "each try gets a 500 with X-Should-Retry: false"), edit: eachTry(500, "X-Should-Retry", "false")},
	{Info: onAny("QT-07", "key", "each try gets a 401 that repeats a part of the key"), edit: quotesKey},
}

// unreachable is what a proxy says of a server that it does not reach.
const unreachable = "upstream connect error or disconnect/reset before headers"

// bodyQuirks are bodies that are not the protocol's.
var bodyQuirks = []Form{
	{Info: onAny("QT-08", "html", "each try gets the error page of a proxy with status 520"), edit: otherBody(520, "text/html; charset=UTF-8", "<html>\n<head><title>520: Web server is returning an unknown error</title></head>\n<body>Ray ID: 7</body>\n</html>\n")},
	{Info: onAny("QT-08", "502", "the first try gets a 502 with a text that is not JSON"), edit: onFirst(otherBody(502, "text/plain", unreachable))},
	{Info: onAny("QT-08", "503", "the first try gets a 503 without a body"), edit: onFirst(otherBody(503, "text/plain", ""))},
	{Info: onAny("QT-08", "404", "each try gets a 404 with the error page of a proxy"), edit: otherBody(404, "text/html", "<html>\n<head><title>404 Not Found</title></head>\n<body>nginx</body>\n</html>\n")},
	{Info: onAny("QT-08", "empty", "each try gets a 200 without a body"), edit: otherBody(200, "application/json", "")},
	{Info: onAny("QT-08", "text", "each try gets a 200 with a text that is not JSON"), edit: otherBody(200, "text/plain", unreachable)},
	{Info: onAny("QT-08", "error", "each try gets a 200 with an error in JSON"), edit: otherBody(200, "application/json", `{"error":"Input validation error","error_type":"validation"}`)},
	{Info: inStream(onAny("QT-08", "answer", "a stream was asked for, and an answer in one piece comes")), edit: unstreamed},
}

// argsQuirks are arguments that are no JSON object, or no good one.
var argsQuirks = []Form{
	{Info: asText("QT-09", "text", "the arguments of the first call are not JSON"), script: argued("city: Bern")},
	{Info: asText("QT-09", "rubbish", "the arguments of the first call have rubbish behind the object"), script: argued(`{"city":"Bern"} please`)},
	{Info: onAny("QT-09", "scalar", "the arguments of the first call are a number"), script: argued("7")},
	{Info: onAny("QT-09", "deep", "the arguments of the first call nest almost ten thousand deep"), script: argued(deep(9_990))},
	{Info: onAny("QT-09", "twice", "the arguments of the first call have a member twice"), script: argued(`{"city":"Bern","city":"Rome"}`)},
	{Info: onAny("QT-09", "surrogate", "the arguments of the first call have half of a surrogate pair"), script: argued(`{"city":"\ud83d"}`)},
}

// stallQuirks are answers after which the connection stays open.
var stallQuirks = []Form{
	{Info: onAny("QT-10", "headers", "nothing comes after the headers"), edit: silentAtOnce},
	{Info: inStream(onAny("QT-10", "events", "nothing comes after half of the events")), edit: silentHalfway("")},
	{Info: inStream(onAny("QT-10", "comments", "nothing but comments comes after half of the events")), edit: silentHalfway(": ping\n\n")},
	{Info: inStream(onMessages("QT-10", "pings", "nothing but pings comes after half of the events")), edit: silentHalfway("event: ping\ndata: {\"type\": \"ping\"}\n\n")},
	{Info: inStream(Info{ID: "QT-11", Description: "the connection stays open after the mark that ends the stream", Protocols: marked}), edit: staysOpen},
}

func styled(f func(*reply.Style)) edit {
	return func(_ *reply.Response, r *reply.Reply) bool {
		f(&r.Style)
		return true
	}
}

// oddSeparators ends the text with what some take for ends of lines.
func oddSeparators(_ *reply.Response, t *fake.Response) bool {
	const odd = " A\u2028B\u0085C"
	switch {
	case len(t.Chunks) > 0:
		t.Chunks = append(slices.Clone(t.Chunks), odd)
	case t.Text != "":
		t.Text += odd
	default:
		return false
	}
	return true
}
