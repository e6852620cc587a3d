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

// Redactor takes secrets out of an interaction, in place, before it is written or
// looked up. Its bodies stand there without their Content-Encoding, and the default
// redaction was done; Mark makes what should stand in the place of a secret. Before a
// replay there is no response.
//
// It must leave what it has redacted as it is: redacted twice is redacted once. It may
// be called by many goroutines at once.
type Redactor interface{ Redact(*recording.Interaction) }

// RedactorFunc is a function that is a Redactor.
type RedactorFunc func(*recording.Interaction)

// Redact calls f.
func (f RedactorFunc) Redact(x *recording.Interaction) { f(x) }

// Redacted returns a copy of an interaction without its secrets:
//
//   - what Authorization, cookies and headers of keys and tokens say; the word before
//     it, such as Bearer, stays;
//   - passwords and the like in forms, in JSON, and in other text that names them;
//   - keys, tokens and signatures in the queries of URLs, and what stands before the @;
//   - the same values wherever else they are, with escapes, in percent or base64
//     encoding, or in parts in successive events of a stream;
//   - what Secret and Redact of the options add.
//
// A secret of less than 8 bytes is only taken from where its name stands, and of one of more
// than 8 KiB no more than that is looked for elsewhere. Bodies that gzip or deflate encodes
// are encoded again, and the lengths of bodies and pieces follow.
func (o *Rules) Redacted(x *recording.Interaction) *recording.Interaction {
	out, _ := o.redacted(x, false, &secrets{})
	return out
}

// redacted is Redacted, with known also without what has the form of a known key, and
// without the secrets that were seen before.
func (o *Rules) redacted(x *recording.Interaction, known bool, before *secrets) (*recording.Interaction, *redaction) {
	out := *x
	sent, got := open(&out.Request.Header, out.Request.Body), open(&out.Response.Header, out.Response.Body)
	out.Request.Trailer, out.Response.Trailer = copied(x.Request.Trailer), copied(x.Response.Trailer)
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

// open copies a header, and undoes the encoding of a body.
func open(h *http.Header, body []byte) match.Decoded {
	*h = copied(*h)
	return match.Decode(*h, body)
}

// reencode does the encoding again, and corrects the length in the header.
func reencode(c match.Decoded, h http.Header, plain []byte) []byte {
	body := c.Encode(plain)
	if h.Get("Content-Length") == strconv.Itoa(len(c.Original)) {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	return body
}

// copied is a copy of a header whose values may be changed.
func copied(h http.Header) http.Header {
	if h == nil {
		return nil
	}
	out := make(http.Header, len(h))
	for name, values := range h {
		out[name] = slices.Clone(values)
	}
	return out
}

// refit is the pieces of a response whose body had a length: of events one each, of
// other bodies in the same proportions.
func refit(r *recording.Response, was int) []recording.Chunk {
	if was == 0 {
		return nil
	}
	pieces := slices.Clone(r.Chunks)
	if tape.IsEvents(r.Header) {
		if events := tape.SplitEvents(r.Body); len(events) == len(pieces) {
			for i, ev := range events {
				pieces[i].Len = len(ev)
			}
			return pieces
		}
	}
	at, done := 0, 0
	for i, p := range pieces {
		at += p.Len
		to := int(int64(len(r.Body)) * int64(at) / int64(was))
		pieces[i].Len, done = to-done, to
	}
	return pieces
}

// Placeholder returns the string that replaces a secret: "[redacted #a1b2 51 chars]". The
// same secret always has the same placeholder.
func Placeholder(secret string) string { return match.Placeholder(secret) }
