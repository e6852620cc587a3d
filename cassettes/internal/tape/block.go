package tape

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
)

// The lines of an interaction, in this order:
//
//	=== NUMBER [@SESSION] METHOD URL -> STATUS WAIT    the session and the method as in a query
//	> NAME: VALUE            a header of the request; NAME:: BASE64 if it is not plain
//	>> NAME: VALUE           a trailer of the request
//	>
//	> …                      its body
//	< PROTO STATUS REASON
//	< NAME: VALUE            and so on, for the response
//	<< NAME: VALUE
//	<
//	< …
//	<! TERMINATION FAILURE   if the response is incomplete
//	--- > FORM LENGTH CRC < FORM LENGTH CRC [WORD…] metadata CRC key KEY [bare KEY]
//
// The words are chunked, uncompressed, and chunks with the parts of the response's
// body, if its form does not contain them. The metadata CRC is from metadataSum.

const headerReserve = 1 << 10

// appendInteraction appends an interaction with its number and keys.
func appendInteraction(dst []byte, n int, x *recording.Interaction, key string) []byte {
	bodies := len(x.Request.Body) + len(x.Response.Body)
	dst = slices.Grow(dst, bodies+bodies/16+headerReserve) // the lines may be longer
	from := len(dst)
	dst = appendTitle(dst, n, x)
	dst = appendHeader(dst, ">", x.Request.Header)
	dst = appendHeader(dst, ">>", x.Request.Trailer)
	dst = append(dst, ">\n"...)
	dst, sent := appendBody(dst, '>', x.Request.Body, false, nil)
	got := formText
	r := &x.Response
	if r.Status != 0 {
		dst = appendStatus(dst, r)
		dst = appendHeader(dst, "<", r.Header)
		dst = appendHeader(dst, "<<", r.Trailer)
		dst = append(dst, "<\n"...)
		dst, got = appendBody(dst, '<', r.Body, IsEvents(r.Header), r.Chunks)
	}
	if r.Termination != "" {
		dst = append(append(dst, "<! "...), r.Termination...)
		if r.Failure != "" {
			dst = jsonio.AppendString(append(dst, ' '), r.Failure)
		}
		dst = append(dst, '\n')
	}
	head := metadataSum(dst[from:])
	dst = appendBodyInfo(append(dst, "--- > "...), sent, x.Request.Body)
	dst = appendBodyInfo(append(dst, " < "...), got, r.Body)
	if r.Chunked {
		dst = append(dst, " chunked"...)
	}
	if r.Uncompressed {
		dst = append(dst, " uncompressed"...)
	}
	if got != formEvents && got != formEventsCRLF && len(r.Chunks) > 0 {
		dst = appendChunks(append(dst, " chunks "...), r.Chunks)
	}
	return append(append(append(fmt.Appendf(dst, " metadata %08x", head), " key "...), key...), '\n')
}

// metadataSum returns the checksum of an interaction without its number, bodies, last line and
// line ends.
func metadataSum(text []byte) (sum uint32) {
	b := &block{rest: text}
	_, line, _ := bytes.Cut(b.next()[len("=== "):], []byte(" "))
	for {
		sum = crc32.Update(sum, castagnoli, line)
		if len(line) == 1 {
			b.lines(line[0]) // a body
		}
		if len(b.rest) == 0 || b.begins("--- ") {
			return sum
		}
		line = b.next()
	}
}

func appendTitle(dst []byte, n int, x *recording.Interaction) []byte {
	dst = strconv.AppendInt(append(dst, "=== "...), int64(n), 10)
	if x.Session != "" {
		dst = append(append(dst, " @"...), url.QueryEscape(x.Session)...)
	}
	dst = append(append(dst, ' '), url.QueryEscape(x.Request.Method)...)
	dst = append(append(dst, ' '), WrittenURL(x.Request.URL)...)
	dst = append(dst, " -> "...)
	if x.Response.Status == 0 {
		dst = append(dst, x.Response.Termination...)
	} else {
		dst = strconv.AppendInt(dst, int64(x.Response.Status), 10)
	}
	dst = append(dst, ' ')
	return append(append(dst, x.Response.Wait.Round(time.Millisecond).String()...), '\n')
}

// encodedMark precedes a reason phrase in base64.
const encodedMark = ":: "

func appendStatus(dst []byte, r *recording.Response) []byte {
	dst = append(append(dst, "< "...), r.Proto...)
	dst = strconv.AppendInt(append(dst, ' '), int64(r.Status), 10)
	switch text := r.StatusText(); {
	case text == "":
	case isPlain(text) && !strings.HasPrefix(text, encodedMark):
		dst = append(append(dst, ' '), text...)
	default:
		dst = base64.StdEncoding.AppendEncode(append(append(dst, ' '), encodedMark...), []byte(text))
	}
	return append(dst, '\n')
}

func appendHeader(dst []byte, mark string, h http.Header) []byte {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			dst = append(append(append(append(dst, mark...), ' '), name...), ':')
			switch {
			case v == "":
			case isPlain(v):
				dst = append(append(dst, ' '), v...)
			default:
				dst = base64.StdEncoding.AppendEncode(append(dst, ": "...), []byte(v))
			}
			dst = append(dst, '\n')
		}
	}
	return dst
}

// isPlain reports whether a header value needs no encoding.
func isPlain(v string) bool {
	for _, c := range v {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return utf8.ValidString(v) && strings.TrimSpace(v) == v
}

// IsEvents reports whether a body with this header is a stream of server-sent events.
func IsEvents(h http.Header) bool {
	return strings.HasPrefix(strings.ToLower(h.Get("Content-Type")), "text/event-stream")
}

func appendBodyInfo(dst []byte, f form, body []byte) []byte {
	dst = strconv.AppendInt(append(append(dst, f...), ' '), int64(len(body)), 10)
	return fmt.Appendf(append(dst, ' '), "%08x", Checksum(body))
}

func appendChunks(dst []byte, chunks []recording.Chunk) []byte {
	var waits rounder
	for i, p := range chunks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(p.Len), 10)
		dst = append(strconv.AppendInt(append(dst, '+'), waits.next(p), 10), "ms"...)
	}
	return dst
}
