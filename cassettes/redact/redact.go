// Package redact removes secrets from recorded HTTP interactions and finds suspected
// secrets that are left.
package redact

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
)

// Redactor removes secrets from an interaction, in place, after the default redaction. The
// bodies have no Content-Encoding. [Placeholder] returns the replacement for a secret. In a
// replay there is no response.
//
// Redact must not change its own results. It must be safe for concurrent use.
type Redactor interface{ Redact(*recording.Interaction) }

// RedactorFunc is a function that implements [Redactor].
type RedactorFunc func(*recording.Interaction)

// Redact calls f.
func (f RedactorFunc) Redact(x *recording.Interaction) { f(x) }

// Redacted returns a copy of an interaction without its secrets:
//
// - values of Authorization, cookies and headers of keys and tokens, without the scheme
// such as Bearer;
// - passwords and similar values in forms, JSON and other text with their names;
// - keys, tokens and signatures in queries, and user information in URLs;
// - the same values elsewhere, also escaped, percent-encoded, in base64, or split across
// events of a stream;
// - what Secret and Redact add.
//
// It searches elsewhere only for secrets of 8 bytes or more, and only for the first 8 KiB
// of a secret. It encodes gzip and deflate bodies again and adjusts lengths and chunks.
func (o *Rules) Redacted(x *recording.Interaction) *recording.Interaction {
	out, _ := o.redacted(x, false, &secrets{}, nil)
	return out
}

// redacted implements Redacted. If known is true, it also removes secrets with a known
// shape. It also removes the secrets in before. It adds those in names of JSON members to names, and
// leaves them, or replaces them if names is nil.
func (o *Rules) redacted(x *recording.Interaction, known bool, before, names *secrets) (*recording.Interaction, *redaction) {
	out := *x
	sent, got := open(&out.Request.Header, out.Request.Body), open(&out.Response.Header, out.Response.Body)
	out.Request.Trailer, out.Response.Trailer = x.Request.Trailer.Clone(), x.Response.Trailer.Clone()
	out.Request.Body, out.Response.Body = sent.Plain, got.Plain
	found := o.redact(&out, known, before, names)
	for _, r := range o.Redact {
		r.Redact(&out)
	}
	out.Request.Body = reencode(sent, out.Request.Header, out.Request.Body)
	out.Response.Body = reencode(got, out.Response.Header, out.Response.Body)
	if !bytes.Equal(out.Response.Body, x.Response.Body) {
		out.Response.Chunks = refit(&out.Response, len(x.Response.Body))
	}
	return &out, found
}

func open(h *http.Header, body []byte) match.Decoded {
	*h = h.Clone()
	return match.Decode(*h, body)
}

// reencode encodes a body again and corrects the length in the header.
func reencode(c match.Decoded, h http.Header, plain []byte) []byte {
	body := c.Encode(plain)
	if h.Get("Content-Length") == strconv.Itoa(len(c.Original)) {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	return body
}

// refit returns the chunks for a redacted body: one per event, or in the same proportions
// as before.
func refit(r *recording.Response, was int) []recording.Chunk {
	if was == 0 {
		return nil
	}
	chunks := slices.Clone(r.Chunks)
	if tape.IsEvents(r.Header) {
		if events := tape.SplitEvents(r.Body); len(events) == len(chunks) {
			for i, ev := range events {
				chunks[i].Len = len(ev)
			}
			return chunks
		}
	}
	at, done := 0, 0
	for i, p := range chunks {
		at += p.Len
		to := int(int64(len(r.Body)) * int64(at) / int64(was))
		chunks[i].Len, done = to-done, to
	}
	return chunks
}

// Placeholder returns the string that replaces a secret: "[redacted #a1b2 51 chars]". The
// same secret always has the same placeholder.
func Placeholder(secret string) string { return match.Placeholder(secret) }

// Rules extend the default redaction. The zero value adds nothing.
type Rules struct {
	// Secret lists names of further headers, fields and JSON members to redact. Case, - and
	// _ are ignored. "/metadata/*/pin" is a JSON pointer into a body.
	Secret []string
	// Redact are redactors that run after the default redaction.
	Redact []Redactor
	// NotSecret lists names, in the form of Secret, whose values are not secrets, such as
	// signatures or ids, unless Secret has the name too. The scan finds keys in known forms anyway.
	NotSecret []string
}

// Scrubbed redacts an interaction that was recorded without redaction. It also removes keys
// and tokens of known shapes. It returns the places of removed secrets, except those that
// Redact removed. A second call removes nothing.
func (o *Rules) Scrubbed(x *recording.Interaction) (clean *recording.Interaction, taken []SuspectedSecret) {
	clean, found := o.redacted(x, true, &secrets{}, nil)
	for i := range found.leaves {
		l := &found.leaves[i]
		if spans := found.spans[i]; replaced(l.text, spans) == l.text {
			continue
		}
		place := l.place.String()
		taken = append(taken, SuspectedSecret{
			Request: clean.Request.Method + " " + clean.Request.URL, Part: l.part.String(),
			Place: replaced(place, found.found.occurrences(place, false)), What: "a secret",
		})
	}
	return clean, taken
}

// ScrubbedMetadata is [Rules.Scrubbed] for the metadata of a cassette: the recorder and the
// URLs of the servers.
func (o *Rules) ScrubbedMetadata(h recording.Metadata) (clean recording.Metadata, taken []SuspectedSecret) {
	names := slices.Sorted(maps.Keys(h.Upstreams))
	r := &redaction{leaves: []leaf{{place: place{part: sideMetadata, kind: kindRecorder}, text: h.Recorder}}, spans: map[int][]span{}, before: &secrets{}}
	for _, name := range names {
		r.leaves = append(r.leaves, leaf{place: place{part: sideMetadata, kind: kindURL, name: name}, text: h.Upstreams[name]})
	}
	r.find(o, true)
	clean = h
	clean.Upstreams = maps.Clone(h.Upstreams)
	for i := range r.leaves {
		l := &r.leaves[i]
		text := replaced(l.text, r.spans[i])
		switch {
		case text == l.text:
			continue
		case i == 0:
			clean.Recorder = text
		default:
			clean.Upstreams[l.name] = text
		}
		taken = append(taken, SuspectedSecret{Part: l.part.String(), Place: l.place.String(), What: "a secret"})
	}
	return clean, taken
}
