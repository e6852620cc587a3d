// Package convert reads and writes the formats of other recorders: go-vcr's formats 1 (v1,
// v2) and 2 (v3, v4), HAR 1.2 and vcrpy's version 1. It also reads httprr traces.
//
// Bodies are preserved byte for byte. Write omits data that a format cannot represent and
// reports each omission as a [Loss]. The package does not redact secrets.
package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/decompress"
)

// Format is a writable format.
type Format string

// Values of [Format].
const (
	Cassette Format = "cassette" // looptape's own format
	GoVCR1   Format = "go-vcr1"  // go-vcr v1 and v2
	GoVCR2   Format = "go-vcr2"  // go-vcr v3 and v4
	HAR      Format = "har"      // HTTP Archive 1.2
	VCRPy    Format = "vcrpy"    // vcrpy's YAML, version 1
)

// format describes a format. A YAML format has a version, a recorder and a reader.
type format struct {
	Format
	version  int
	recorder string
	read     func(*yaml.Node) (*recording.Interaction, error)
	write    func(recording.Metadata, []*recording.Interaction) ([]byte, error)
}

var formats = []format{
	{Format: Cassette, write: func(h recording.Metadata, list []*recording.Interaction) ([]byte, error) {
		return cassettes.Encode(h, nil, list), nil
	}},
	{GoVCR1, 1, "go-vcr", readGoVCR1, writeGoVCR1},
	{GoVCR2, 2, "go-vcr", readGoVCR2, writeGoVCR2},
	{Format: HAR, write: writeHAR},
	{VCRPy, 1, "vcrpy", readVCRPy, writeVCRPy},
}

// Formats returns all formats in a fixed order.
func Formats() []Format {
	var list []Format
	for _, f := range formats {
		list = append(list, f.Format)
	}
	return list
}

// errUnknown means that a file has an unknown format.
var errUnknown = errors.New("unknown format of a recording: want a cassette of looptape, go-vcr or vcrpy, a HAR file or a httprr trace")

// Recording is the content of a recording.
type Recording struct {
	Interactions []*recording.Interaction
	Metadata     recording.Metadata
	// Format is the format of the file. It is empty for a format that Write cannot write.
	Format Format
	// Incomplete is a [*recording.IncompleteError] if the file is a journal, and nil
	// otherwise.
	Incomplete error
	// Lines are the lines of the interactions, from 1; nil means unknown.
	Lines []int
	// Unread are the errors of the entries of a HAR file that cannot be read, by their numbers from 1; nil
	// if there are none.
	Unread map[int]*recording.FormatError
	// Invalid is a [*recording.FormatError] for the first byte of a JSON file that is not UTF-8, and nil if there is
	// none. U+FFFD replaces such bytes in Interactions.
	Invalid error

	src []byte
}

// Parse reads a recording and detects its format. A file may be compressed with gzip or zstd;
// Format is empty then. Parse keeps src. It returns a
// [*recording.FormatError] with this name if src is invalid, and next to it the recording if only some
// entries of a HAR file cannot be read; see [Recording.Unread].
//
// Server-sent events have one chunk per event without times. If the file has no time,
// Recorded is the first Date of a response.
func Parse(name string, src []byte) (*Recording, error) {
	r := &reader{Recording: Recording{src: src}, name: name}
	err := r.read(name)
	if r.compressed {
		r.Format = "" // Rewrite does not compress
	}
	if r.Metadata.Recorded.IsZero() {
		r.Metadata.Recorded = recordedAt(r.Interactions)
	}
	if err == nil {
		return &r.Recording, nil
	}
	wrong, ok := errors.AsType[*recording.FormatError](err)
	if !ok || wrong.File != name {
		wrong = &recording.FormatError{File: name, Line: r.line, Err: err}
	}
	if r.Unread == nil || len(r.Interactions) == 0 {
		return nil, wrong
	}
	return &r.Recording, wrong
}

type reader struct {
	Recording
	name       string
	line       int // from 1; 0 means unknown
	compressed bool
}

func (r *reader) read(name string) error {
	if err := r.decompress(); err != nil {
		return err
	}
	start := bytes.TrimLeft(bytes.TrimPrefix(r.src, []byte("\ufeff")), " \t\r\n")
	switch {
	case cassettes.IsCassette(r.src):
		return r.cassette(name)
	case bytes.HasPrefix(r.src, []byte(httprrMagic)):
		return r.httprr()
	case bytes.HasPrefix(start, []byte("{")):
		return r.json(start)
	case bytes.HasPrefix(start, []byte("[")):
		if listsRequests(start) {
			return errOldVCRPy
		}
		return errUnknown
	}
	return r.yaml(r.src)
}

// maxDecompressed limits the size of a decompressed file further.
const maxDecompressed = 512 << 20

// decompress replaces src by its content if it is compressed with gzip or zstd.
func (r *reader) decompress() error {
	content, compressed, err := decompress.NewReader(bytes.NewReader(r.src))
	if err != nil || !compressed {
		return err
	}
	limit := min(decompress.MaxHeld(len(r.src)), maxDecompressed)
	if r.src, err = io.ReadAll(io.LimitReader(content, int64(limit)+1)); len(r.src) > limit {
		return fmt.Errorf("the file has more than %d MiB after decompression: decompress it before", limit>>20)
	}
	r.compressed = true
	return err
}

func (r *reader) cassette(name string) error {
	f, err := cassettes.Parse(name, r.src)
	if err != nil {
		return err
	}
	r.Format, r.Metadata, r.Incomplete, r.Lines = Cassette, f.Metadata, f.Incomplete(), f.Lines()
	for x, err := range f.All() {
		if err != nil {
			return err
		}
		r.Interactions = append(r.Interactions, x)
	}
	return nil
}

// add adds an interaction unless it is invalid or could not be read.
func (r *reader) add(x *recording.Interaction, err error) error {
	if err == nil {
		err = finish(x)
	}
	if err != nil {
		return fmt.Errorf("interaction %d: %w", len(r.Interactions)+len(r.Unread)+1, err)
	}
	r.Interactions, r.Lines = append(r.Interactions, x), append(r.Lines, r.line)
	return nil
}

func (r *reader) lineAt(at int) int {
	return 1 + bytes.Count(r.src[:min(at, len(r.src))], []byte("\n"))
}

// Defaults for data that a format omits.
const (
	defaultMethod = http.MethodGet
	defaultProto  = "HTTP/1.1"
)

// finish completes an interaction or reports why it is invalid.
func finish(x *recording.Interaction) error {
	switch x.Request.Method = upperMethod(x.Request.Method); {
	case x.Request.Method != "":
	case len(x.Request.Body) > 0:
		return errors.New("the request has a body and no method: add its method, such as POST")
	default:
		x.Request.Method = defaultMethod
	}
	if !isToken(x.Request.Method) {
		return fmt.Errorf("%q is not a method such as POST", x.Request.Method)
	}
	u, err := url.Parse(x.Request.URL)
	if err != nil || u.Host == "" {
		return fmt.Errorf("%q is not a URL such as https://example.com/v1", x.Request.URL)
	}
	x.Request.URL = tape.WrittenURL(x.Request.URL)
	for _, h := range []http.Header{x.Request.Header, x.Request.Trailer, x.Response.Header, x.Response.Trailer} {
		if names := slices.DeleteFunc(slices.Collect(maps.Keys(h)), isToken); len(names) > 0 {
			return fmt.Errorf("%q is not the name of a header", slices.Min(names))
		}
	}
	return finishResponse(&x.Response)
}

// upperMethod returns a method in upper case, as clients send it: some tests of Python
// programs record it in lower case.
func upperMethod(method string) string {
	upper := strings.ToUpper(method)
	switch upper {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return upper
	}
	return method
}

func finishResponse(r *recording.Response) error {
	r.Wait = max(r.Wait, 0)
	if r.Termination == recording.Failed {
		return nil
	}
	if r.Status < 100 || r.Status > 999 {
		return fmt.Errorf("the status of the response is %d, and has to be from 100 to 999", r.Status)
	}
	if strings.ContainsFunc(r.Reason, unicode.IsControl) {
		return fmt.Errorf("%q is not a reason phrase", r.Reason)
	}
	if r.Reason = strings.TrimSpace(r.Reason); r.Reason == http.StatusText(r.Status) {
		r.Reason = ""
	}
	if _, _, ok := http.ParseHTTPVersion(r.Proto); !ok {
		r.Proto = defaultProto
	}
	if tape.IsEvents(r.Header) {
		r.Chunks = tape.EventChunks(r.Body)
	}
	return nil
}

// isToken reports whether a word is a token (RFC 9110, 5.6.2).
func isToken(word string) bool {
	for _, c := range []byte(word) {
		if c >= utf8.RuneSelf || !unicode.IsLetter(rune(c)) && !unicode.IsDigit(rune(c)) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return word != ""
}

// lengthUnknown reports whether the length was probably not declared, for formats without this
// information.
func lengthUnknown(r *recording.Response) bool {
	return len(r.Body) > 0 && r.Header.Get("Content-Length") == ""
}

// decoded removes the Content-Encoding of a body that is already decoded, as browsers and
// Python clients save it: text, or bytes that do not begin like gzip.
func decoded(r *recording.Response) {
	encoding := match.ContentEncoding(r.Header)
	switch {
	case encoding == "", len(r.Body) == 0, match.Decode(r.Header, r.Body).Complete:
		return
	case utf8.Valid(r.Body), encoding == "gzip" && !bytes.HasPrefix(r.Body, []byte("\x1f\x8b")):
		r.Header.Del("Content-Encoding")
		r.Header.Del("Content-Length")
		r.Uncompressed = true
	}
}

// unframed removes headers of the connection.
func unframed(h http.Header) http.Header {
	h.Del("Transfer-Encoding")
	return h
}

func recordedAt(list []*recording.Interaction) time.Time {
	for _, x := range list {
		if t, err := http.ParseTime(x.Response.Header.Get("Date")); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
