package wire

import (
	"slices"

	"github.com/looptape/looptape/fake"
)

var (
	every = []string{chat, responses, messages, generate}
	// marked are those whose streams end with a mark.
	marked = []string{chat, responses, messages}
)

// onAny describes a form that all protocols can show.
func onAny(id, form, says string) QuirkForm {
	return QuirkForm{ID: id, Form: form, Description: says, Protocols: every}
}

// asText describes a form of those that have the arguments of calls as text.
func asText(id, form, says string) QuirkForm {
	return QuirkForm{ID: id, Form: form, Description: says, Protocols: []string{chat, responses, messages}}
}

// anyQuirks are those of any protocol.
var anyQuirks = slices.Concat(streamQuirks, statusQuirks, bodyQuirks, argsQuirks, stallQuirks)

// streamQuirks are about how a stream is cut into lines and pieces.
var streamQuirks = []quirkForm{
	{QuirkForm: inStream(onAny("QT-01", "crlf", "lines end in CRLF")), reply: styled(func(s *style) { s.eol = "\r\n" })},
	{QuirkForm: inStream(onAny("QT-01", "cr", "lines end in CR")), reply: styled(func(s *style) { s.eol = "\r" })},
	{QuirkForm: onAny("QT-01", "u2028", "the text holds U+2028 and U+0085, as they are"), turn: oddSeparators},
	{QuirkForm: inStream(onAny("QT-02", "comments", "a comment comes before each event")), reply: styled(func(s *style) { s.between = ": OPENROUTER PROCESSING\n\n" })},
	{QuirkForm: inStream(onAny("QT-02", "fields", "each event has an id and a time to retry after")), reply: styled(func(s *style) { s.between = "id: 7\nretry: 3000\n" })},
	{QuirkForm: inStream(onAny("QT-02", "tight", "no space comes after data:")), reply: styled(func(s *style) { s.tight = true })},
	{QuirkForm: inStream(onAny("QT-02", "lines", "the data of an event comes in several lines")), reply: styled(func(s *style) { s.broken = true })},
	{QuirkForm: inStream(onAny("QT-02", "bom", "a byte order mark comes first")), reply: styled(func(s *style) { s.before = "\ufeff" })},
	{QuirkForm: onAny("QT-03", "line", "a line has over 64 KiB"), reply: padded(70_000)},
	{QuirkForm: onAny("QT-03", "event", "an event has over 1 MiB"), reply: padded(1_100_000)},
	{QuirkForm: onAny("QT-04", "", "one byte at a time"), reply: func(_ *play, r *reply) bool { r.chunk = 1; return true }},
	{QuirkForm: inStream(onAny("QT-05", "", "the connection is reset in the middle of a stream")), reply: resetsLate},
	{QuirkForm: onAny("QT-05", "first", "the connection of the first try is reset before anything of the answer that can be read"), reply: resetsFirst},
}

// statusQuirks are errors in the place of an answer.
var statusQuirks = []quirkForm{
	{QuirkForm: onAny("QT-06", "429", "the first try gets a 429 with Retry-After: 2"), reply: firstTry(429, "Retry-After", "2")},
	{QuirkForm: onAny("QT-06", "date", "the first try gets a 429 with a date three seconds away in Retry-After"), reply: firstTry(429, "Date", "Sat, 01 Jan 2000 00:00:00 GMT", "Retry-After", "Sat, 01 Jan 2000 00:00:03 GMT")},
	{QuirkForm: onAny("QT-06", "ms", "the first try gets a 429 with Retry-After-Ms: 1500"), reply: firstTry(429, "Retry-After-Ms", "1500")},
	{QuirkForm: onAny("QT-06", "long", "a 429 asks to wait longer than two minutes"), reply: eachTry(429, "Retry-After", "121")},
	{QuirkForm: onAny("QT-06", "500", "the first try gets a 500"), reply: firstTry(500)},
	{QuirkForm: onAny("QT-06", "502", "the first try gets a 502"), reply: firstTry(502)},
	{QuirkForm: onAny("QT-06", "503", "the first try gets a 503"), reply: firstTry(503)},
	{QuirkForm: onAny("QT-06", "529", "the first try gets a 529"), reply: firstTry(529)},
	{QuirkForm: onAny("QT-07", "400", "each try gets a 400"), reply: eachTry(400)},
	{QuirkForm: onAny("QT-07", "401", "each try gets a 401"), reply: eachTry(401)},
	{QuirkForm: onAny("QT-07", "403", "each try gets a 403"), reply: eachTry(403)},
	{QuirkForm: onAny("QT-07", "404", "each try gets a 404"), reply: eachTry(404)},
	{QuirkForm: onAny("QT-07", "413", "each try gets a 413"), reply: eachTry(413)},
	{QuirkForm: onAny("QT-07", "429", "each try gets a 429 with X-Should-Retry: false"), reply: eachTry(429, "X-Should-Retry", "false")},
	{QuirkForm: onAny("QT-07", "500", "each try gets a 500 with X-Should-Retry: false"), reply: eachTry(500, "X-Should-Retry", "false")},
	{QuirkForm: onAny("QT-07", "key", "each try gets a 401 that repeats a part of the key"), reply: quotesKey},
}

// unreachable is what a proxy says of a server that it does not reach.
const unreachable = "upstream connect error or disconnect/reset before headers"

// bodyQuirks are bodies that are not the protocol's.
var bodyQuirks = []quirkForm{
	{QuirkForm: onAny("QT-08", "html", "each try gets the error page of a proxy with status 520"), reply: otherBody(520, "text/html; charset=UTF-8", "<html>\n<head><title>520: Web server is returning an unknown error</title></head>\n<body>Ray ID: 7</body>\n</html>\n")},
	{QuirkForm: onAny("QT-08", "502", "the first try gets a 502 with a text that is not JSON"), reply: onFirst(otherBody(502, "text/plain", unreachable))},
	{QuirkForm: onAny("QT-08", "503", "the first try gets a 503 without a body"), reply: onFirst(otherBody(503, "text/plain", ""))},
	{QuirkForm: onAny("QT-08", "404", "each try gets a 404 with the error page of a proxy"), reply: otherBody(404, "text/html", "<html>\n<head><title>404 Not Found</title></head>\n<body>nginx</body>\n</html>\n")},
	{QuirkForm: onAny("QT-08", "empty", "each try gets a 200 without a body"), reply: otherBody(200, "application/json", "")},
	{QuirkForm: onAny("QT-08", "text", "each try gets a 200 with a text that is not JSON"), reply: otherBody(200, "text/plain", unreachable)},
	{QuirkForm: onAny("QT-08", "error", "each try gets a 200 with an error in JSON"), reply: otherBody(200, "application/json", `{"error":"Input validation error","error_type":"validation"}`)},
	{QuirkForm: inStream(onAny("QT-08", "answer", "a stream was asked for, and an answer in one piece comes")), reply: unstreamed},
}

// argsQuirks are arguments that are no JSON object, or no good one.
var argsQuirks = []quirkForm{
	{QuirkForm: asText("QT-09", "text", "the arguments of the first call are not JSON"), turn: argued("city: Bern")},
	{QuirkForm: asText("QT-09", "rubbish", "the arguments of the first call have rubbish behind the object"), turn: argued(`{"city":"Bern"} please`)},
	{QuirkForm: onAny("QT-09", "scalar", "the arguments of the first call are a number"), turn: argued("7")},
	{QuirkForm: onAny("QT-09", "deep", "the arguments of the first call nest almost ten thousand deep"), turn: argued(deep(9_990))},
	{QuirkForm: onAny("QT-09", "twice", "the arguments of the first call have a member twice"), turn: argued(`{"city":"Bern","city":"Rome"}`)},
	{QuirkForm: onAny("QT-09", "surrogate", "the arguments of the first call have half of a surrogate pair"), turn: argued(`{"city":"\ud83d"}`)},
}

// stallQuirks are answers after which the connection stays open.
var stallQuirks = []quirkForm{
	{QuirkForm: onAny("QT-10", "headers", "nothing comes after the headers"), reply: silentAtOnce},
	{QuirkForm: inStream(onAny("QT-10", "events", "nothing comes after half of the events")), reply: silentHalfway("")},
	{QuirkForm: inStream(onAny("QT-10", "comments", "nothing but comments comes after half of the events")), reply: silentHalfway(": ping\n\n")},
	{QuirkForm: inStream(onMessages("QT-10", "pings", "nothing but pings comes after half of the events")), reply: silentHalfway("event: ping\ndata: {\"type\": \"ping\"}\n\n")},
	{QuirkForm: inStream(QuirkForm{ID: "QT-11", Description: "the connection stays open after the mark that ends the stream", Protocols: marked}), reply: staysOpen},
}

func styled(f func(*style)) func(*play, *reply) bool {
	return func(_ *play, r *reply) bool {
		f(&r.style)
		return true
	}
}

// oddSeparators ends the text with what some take for ends of lines.
func oddSeparators(_ *play, t *fake.Response) bool {
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
