// Package recording defines the types of recorded HTTP: an [Interaction] is a request with
// its response. Package cassettes records, replays and stores interactions.
package recording

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Interaction is a request with its response.
type Interaction struct {
	// Session separates concurrent clients. It may be empty.
	Session  string
	Request  Request
	Response Response
}

// Request is a recorded request.
type Request struct {
	Method string
	URL    string // absolute
	// Header contains Host only if it differs from the host of the URL. It contains
	// Transfer-Encoding only if the request did not declare its length.
	Header  http.Header
	Body    []byte
	Trailer http.Header
}

// Response is a recorded response.
type Response struct {
	// Status is 0 if there was no response; Termination then is the reason.
	Status int
	// Reason is the reason phrase. Empty means the usual phrase of the status.
	Reason string
	// Proto is the protocol, such as HTTP/1.1 or HTTP/2.0.
	Proto   string
	Header  http.Header
	Body    []byte
	Trailer http.Header
	// Chunked is true if the response did not declare the length of its body.
	Chunked bool
	// Uncompressed is true if the transport decompressed the body, although the client did
	// not request compression.
	Uncompressed bool
	// Wait is the time from the request to the response header.
	Wait time.Duration
	// Chunks are the chunks in which the body arrived. Server-sent events have one chunk
	// per event. Their lengths add up to the length of Body.
	Chunks []Chunk
	// Termination is how the response ended before its end. It is empty for a complete
	// response.
	Termination Termination
	// Failure is the text of the error if Termination is Failed or Truncated.
	Failure string
}

// StatusText returns the reason phrase of the response.
func (r *Response) StatusText() string {
	if r.Reason != "" {
		return r.Reason
	}
	return http.StatusText(r.Status)
}

// ContentLength returns the value of the field of [http.Response] with this name. It
// returns -1 if the response did not declare its length.
func (r *Response) ContentLength() int64 {
	if r.Chunked {
		return -1
	}
	if n, err := strconv.ParseInt(r.Header.Get("Content-Length"), 10, 64); err == nil {
		return n
	}
	return int64(len(r.Body))
}

// TransferEncoding returns the value of the field of [http.Response] with this name.
func (r *Response) TransferEncoding() []string {
	if !r.Chunked || r.Uncompressed {
		return nil
	}
	if major, _, _ := http.ParseHTTPVersion(r.Proto); major != 1 {
		return nil
	}
	return []string{"chunked"}
}

// Chunk is a part of a body that arrived in one step.
type Chunk struct {
	// After is the time since the previous chunk, or since the header.
	After time.Duration
	Len   int // bytes
}

// Termination is how an incomplete response ended.
type Termination string

// Values of [Response.Termination].
const (
	// Failed means that there was no response.
	Failed Termination = "failed"
	// Truncated means that the connection broke within the body.
	Truncated Termination = "truncated"
	// Canceled means that the client canceled the request or closed the body early.
	Canceled Termination = "cancelled"
)

// Metadata describes a cassette.
type Metadata struct {
	Recorded time.Time // in seconds
	Recorder string    // the program that recorded the cassette
	// Match identifies the matching rules that made the keys.
	Match string
	// Upstreams are the URLs of the servers of a proxy, by name.
	Upstreams map[string]string
}

// NearestMatch is the recorded request that is most similar to a request without a
// response.
type NearestMatch struct {
	// Number is the number of the interaction, from 1.
	Number int
	// Recorded is the number of interactions with this request, and Used the number of used
	// ones.
	Recorded, Used int
	// Differences are the differences between the requests. There are none if all
	// recordings of the request are used.
	Differences []Difference
	// Message describes the first message of a conversation that differs. It is empty if
	// none does.
	Message string
}

// Difference is one difference between a request and a recorded one.
type Difference struct {
	// Where is session, method, URL scheme, URL user, URL host, URL path, URL, query NAME,
	// Host, content type, form NAME, form, line NUMBER or body, or a JSON pointer into the
	// body. For a member that the request lacks, the pointer is that of the recording.
	Where string
	// Recorded and Now are the two values as JSON, shortened to the part around the first
	// difference, or "absent".
	Recorded, Now string
}

// FormatError reports where a file is invalid.
type FormatError struct {
	File string // may be empty
	Line int    // from 1; 0 means unknown
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

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// IncompleteError reports that a recording was not closed. The program was killed, or the
// journal is damaged. A replay uses the complete interactions.
type IncompleteError struct {
	File          string // the journal
	Complete      int    // number of complete interactions
	TrailingBytes int    // number of bytes after them
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("%s: the recording was not closed; complete interactions: %d, bytes lost after them: %d", e.File, e.Complete, e.TrailingBytes)
}
