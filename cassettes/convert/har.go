package convert

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/ordered"
)

// The used members of HTTP Archive 1.2, with extensions: lists of values from Polly.JS, and
// _error from browsers, the reason for a missing (status 0) or truncated response.
type (
	harLog struct {
		Version string     `json:"version"`
		Creator harCreator `json:"creator"`
		Entries []harEntry `json:"entries"`
	}
	harCreator struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	harEntry struct {
		Started  string      `json:"startedDateTime"`
		Time     float64     `json:"time"` // all times are in milliseconds
		Request  harRequest  `json:"request"`
		Response harResponse `json:"response"`
		Cache    struct{}    `json:"cache"`
		Timings  harTimings  `json:"timings"`
		// Messages are those of a WebSocket, as browsers export them.
		Messages []json.RawMessage `json:"_webSocketMessages,omitempty"`
	}
	harRequest struct {
		Method      string     `json:"method"`
		URL         string     `json:"url"`
		Proto       string     `json:"httpVersion"`
		Cookies     []struct{} `json:"cookies"`
		Headers     []harField `json:"headers"`
		Query       []harField `json:"queryString"`
		PostData    *harBody   `json:"postData,omitempty"`
		HeadersSize float64    `json:"headersSize"`
		BodySize    float64    `json:"bodySize"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		Reason      string     `json:"statusText"`
		Proto       string     `json:"httpVersion"`
		Cookies     []struct{} `json:"cookies"`
		Headers     []harField `json:"headers"`
		Content     harContent `json:"content"`
		Redirect    string     `json:"redirectURL"`
		HeadersSize float64    `json:"headersSize"`
		BodySize    float64    `json:"bodySize"`
		Failure     string     `json:"_error,omitempty"`
	}
	harField struct {
		Name  string `json:"name"`
		Value values `json:"value"`
	}
	harContent struct {
		Size float64 `json:"size"`
		harBody
	}
	harBody struct {
		Type     string     `json:"mimeType"`
		Text     *string    `json:"text,omitempty"`
		Encoding string     `json:"encoding,omitempty"`
		Params   []harParam `json:"params,omitempty"`
		// File is another file, in which Playwright writes the body with content: "attach".
		File string `json:"_file,omitempty"`

		bytes []byte // of Text, if no other string shares them
	}
	harParam struct {
		harField
		File string `json:"fileName,omitempty"`
	}
	harTimings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
)

// har reads a log, which is valid JSON.
func (r *reader) har(members *harMembers) error {
	var log struct {
		Creator harCreator
		Entries []json.RawMessage
	}
	if members.entries == nil || json.Unmarshal(members.creator, &log.Creator) != nil {
		if err := json.Unmarshal(members.log, &log); err != nil {
			return r.jsonError(err, bytes.Index(r.src, members.log))
		}
	} else {
		log.Entries = members.entries
	}
	r.Format, r.Metadata.Recorder = HAR, strings.TrimSpace(log.Creator.Name+" "+log.Creator.Version)
	at, counted, first := 0, 0, 0 // the last one is the first of Unread
	line := 1                     // at the offset counted
	for i, read := range readEntries(log.Entries, len(members.log), log.Creator.Name == "Polly.JS") {
		at += bytes.Index(r.src[at:], log.Entries[i])
		line += bytes.Count(r.src[counted:at], []byte("\n"))
		r.line, counted = line, at
		if read.invalid != nil {
			read.err = r.jsonError(read.invalid, at)
		}
		if err := r.add(read.x, read.err); err != nil {
			if r.Unread == nil {
				r.Unread, first = map[int]*recording.FormatError{}, i+1
			}
			r.Unread[i+1] = &recording.FormatError{File: r.name, Line: r.line, Err: err}
		}
		if r.Metadata.Recorded.IsZero() {
			r.Metadata.Recorded = startedAt(read.started)
		}
		at += len(log.Entries[i])
	}
	if r.Unread != nil {
		return r.Unread[first]
	}
	return nil
}

// readEntry is an entry that was read.
type readEntry struct {
	x            *recording.Interaction
	started      string
	invalid, err error // of the JSON, and of what is in it
}

// readEntries reads entries that have a size together, large ones on all processors.
func readEntries(raw []json.RawMessage, size int, polly bool) []readEntry {
	read := make([]readEntry, len(raw))
	ordered.Each(len(raw), size, func(i int) {
		var e harEntry
		if read[i].invalid = e.unmarshal(raw[i]); read[i].invalid == nil {
			read[i].started = e.Started
			read[i].x, read[i].err = e.interaction(polly)
		}
	})
	return read
}

var errWebSocket = errors.New("messages of WebSocket are not supported: export the file again without this entry")

// harMembers are the members of a log. Entries is nil if they are not a list.
type harMembers struct {
	log, creator []byte
	entries      []json.RawMessage
}

// readHARMembers reads a log.
func readHARMembers(d *jsonio.Dec) *harMembers {
	m, isList := &harMembers{}, true
	d.Peek() // skips white space
	from := d.Offset()
	if d.Peek() != '{' {
		d.Skip()
		m.log = jsonio.Bytes(d.Since(from))
		return m
	}
	for name := range d.Members() {
		switch {
		case strings.EqualFold(name, "creator"):
			m.creator = jsonio.Bytes(d.Raw())
		case strings.EqualFold(name, "entries"):
			if isList = isList && d.Peek() == '['; !isList {
				d.Skip()
				continue
			}
			m.entries = []json.RawMessage{}
			for range d.Elements() {
				m.entries = append(m.entries, jsonio.Bytes(d.Raw()))
			}
		default:
			d.Skip()
		}
	}
	if !isList {
		m.entries = nil
	}
	m.log = jsonio.Bytes(d.Since(from))
	return m
}

// unmarshal decodes an entry, which is valid JSON. Package encoding/json takes long for long strings,
// so it gets the entry with empty bodies.
func (e *harEntry) unmarshal(raw []byte) error {
	var short []byte
	copied := 0 // of raw
	d := jsonio.NewValidDec(jsonio.View(raw))
	var cut func(path ...string) []byte // returns the last string at the path; nil if there is none
	cut = func(path ...string) (text []byte) {
		switch c := d.Peek(); {
		case c == '"' && len(path) == 0:
			short = append(append(short, raw[copied:d.Offset()]...), `""`...)
			text = d.StringBytes()
			copied = d.Offset()
		case c == '{' && len(path) > 0:
			for name := range d.Members() {
				if name == path[0] {
					text = or(cut(path[1:]...), text)
				} else {
					d.Skip()
				}
			}
		default:
			d.Skip()
		}
		return text
	}
	var sent, got []byte
	for name := range d.Members() {
		switch name {
		case "request":
			sent = or(cut("postData", "text"), sent)
		case "response":
			got = or(cut("content", "text"), got)
		default:
			d.Skip()
		}
	}
	if json.Unmarshal(append(short, raw[copied:]...), e) != nil {
		return json.Unmarshal(raw, e) // for the place of the error
	}
	restore := func(body *harBody, text []byte) {
		if text != nil && body != nil && body.Text != nil && *body.Text == "" {
			body.Text, body.bytes = new(jsonio.View(text)), text
		}
	}
	restore(e.Request.PostData, sent)
	restore(&e.Response.Content.harBody, got)
	return nil
}

// or returns the first of two texts that is not nil.
func or(first, second []byte) []byte {
	if first != nil {
		return first
	}
	return second
}

func startedAt(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if t = t.UTC(); err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

func (r *reader) jsonError(err error, at int) error {
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		at += int(wrong.Offset)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at += int(wrong.Offset)
		err = fmt.Errorf("there is a JSON %s where it cannot be, at %q", wrong.Value, wrong.Field)
	}
	r.line = r.lineAt(at)
	return err
}

func (e *harEntry) interaction(polly bool) (*recording.Interaction, error) {
	if len(e.Messages) > 0 {
		return nil, errWebSocket
	}
	proto := strings.ToUpper(e.Response.Proto)
	x := &recording.Interaction{
		Request: recording.Request{Method: e.Request.Method, URL: e.Request.URL, Header: harHeader(e.Request.Headers)},
		Response: recording.Response{
			Status: e.Response.Status, Reason: e.Response.Reason, Proto: cmp.Or(harProtos[proto], proto), Header: unframed(harHeader(e.Response.Headers)),
			Wait: time.Duration(math.Round((e.Time - max(e.Timings.Receive, 0)) * float64(time.Millisecond))),
		},
	}
	var err error
	if e.Request.PostData != nil {
		if x.Request.Body, err = e.Request.PostData.body(); err != nil {
			return nil, fmt.Errorf("the body of the request: %w", err)
		}
	}
	if size := max(e.Request.BodySize, lengthIn(x.Request.Header)); len(x.Request.Body) == 0 && size > 0 {
		return nil, fmt.Errorf("the body of the request: missing postData of %g bytes: export the file again with it, or without this entry", size)
	}
	mayHave := x.Request.Method != http.MethodGet && x.Request.Method != http.MethodHead && e.Request.BodySize < 0 && x.Request.Header.Get("Content-Length") != "0"
	if p := e.Request.PostData; p != nil && p.Text == nil && p.Params == nil && p.Type != "" && mayHave {
		return nil, errors.New("the body of the request: missing text of a postData of unknown size: export the file again with it, or without this entry")
	}
	r := &x.Response
	if r.Status == 0 {
		*r = recording.Response{Wait: r.Wait, Termination: recording.Failed, Failure: e.Response.Failure}
		return x, nil
	}
	c := &e.Response.Content
	switch size := e.sizeInFile(r.Header); {
	case (c.Text == nil || *c.Text == "") && size > 0 && mayHaveBody(x.Request.Method, r.Status):
		err = fmt.Errorf("missing content of %g bytes: export the file again with content", size)
	case polly && r.Header.Get("Content-Encoding") != "":
		r.Body, err = c.chunks()
	default:
		r.Body, err = c.body()
	}
	if err != nil {
		return nil, fmt.Errorf("the body of the response: %w", err)
	}
	if e.Response.Failure != "" {
		r.Termination, r.Failure = recording.Truncated, e.Response.Failure
	}
	decoded(r)
	r.Chunked = lengthUnknown(r)
	return x, nil
}

// sizeInFile returns the size of the body of the response by the members of its entry; 0 if none states one.
// The size of the content counts more than that of the body as it was sent, which may be compressed or that of
// the end of its chunks. Browsers do not keep the body of a redirect, or of a response that failed.
func (e *harEntry) sizeInFile(h http.Header) float64 {
	c := &e.Response.Content
	isKept := (e.Response.Status < http.StatusMultipleChoices || e.Response.Status >= http.StatusBadRequest) && e.Response.Failure == ""
	switch {
	case c.Size > 0:
		return c.Size
	case isKept && (c.Text == nil || h.Get("Content-Encoding") == "") && lengthIn(h) > 0:
		return lengthIn(h)
	case isKept && c.Text == nil && c.Size == 0:
		return e.Response.BodySize
	}
	return 0
}

// lengthIn returns the Content-Length of a header; 0 if it has none.
func lengthIn(h http.Header) float64 {
	n, err := strconv.ParseUint(h.Get("Content-Length"), 10, 63)
	if err != nil {
		return 0
	}
	return float64(n)
}

// mayHaveBody reports whether a response may have a body (RFC 9110, 6.4.1). The size of another one is
// that of a saved copy, or of the answer to GET.
func mayHaveBody(method string, status int) bool {
	return method != http.MethodHead && status >= http.StatusOK && status != http.StatusNoContent && status != http.StatusNotModified
}

func (c *harBody) body() ([]byte, error) {
	switch {
	case (c.Text == nil || *c.Text == "") && c.File != "":
		return nil, fmt.Errorf("the content is in another file, %q: record the file again with the content in it (of Playwright with content: \"embed\")", c.File)
	case c.Text == nil || *c.Text == "":
		return c.form()
	case c.Encoding == "base64":
		return base64.StdEncoding.DecodeString(*c.Text)
	case c.Encoding != "":
		return nil, fmt.Errorf("unknown encoding %q: want base64", c.Encoding)
	}
	if c.bytes != nil {
		return c.bytes, nil
	}
	return []byte(*c.Text), nil
}

// chunks returns an encoded body from Polly.JS: a list of chunks in base64 or, before
// version 5, in hexadecimal.
func (c *harBody) chunks() (body []byte, err error) {
	var list []string
	if c.Text == nil || json.Unmarshal([]byte(*c.Text), &list) != nil {
		return c.body()
	}
	decode := hex.DecodeString
	if c.Encoding == "base64" {
		decode = base64.StdEncoding.DecodeString
	}
	for _, chunk := range list {
		b, err := decode(chunk)
		if err != nil {
			return nil, err
		}
		body = append(body, b...)
	}
	return body, nil
}

// form returns a body that the file has as a form.
func (c *harBody) form() ([]byte, error) {
	var pairs []string
	for _, f := range c.Params {
		if mediaType, _, _ := strings.Cut(c.Type, ";"); f.File != "" || mediaType != "" && !strings.EqualFold(mediaType, "application/x-www-form-urlencoded") {
			return nil, fmt.Errorf("missing text of a form of the type %q, whose fields do not show all bytes that were sent: export the file again with the text, or without this entry", c.Type)
		}
		for _, v := range f.Value {
			pairs = append(pairs, url.QueryEscape(f.Name)+"="+url.QueryEscape(v))
		}
	}
	return []byte(strings.Join(pairs, "&")), nil
}

// harHeader sorts the fields by their names and omits the pseudo-header fields of HTTP/2. Browsers
// join headers with the same name, such as Set-Cookie, by newlines.
func harHeader(fields []harField) http.Header {
	sort.SliceStable(fields, func(i, j int) bool { return fields[i].Name < fields[j].Name })
	h := make(http.Header, len(fields))
	for _, f := range fields {
		if strings.HasPrefix(f.Name, ":") {
			continue
		}
		for _, v := range f.Value {
			for line := range strings.SplitSeq(v, "\n") {
				h.Add(f.Name, line)
			}
		}
	}
	return h
}

// harProtos are other names of protocols.
var harProtos = map[string]string{"H2": "HTTP/2.0", "HTTP/2": "HTTP/2.0", "H3": "HTTP/3.0", "HTTP/3": "HTTP/3.0"}

func writeHAR(h recording.Metadata, list []*recording.Interaction) ([]byte, error) {
	name, version, _ := strings.Cut(h.Recorder, " ")
	log := harLog{Version: "1.2", Creator: harCreator{name, version}, Entries: []harEntry{}}
	for _, x := range list {
		log.Entries = append(log.Entries, harEntryOf(x, h.Recorded))
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(map[string]harLog{"log": log})
	return out.Bytes(), err
}

func harEntryOf(x *recording.Interaction, recorded time.Time) harEntry {
	var receive time.Duration
	for _, p := range x.Response.Chunks {
		receive += p.After
	}
	e := harEntry{
		Started: recorded.UTC().Format(time.RFC3339),
		Time:    milliseconds(x.Response.Wait + receive),
		Request: harRequest{
			Method: x.Request.Method, URL: x.Request.URL, Proto: defaultProto, Headers: harFields(x.Request.Header),
			Cookies: []struct{}{}, Query: harQuery(x.Request.URL), HeadersSize: -1, BodySize: float64(len(x.Request.Body)),
		},
		Response: harResponse{
			Status: x.Response.Status, Reason: x.Response.StatusText(), Proto: x.Response.Proto, Headers: harFields(x.Response.Header),
			Cookies: []struct{}{}, Redirect: x.Response.Header.Get("Location"), HeadersSize: -1, BodySize: float64(len(x.Response.Body)),
			Content: harContent{float64(len(x.Response.Body)), harBodyOf(x.Response.Header, x.Response.Body)}, Failure: x.Response.Failure,
		},
		Timings: harTimings{Wait: milliseconds(x.Response.Wait), Receive: milliseconds(receive)},
	}
	if x.Response.Uncompressed {
		e.Response.BodySize = -1
	}
	if len(x.Request.Body) > 0 {
		body := harBodyOf(x.Request.Header, x.Request.Body)
		e.Request.PostData = &body
	}
	return e
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func harBodyOf(h http.Header, body []byte) harBody {
	s := string(body)
	c := harBody{Type: h.Get("Content-Type"), Text: &s}
	if !utf8.Valid(body) {
		s = base64.StdEncoding.EncodeToString(body)
		c.Encoding = "base64"
	}
	return c
}

func harFields(h http.Header) []harField {
	out := []harField{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			out = append(out, harField{name, values{v}})
		}
	}
	return out
}

func harQuery(text string) []harField {
	u, err := url.Parse(text)
	if err != nil {
		return []harField{}
	}
	return harFields(http.Header(u.Query()))
}
