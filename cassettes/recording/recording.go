// Package cassettes records what goes over HTTP and replays it. It knows nothing of
// models: bytes, never meaning.
//
// A cassette is one file of interactions, in the order in which their requests were
// issued, made to be read in a review and restored byte for byte: docs/cassettes.md
// describes it.
package recording

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Interaction is a request and what came back.
type Interaction struct {
	// Session keeps clients that run at once apart. It may be empty.
	Session  string
	Request  Request
	Response Response
}

// Request is what a client asked.
type Request struct {
	Method string
	URL    string // absolute
	// Header has a Host only if it is another than the one of the URL, and a
	// Transfer-Encoding only if the length of the body was not told.
	Header http.Header
	Body   []byte
	// Trailer is what came behind the body.
	Trailer http.Header
}

// Response is what came back.
type Response struct {
	// Status is 0 if nothing came; Ending then says why.
	Status int
	// Reason is the words after the status, if they are not the usual ones.
	Reason string
	// Proto is HTTP/1.1 or HTTP/2.0, say.
	Proto  string
	Header http.Header
	Body   []byte
	// Trailer is what came behind the body.
	Trailer http.Header
	// Chunked says that the length of the body was not told.
	Chunked bool
	// Uncompressed says that the transport has undone a compression that the
	// client had not asked for.
	Uncompressed bool
	// Wait is the time from the request to the header.
	Wait time.Duration
	// Pieces are the parts in which the body came: of a stream of events, one each.
	// Their lengths are together that of Body.
	Chunks []Chunk
	// Ending tells how a body ended that did not come to its end; it is empty
	// otherwise.
	Termination Termination
	// Failure is the error in words, if Ending is Failed or Cut.
	Failure string
}

// StatusText is the words after the status: Reason, or else the usual ones.
func (r *Response) StatusText() string {
	if r.Reason != "" {
		return r.Reason
	}
	return http.StatusText(r.Status)
}

// ContentLength is what http.Response has in its field of this name: what the header says,
// or else how long the body is, and -1 if its length was not told.
func (r *Response) ContentLength() int64 {
	if r.Chunked {
		return -1
	}
	if n, err := strconv.ParseInt(r.Header.Get("Content-Length"), 10, 64); err == nil {
		return n
	}
	return int64(len(r.Body))
}

// TransferEncoding is what http.Response has in its field of this name: chunked, if the
// length was not told in HTTP/1, unless the transport has undone a compression.
func (r *Response) TransferEncoding() []string {
	if !r.Chunked || r.Uncompressed {
		return nil
	}
	if major, _, _ := http.ParseHTTPVersion(r.Proto); major != 1 {
		return nil
	}
	return []string{"chunked"}
}

// Piece is a part of a body.
type Chunk struct {
	// After is the time since the piece before it, or since the header.
	After time.Duration
	Len   int // bytes
}

// Ending is how an answer ended that did not come to its end.
type Termination string

// The endings.
const (
	// Failed means that there was no answer.
	Failed Termination = "failed"
	// Cut means that the connection broke within the body.
	Truncated Termination = "truncated"
	// Cancelled means that the client left, or closed the body when its end was not
	// near.
	Canceled Termination = "cancelled"
)

// Head is what a cassette says of itself.
type Metadata struct {
	Recorded time.Time // to the second
	Recorder string    // what recorded it
	// Match tells by which matching the keys were made.
	Match string
	// Upstreams are the servers that a proxy stood before, by name.
	Upstreams map[string]string
}

// FormatError says what is wrong with a file.
type FormatError struct {
	File string // may be empty
	Line int    // from 1; 0 if it is none
	Err  error
}

func (e *FormatError) Error() string {
	where := e.File
	if e.Line > 0 {
		where = strings.TrimPrefix(where+":"+strconv.Itoa(e.Line), ":")
	}
	if where == "" {
		return e.Err.Error()
	}
	return where + ": " + e.Err.Error()
}

// Unwrap returns what is wrong.
func (e *FormatError) Unwrap() error { return e.Err }

// IncompleteError says that a recording was not closed: its program was killed, or its
// journal is damaged. What is whole of it is replayed.
type IncompleteError struct {
	File          string // the journal
	Complete      int    // how many interactions are whole
	TrailingBytes int    // how many bytes are behind them
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("%s: the recording was not closed; interactions that are whole: %d, bytes behind them that are lost: %d", e.File, e.Complete, e.TrailingBytes)
}
