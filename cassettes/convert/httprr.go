package convert

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes/recording"
)

// httprrMagic is the first line of an httprr trace, used by the tests of Go's oscar and
// adk-go. Each request and response follows as HTTP/1.1, after a line with their lengths in
// bytes.
const httprrMagic = "httprr trace v1\n"

func (r *reader) httprr() error {
	r.Metadata.Recorder = "httprr"
	for rest := r.src[len(httprrMagic):]; len(rest) > 0; {
		r.line = r.lineAt(len(r.src) - len(rest))
		x, left, err := readHTTPRR(rest)
		if err := r.add(x, err); err != nil {
			return err
		}
		rest = left
	}
	return nil
}

func readHTTPRR(text []byte) (x *recording.Interaction, rest []byte, err error) {
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	first, second, _ := strings.Cut(string(line), " ")
	n, errN := strconv.ParseUint(first, 10, 31)
	m, errM := strconv.ParseUint(second, 10, 31)
	switch {
	case errN != nil || errM != nil:
		return nil, nil, fmt.Errorf("%.60q is not the lengths of a request and its response, such as 375 769", line)
	case n+m > uint64(len(rest)):
		return nil, nil, fmt.Errorf("the trace is truncated: want %d bytes, got %d: record it again", n+m, len(rest))
	}
	x, err = parseHTTP(rest[:n], rest[n:n+m])
	return x, rest[n+m:], err
}

func parseHTTP(sent, got []byte) (*recording.Interaction, error) {
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
	if err != nil {
		return nil, fmt.Errorf("the request: %w", err)
	}
	x := &recording.Interaction{Request: recording.Request{Method: req.Method, URL: req.URL.String(), Header: req.Header}}
	if x.Request.Body, err = io.ReadAll(req.Body); err != nil {
		return nil, fmt.Errorf("the body of the request: %w", err)
	}
	x.Request.Trailer = req.Trailer
	if req.ContentLength < 0 {
		x.Request.Header.Set("Transfer-Encoding", "chunked")
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(got)), req)
	if err != nil {
		return nil, fmt.Errorf("the response: %w", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, fmt.Errorf("the body of the response: %w", err)
	}
	x.Response = recording.Response{
		Status: resp.StatusCode, Reason: strings.TrimPrefix(resp.Status, strconv.Itoa(resp.StatusCode)), Proto: resp.Proto,
		Header: resp.Header, Body: body, Trailer: resp.Trailer,
	}
	x.Response.Chunked = lengthUnknown(&x.Response)
	return x, nil
}
