package cassettes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Redactor takes secrets out of an interaction, in place, before it is written or
// looked up. Its bodies stand there without their Content-Encoding, and the default
// redaction was done; Mark makes what should stand in the place of a secret. Before a
// replay there is no response.
//
// It must leave what it has redacted as it is: redacted twice is redacted once. It may
// be called by many goroutines at once.
type Redactor interface{ Redact(*Interaction) }

// RedactorFunc is a function that is a Redactor.
type RedactorFunc func(*Interaction)

// Redact calls f.
func (f RedactorFunc) Redact(x *Interaction) { f(x) }

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
func (o *Options) Redacted(x *Interaction) *Interaction {
	out, _ := o.redacted(x, false, &secrets{})
	return out
}

// redacted is Redacted, with known also without what has the form of a known key, and
// without the secrets that were seen before.
func (o *Options) redacted(x *Interaction, known bool, before *secrets) (*Interaction, *redaction) {
	out := *x
	sent, got := open(&out.Request.Header, out.Request.Body), open(&out.Response.Header, out.Response.Body)
	out.Request.Trailer, out.Response.Trailer = copied(x.Request.Trailer), copied(x.Response.Trailer)
	out.Request.Body, out.Response.Body = sent.plain, got.plain
	found := o.redact(&out, known, before)
	for _, r := range o.Redact {
		r.Redact(&out)
	}
	out.Request.Body = sent.close(out.Request.Header, out.Request.Body)
	out.Response.Body = got.close(out.Response.Header, out.Response.Body)
	if !bytes.Equal(out.Response.Body, x.Response.Body) {
		out.Response.Chunks = refit(&out.Response, len(x.Response.Body))
	}
	return &out, found
}

// open copies a header, and undoes the encoding of a body.
func open(h *http.Header, body []byte) coded {
	*h = copied(*h)
	return decode(*h, body)
}

// close does the encoding again, and corrects the length in the header.
func (c coded) close(h http.Header, plain []byte) []byte {
	body := c.encode(plain)
	if h.Get("Content-Length") == strconv.Itoa(len(c.body)) {
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
func refit(r *Response, was int) []Chunk {
	if was == 0 {
		return nil
	}
	pieces := slices.Clone(r.Chunks)
	if IsEvents(r.Header) {
		if events := splitEvents(r.Body); len(events) == len(pieces) {
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

// Mark is what stands in the place of a secret: "[redacted #a1b2 51 chars]". It is the
// same for the same secret, so that a recording that is made again is the same, and a
// reader sees where two secrets differ.
//
// The four digits are 16 bits of its SHA-256, less for less than 16 bytes: they tell
// nothing that helps to find a key, and of a password that can be guessed they leave
// most guesses possible. There is no salt: one in the file would not keep anybody from
// guessing, and one that is thrown away would change all marks with each recording.
func Placeholder(secret string) string {
	digits := 4
	if len(secret) < 2*leastEcho {
		digits = 2
	}
	if len(secret) < leastEcho {
		digits = 1
	}
	sum := sha256.Sum256([]byte(secret))
	return "[redacted #" + hex.EncodeToString(sum[:])[:digits] + " " + strconv.Itoa(utf8.RuneCountInString(secret)) + " chars]"
}

// leastEcho is how long a secret is that is looked for everywhere.
const leastEcho = 8

// urlMark is a mark as it stands in a URL.
func urlMark(mark string) string { return url.PathEscape(mark) }

// markForm is a mark, also as URLs and forms have it, and URLs in them.
var markForm = regexp.MustCompile(`(?:\[|%(?:25)*5B)redacted(?: |\+|%(?:25)*20)(?:#|%(?:25)*23)[0-9a-f]{1,4}(?: |\+|%(?:25)*20)[0-9]+(?: |\+|%(?:25)*20)chars(?:\]|%(?:25)*5D)`)

// hasMark reports whether a part of a text was redacted.
func hasMark(text string) bool {
	return strings.Contains(text, "redacted") && markForm.MatchString(text)
}

// plainRedacted is a text without what tells one redacted secret from another. What
// stands in the place of a mark is in no text.
func plainRedacted(text []byte) []byte {
	if !bytes.Contains(text, []byte("redacted")) {
		return text
	}
	return markForm.ReplaceAll(text, []byte("[redacted\xff]"))
}
