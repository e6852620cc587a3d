package cassettes_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes/recording"
)

// The length and the encoding of a response are those that a Go client gets.
func TestFraming(t *testing.T) {
	type framing struct {
		Length   int64
		Encoding []string
	}
	body, declared := []byte("hello"), http.Header{"Content-Length": {"7"}} // as of a response to HEAD, or a truncated one
	for name, c := range map[string]struct {
		response recording.Response
		want     framing
	}{
		"declared":        {recording.Response{Proto: "HTTP/1.1", Header: declared, Body: body}, framing{7, nil}},
		"not declared":    {recording.Response{Proto: "HTTP/1.1", Header: http.Header{}, Body: body}, framing{5, nil}},
		"no number":       {recording.Response{Proto: "HTTP/1.1", Header: http.Header{"Content-Length": {"x"}}, Body: body}, framing{5, nil}},
		"chunked":         {recording.Response{Proto: "HTTP/1.1", Header: declared, Body: body, Chunked: true}, framing{-1, []string{"chunked"}}},
		"a later version": {recording.Response{Proto: "HTTP/2.0", Body: body, Chunked: true}, framing{-1, nil}},
		"unpacked":        {recording.Response{Proto: "HTTP/1.1", Body: body, Chunked: true, Uncompressed: true}, framing{-1, nil}},
	} {
		got := framing{c.response.ContentLength(), c.response.TransferEncoding()}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
