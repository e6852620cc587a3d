package cassette

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// TestShowQuotesControlCharacters covers control characters that a script file cannot contain.
func TestDialogue(t *testing.T) {
	got := string(dialogue(&recording.Interaction{
		Request: recording.Request{
			Method: "GET", URL: "http://a.example/\x1b[2J", Header: http.Header{"A": {"\x1b[2J"}}, Body: []byte("\x1b"),
			Trailer: http.Header{"B": {"1"}},
		},
		Response: recording.Response{Status: 599, Reason: "\a", Proto: "HTTP/1.1", Body: []byte(" a\tb\r\n\r\n"), Termination: recording.Canceled},
	}))
	want := `"GET http://a.example/\x1b[2J"
"A: \x1b[2J"

(not text; 1 byte)

B: 1

"HTTP/1.1 599 \a"

 a	b

(cancelled)
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A body is shown without its encoding, or with the reason why that is unknown.
func TestDialogueEncoded(t *testing.T) {
	got := string(dialogue(&recording.Interaction{
		Request:  recording.Request{Method: "POST", URL: "http://a.example/", Header: http.Header{"Content-Encoding": {"deflate"}}, Body: []byte("x\x9c\xabVJT\xb2R0\xac\x05\x00\x09\xe5\x02)")},
		Response: recording.Response{Status: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Encoding": {"compress"}}, Body: []byte("\x1f\x9d")},
	}))
	want := `POST http://a.example/
Content-Encoding: deflate

{
  "a": 1
}

HTTP/1.1 200 OK
Content-Encoding: compress

(2 bytes; content encoding "compress": unknown encoding: want gzip, deflate, br, zstd or identity: record it again without compression)
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Many interactions are counted, not named.
func TestReportLostCounts(t *testing.T) {
	w, _, err := clitest.Terminal(nil)
	eleven := make([]int, 11)
	if failed := reportLost(w, "a.har", "har", []convert.Loss{{What: "the lane", Of: eleven}, {What: "the header", Of: eleven[1:]}}); failed != nil {
		t.Fatal(failed)
	}
	want := "looptape: omitted from a.har because har cannot represent it:\n  the lane (11 interactions)\n  the header (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)\n"
	if diff := cmp.Diff(want, err.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
