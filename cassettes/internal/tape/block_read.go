package tape

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
)

// block reads the lines of an interaction. After an error it has no more lines.
type block struct {
	rest []byte
	line int // number of consumed lines
	// edited is true if the bodies may have been edited: their checksums are ignored.
	edited bool
	err    error // the first one
}

func (b *block) check(err error) {
	if err != nil && b.err == nil {
		b.err, b.rest = err, nil
	}
}

// read reads an interaction. The bodies do not share memory with the file.
func (b *block) read(x *recording.Interaction) error {
	_, _, err := readTitle(b.next(), x)
	b.check(err)
	x.Request.Header, x.Request.Trailer = b.header('>')
	sent := b.lines('>')
	got := b.response(&x.Response, (*block).lines)
	m, err := readFooter(b.next())
	b.check(err)
	x.Request.Body, _ = b.restore("request", '>', sent, m.sent)
	b.body(&x.Response, m, got)
	return b.err
}

// answer reads only the response of an interaction. It may leave the body to events. It
// does not check the layout.
func (b *block) answer(r *recording.Response, events *EventStream, last []byte) error {
	got := b.response(r, (*block).linesToEnd)
	m, err := readFooter(last)
	b.check(err)
	if (m.chunked || events.gap.size() > 0) && m.got.form.isEvents() && len(got) > 0 && len(b.rest) == 0 {
		r.Chunked, r.Uncompressed = m.chunked, m.uncompressed
		events.lines, events.want = got, m.got
	} else {
		b.body(r, m, got)
	}
	return b.err
}

func (b *block) linesToEnd(byte) []byte {
	whole := b.rest
	end := len(whole)
	if last := bytes.LastIndexByte(whole[:max(end-1, 0)], '\n') + 1; bytes.HasPrefix(whole[last:], []byte(terminationPrefix)) {
		end = last
	}
	b.rest = whole[end:]
	return whole[:end]
}

const terminationPrefix = "<! "

// response reads the response. The function lines consumes the lines of the body, which
// response returns.
func (b *block) response(r *recording.Response, lines func(b *block, mark byte) []byte) (got []byte) {
	if b.begins("< ") {
		b.check(readStatus(b.next(), r))
		r.Header, r.Trailer = b.header('<')
		got = lines(b, '<')
	}
	if b.begins(terminationPrefix) {
		b.check(readTermination(b.next(), r))
	}
	return got
}

func (b *block) body(r *recording.Response, m footer, got []byte) {
	r.Body, r.Chunks = b.restore("response", '<', got, m.got)
	r.Chunked, r.Uncompressed = m.chunked, m.uncompressed
	if r.Chunks == nil && m.got.length == len(r.Body) {
		r.Chunks = m.chunks
	}
	if len(b.rest) > 0 {
		b.check(fmt.Errorf("%q follows the last line of an interaction", shortened(b.next())))
	}
}

func (b *block) restore(of string, mark byte, lines []byte, want bodyInfo) (body []byte, chunks []recording.Chunk) {
	if b.err != nil {
		return nil, nil
	}
	body, chunks, err := want.form.restore(make([]byte, 0, min(want.length, len(lines))), mark, lines)
	if got := infoOf(want.form, body); err == nil && !b.edited && got != want {
		err = fmt.Errorf("checksum mismatch: got %d bytes with the checksum %08x, want %d with %08x: "+
			"after an edit use looptape cassette verify --update-checksums", got.length, got.crc, want.length, want.crc)
	}
	if err != nil {
		b.check(fmt.Errorf("the body of the %s: %w", of, err))
	}
	return body, chunks
}

func (b *block) next() []byte {
	if b.err != nil {
		return nil
	}
	line, rest, _ := bytes.Cut(b.rest, []byte("\n"))
	b.rest = rest
	b.line++
	return line
}

func (b *block) begins(with string) bool { return bytes.HasPrefix(b.rest, []byte(with)) }

func (b *block) lines(mark byte) []byte {
	from := b.rest
	for b.begins(string(mark)+" ") || b.begins(string(mark)+"\n") {
		b.next()
	}
	return from[:len(from)-len(b.rest)]
}

// header reads a header, a trailer and the line that ends them.
func (b *block) header(mark byte) (header, trailer http.Header) {
	header = http.Header{}
	for {
		line := b.next()
		if b.err != nil || len(line) == 1 && line[0] == mark {
			return header, trailer
		}
		to := header
		field, found := bytes.CutPrefix(line, []byte{mark, ' '})
		if !found {
			if trailer == nil {
				trailer = http.Header{}
			}
			to = trailer
			field, found = bytes.CutPrefix(line, []byte{mark, mark, ' '})
		}
		name, value, colon := strings.Cut(string(field), ":")
		if !found || !colon || value != "" && value[0] != ' ' && !strings.HasPrefix(value, encodedValue) {
			b.check(fmt.Errorf("%q is not a header such as %q", shortened(line), string(mark)+" Name: value"))
		}
		value, err := read(value, encodedValue)
		if err != nil {
			b.check(fmt.Errorf("the value of the header %s is not base64: %w", name, err))
		}
		to[name] = append(to[name], value)
	}
}

// readTitle reads the first line of an interaction. The status may be a termination.
func readTitle(line []byte, x *recording.Interaction) (number int, status string, err error) {
	words := strings.Split(string(line), " ")
	if len(words) > 2 && strings.HasPrefix(words[2], "@") {
		if x.Session, err = url.QueryUnescape(words[2][1:]); err != nil {
			return 0, "", fmt.Errorf("the session %q is not written as in a query: %w", words[2], err)
		}
		words = slices.Delete(words, 2, 3)
	}
	if len(words) != 7 || words[0] != "===" || words[4] != "->" {
		return 0, "", fmt.Errorf("%q is not the title of an interaction, such as %q", shortened(line), "=== 1 POST https://example.com/ -> 200 12ms")
	}
	if number, err = strconv.Atoi(words[1]); err != nil {
		return 0, "", fmt.Errorf("invalid number %q of an interaction", words[1])
	}
	if x.Response.Wait, err = time.ParseDuration(words[6]); err != nil || x.Response.Wait < 0 {
		return 0, "", fmt.Errorf("%q is not a time such as 12ms or 1.5s", words[6])
	}
	if x.Request.Method, err = url.QueryUnescape(words[2]); err != nil {
		return 0, "", fmt.Errorf("the method %q is not written as in a query: %w", words[2], err)
	}
	x.Request.URL = words[3]
	return number, words[5], nil
}

func readStatus(line []byte, r *recording.Response) error {
	words := strings.SplitN(string(line), " ", 4)
	if len(words) < 3 {
		return fmt.Errorf("%q is not a status such as %q", shortened(line), "< HTTP/1.1 200 OK")
	}
	n, err := strconv.Atoi(words[2])
	if err != nil || n < 1 || n > 999 {
		return fmt.Errorf("%q is not a status", words[2])
	}
	r.Proto, r.Status = words[1], n
	if len(words) < 4 || words[3] == http.StatusText(n) {
		return nil
	}
	if r.Reason, err = read(" "+words[3], encodedReason); err != nil {
		return fmt.Errorf("the reason %q of the status is not base64: %w", strings.TrimPrefix(words[3], ":: "), err)
	}
	return nil
}

// read returns the text that appendText appended.
func read(text, mark string) (string, error) {
	encoded, found := strings.CutPrefix(text, mark)
	if !found {
		return strings.TrimPrefix(text, " "), nil
	}
	plain, err := base64.StdEncoding.DecodeString(encoded)
	return string(plain), err
}

func readTermination(line []byte, r *recording.Response) error {
	word, failure, _ := strings.Cut(strings.TrimPrefix(string(line), terminationPrefix), " ")
	r.Termination = recording.Termination(fromVersion1(word))
	if !slices.Contains([]recording.Termination{recording.Failed, recording.Truncated, recording.Canceled}, r.Termination) {
		return fmt.Errorf("unknown termination %q: want %s, %s or %s", word, recording.Failed, recording.Truncated, recording.Canceled)
	}
	if failure == "" {
		return nil
	}
	d := jsonio.NewDec(failure)
	r.Failure = d.String()
	if err := d.End(); err != nil {
		return fmt.Errorf("%s is not a string of JSON: %w", shortened([]byte(failure)), err)
	}
	return nil
}

// bodyInfo describes a body in the last line of an interaction.
type bodyInfo struct {
	form   form
	length int
	crc    uint32
}

func infoOf(f form, body []byte) bodyInfo { return bodyInfo{f, len(body), Checksum(body)} }

func (m bodyInfo) String() string { return fmt.Sprintf("%s %d %08x", m.form, m.length, m.crc) }

type footer struct {
	sent, got             bodyInfo
	chunked, uncompressed bool
	chunks                []recording.Chunk
	metadata              string // a checksum; empty if missing
}

func readFooter(line []byte) (m footer, err error) {
	var room [24]string // enough for all lines without many chunks
	words := room[:0]
	for word := range strings.SplitSeq(jsonio.View(line), " ") {
		words = append(words, word)
	}
	if len(words) < 9 || words[0] != "---" || words[1] != ">" || words[5] != "<" {
		return m, fmt.Errorf("%q is not the last line of an interaction", shortened(line))
	}
	if m.sent, err = readBodyInfo(words[2:5]); err != nil {
		return m, err
	}
	if m.got, err = readBodyInfo(words[6:9]); err != nil {
		return m, err
	}
	for words = words[9:]; len(words) > 0 && err == nil; words = words[1:] {
		switch word := fromVersion1(words[0]); {
		case word == "chunked":
			m.chunked = true
		case word == "uncompressed":
			m.uncompressed = true
		case len(words) == 1:
			err = fmt.Errorf("%q in the last line of an interaction has no value", word)
		case word == "chunks":
			m.chunks, err = readChunks(words[1], m.got.length)
			words = words[1:]
		case word == "metadata":
			m.metadata = words[1]
			words = words[1:]
		case word == "key" || word == bareWord || word == sentWord:
			words = words[1:]
		default:
			err = fmt.Errorf("%q in the last line of an interaction is not known", words[0])
		}
	}
	return m, err
}

func readBodyInfo(words []string) (m bodyInfo, err error) {
	crc, err := strconv.ParseUint(words[2], 16, 32)
	if err != nil {
		return m, fmt.Errorf("%q is not a checksum", words[2])
	}
	n, err := strconv.ParseUint(words[1], 10, strconv.IntSize-1)
	if err != nil {
		return m, fmt.Errorf("%q is not a length", words[1])
	}
	return bodyInfo{form(words[0]), int(n), uint32(crc)}, nil
}

func readChunks(text string, length int) (chunks []recording.Chunk, err error) {
	for word := range strings.SplitSeq(text, ",") {
		n, wait, _ := strings.Cut(word, "+")
		var p recording.Chunk
		if p.Len, err = strconv.Atoi(n); err == nil {
			p.After, err = time.ParseDuration(wait)
		}
		if length -= p.Len; err != nil || p.Len < 0 || p.After < 0 || length < 0 {
			return nil, fmt.Errorf("%q in the last line of an interaction is not a chunk of the body, such as 120+5ms", word)
		}
		chunks = append(chunks, p)
	}
	if length != 0 {
		return nil, fmt.Errorf("the chunks in the last line of an interaction are %d bytes shorter than the body", length)
	}
	return chunks, nil
}

// Version 1 of the format has other names for some words; see fromVersion1. Its line
// "recorded TIME by WORDS" also contains the recorder. Readers accept both versions.
const oldRecorder = " by "

// fromVersion1 returns the word of the current version for a word of version 1. It
// returns other words unchanged.
func fromVersion1(word string) string {
	switch word {
	case "cut":
		return "truncated"
	case "pieces":
		return "chunks"
	case "head":
		return "metadata"
	}
	return word
}
