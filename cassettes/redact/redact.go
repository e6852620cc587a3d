// Package redact removes secrets from recorded HTTP interactions and finds suspected
// secrets that are left.
package redact

import (
	"bytes"
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
	out, _ := o.redacted(x, false, &secrets{})
	return out
}

// redacted implements Redacted. If known is true, it also removes secrets with a known
// shape. It also removes the secrets in before.
func (o *Rules) redacted(x *recording.Interaction, known bool, before *secrets) (*recording.Interaction, *redaction) {
	out := *x
	sent, got := open(&out.Request.Header, out.Request.Body), open(&out.Response.Header, out.Response.Body)
	out.Request.Trailer, out.Response.Trailer = x.Request.Trailer.Clone(), x.Response.Trailer.Clone()
	out.Request.Body, out.Response.Body = sent.Plain, got.Plain
	found := o.redact(&out, known, before)
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
