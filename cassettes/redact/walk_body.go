package redact

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/internal/eventstream"
	"github.com/looptape/looptape/internal/jsonio"
)

func (w *walker) body(h http.Header, body []byte) []byte {
	if skip := w.skip[w.part]; skip.to > 0 {
		w.seen = skip.to
		return body
	}
	w.bodies[w.part].from = w.seen
	defer func() { w.bodies[w.part].to = w.seen }()
	kind, boundary := match.MediaType(strings.Join(match.HeaderValues(h, "Content-Type"), ","))
	text := jsonio.View(body)
	var now string
	switch {
	case kind == "text/event-stream":
		now = w.events(body)
	case kind == match.FormType && !begins(text, containers):
		now = w.form(text)
	case kind == eventstream.MediaType:
		now = w.messages(text)
	case boundary != "":
		now = w.parts(text, "--"+boundary)
	case isJSON(text, containers) || !strings.Contains(text, "\n"):
		now = w.document(text)
	default:
		now = w.lines(text)
	}
	switch {
	case now == text:
		return body
	case isJSON(text, numbers): // keep it valid JSON
		return jsonio.AppendString(nil, now)
	}
	return []byte(now)
}

func (w *walker) document(text string) string {
	return w.text(place{kind: kindBody}, text)
}

func (w *walker) events(body []byte) string {
	out, at := patch{text: jsonio.View(body)}, 0
	for i, ev := range tape.SplitEvents(body) {
		w.event = int32(i + 1)
		out.set(at, jsonio.View(ev), w.eventText(ev))
		at += len(ev)
	}
	w.event = 0
	return out.whole()
}

const byteOrder = "\uFEFF" // may precede the first event

// eventText visits the data of an event as one text, and its other lines.
func (w *walker) eventText(event []byte) string {
	type line struct{ field, text, end string }
	var lines []line
	var data []string
	changed := false
	for whole := range tape.EventLines(event) {
		text := jsonio.View(whole)
		l := line{text: strings.TrimRight(text, "\r\n")}
		l.end = text[len(l.text):]
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(l.text, byteOrder), "data:"); ok {
			l.text = strings.TrimPrefix(rest, " ")
			l.field = text[:len(text)-len(l.end)-len(l.text)]
			data = append(data, l.text)
		} else {
			now := w.leaf(place{kind: kindLine}, l.text)
			changed = changed || now != l.text
			l.text = now
		}
		lines = append(lines, l)
	}
	was := strings.Join(data, "\n")
	now := w.document(was)
	if now == was && !changed {
		return jsonio.View(event)
	}
	data = strings.Split(now, "\n")
	var out strings.Builder
	for _, l := range lines {
		if l.field != "" && len(data) == 0 {
			continue // a secret was longer than the line
		}
		if l.field != "" {
			l.text, data = data[0], data[1:]
		}
		out.WriteString(l.field + l.text + l.end)
	}
	return out.String()
}

func (w *walker) lines(text string) string {
	if first, _, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n"); !isJSON(first, containers) {
		return w.document(text)
	}
	out, at := patch{text: text}, 0
	for line := range strings.Lines(text) {
		w.event++
		out.set(at, line, w.document(line))
		at += len(line)
	}
	w.event = 0
	return out.whole()
}

// form visits the names and values of a form. Clients also declare other text as a form;
// invalid fields are visited as text.
func (w *walker) form(text string) string {
	out, at := patch{text: text}, 0
	for pair := range strings.SplitSeq(text, "&") {
		w.pair(&out, at, pair)
		at += len(pair) + len("&")
	}
	return out.whole()
}

func (w *walker) pair(out *patch, at int, pair string) {
	name, value, _ := strings.Cut(pair, "=")
	plain, err := url.QueryUnescape(value)
	field, failed := url.QueryUnescape(name)
	p := place{kind: kindField, name: field}
	if err != nil || failed != nil || strings.ContainsAny(pair, " \"\n") && !w.o.isSecret(&p, plain) {
		out.set(at, pair, w.leaf(place{kind: kindField}, pair))
		return
	}
	if now := w.leaf(place{kind: kindName}, field); now != field {
		out.put(at, len(name), url.QueryEscape(now))
	}
	if now := w.text(p, plain); now != plain {
		out.put(at+len(name)+len("="), len(value), url.QueryEscape(now))
	}
}

func (w *walker) parts(text, boundary string) string {
	out, at := patch{text: text}, 0
	for part := range strings.SplitSeq(text, boundary) {
		newline := "\n"
		if strings.Contains(part, "\r\n\r\n") {
			newline = "\r\n"
		}
		head, value, _ := strings.Cut(part, newline+newline)
		out.set(at, head, w.leaf(place{kind: kindBody}, head))
		value = strings.TrimSuffix(value, newline)
		out.set(at+len(head)+2*len(newline), value, w.text(place{kind: kindField, name: partName(head)}, value))
		at += len(part) + len(boundary)
	}
	return out.whole()
}

func partName(head string) string {
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, "Content-Disposition") {
			_, params, _ := mime.ParseMediaType(value)
			return params["name"]
		}
	}
	return ""
}

// messages visits the headers and payloads of messages. It visits an incomplete message as text.
func (w *walker) messages(text string) string {
	out := patch{text: text}
	stream := []byte(text)
	for at := 0; at < len(text); {
		w.event++
		m, err := eventstream.Next(stream[at:])
		if err != nil {
			out.set(at, text[at:], w.document(text[at:]))
			break
		}
		headers, err := eventstream.Rewrite(m.Headers, func(name, value string) string {
			return w.text(place{kind: kindHeader, name: name}, value)
		})
		if err != nil {
			headers = []byte(w.leaf(place{kind: kindLine}, string(m.Headers)))
		}
		payload := string(m.Payload)
		if now := w.document(payload); now != payload || !bytes.Equal(headers, m.Headers) {
			out.put(at, m.Len, string(eventstream.Append(nil, headers, []byte(now))))
		}
		at += m.Len
	}
	w.event = 0
	return out.whole()
}
