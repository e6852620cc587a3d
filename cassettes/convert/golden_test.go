package convert_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
)

// sample contains what the formats represent differently.
func sample() (recording.Metadata, []*recording.Interaction) {
	events := "event: start\ndata: {\"text\":\"☕\"}\n\ndata: [DONE]\n\n"
	return recording.Metadata{
			Recorded: time.Unix(1795250000, 0).UTC(), Recorder: "looptape 0.3.0",
			Upstreams: map[string]string{"example": "https://api.example.com"},
		}, []*recording.Interaction{
			{
				Request: recording.Request{
					Method: "POST", URL: "https://api.example.com/v1/messages?beta=true&note=Grüße",
					Header: http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"[redacted #a1b2 51 chars]"}},
					Body:   []byte(`{"stream":true,"text":"<a & b>\ud83d"}`),
				},
				Response: recording.Response{
					Status: 200, Proto: "HTTP/2.0", Chunked: true, Uncompressed: true, Wait: 412 * time.Millisecond,
					Header: http.Header{"Content-Type": {"text/event-stream"}, "Set-Cookie": {"a=1", "b=2"}}, Body: []byte(events),
					Chunks: []recording.Chunk{{After: 38 * time.Millisecond, Len: len(events) - 14}, {After: 12 * time.Millisecond, Len: 14}},
				},
			},
			{
				Session: "critic",
				Request: recording.Request{
					Method: "POST", URL: "http://127.0.0.1:8080/form?q=%20", Body: []byte("a=1&b=%26"),
					Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Host": {"forms.example.com"}, "Transfer-Encoding": {"chunked"}},
				},
				Response: recording.Response{
					Status: 429, Reason: "Slow Down", Proto: "HTTP/1.1", Wait: 1500 * time.Microsecond,
					Header: http.Header{"Content-Length": {"4"}, "Content-Encoding": {"gzip"}}, Body: []byte("\x1f\x8b\x08\x00"),
					Trailer: http.Header{"X-Sum": {"7"}},
				},
			},
			{
				Request:  recording.Request{Method: "GET", URL: "https://api.example.com/", Header: http.Header{}},
				Response: recording.Response{Status: 200, Proto: "HTTP/1.1", Chunked: true, Header: http.Header{}, Body: []byte("\n\tlines\n"), Termination: recording.Truncated, Failure: "unexpected EOF"},
			},
			{
				Request:  recording.Request{Method: "GET", URL: "https://gone.example.com/", Header: http.Header{}},
				Response: recording.Response{Wait: 3 * time.Second, Termination: recording.Failed, Failure: "no such host"},
			},
		}
}

// Written files equal their goldens, with a report of each loss.
func TestFormats(t *testing.T) {
	head, list := sample()
	var all strings.Builder
	for _, f := range convert.Formats() {
		text, lost, err := convert.Write(f, head, list)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "sample."+string(f), text)
		for _, l := range lost {
			fmt.Fprintf(&all, "%s: %s %v\n", f, l.What, l.Of)
		}
	}
	golden(t, "lost", []byte(all.String()))
}

func golden(t *testing.T, name string, text []byte) {
	t.Helper()
	goldie.New(t, goldie.WithDiffEngine(goldie.ColoredDiff)).Assert(t, name, text)
}
