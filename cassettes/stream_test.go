package cassettes

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
)

// Reading a response with invalid events returns an error with the line.
func TestStreamInvalidEvents(t *testing.T) {
	x := &recording.Interaction{
		Request:  recording.Request{Method: "GET", URL: "https://example.com/", Header: http.Header{}},
		Response: recording.Response{Status: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: []byte("data: 1\n\ndata: 2\n\n"), Chunked: true},
	}
	x.Response.Chunks = tape.EventChunks(x.Response.Body)
	text := string(Encode(recording.Metadata{}, nil, []*recording.Interaction{x}))
	for name, c := range map[string]struct {
		from, to, read, want string
	}{
		"right":         {"", "", "data: 1\n\ndata: 2\n\n", ""},
		"a line less":   {"< +0ms data: 2\n", "", "data: 1\n\n", `x.tape:11: the body of the response: checksum mismatch`},
		"no time":       {"+0ms data: 2", "data: 2", "data: 1\n\n", `x.tape:12: the body of the response: the line "data: 2" of an event does not begin with a time`},
		"no time first": {"+0ms data: 1", "data: 1", "", `x.tape:12: the body of the response: the line "data: 1" of an event does not begin with a time`},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(text, c.from, c.to, 1)
			body, _, _ := strings.Cut(changed, "=== end")
			f, err := Parse("x.tape", footed(body)) // with valid checksums
			if err != nil {
				t.Fatal(err)
			}
			play, err := f.Replay(nil)
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := play.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			read, err := io.ReadAll(resp.Body)
			if string(read) != c.read {
				t.Errorf("read %q, want %q", read, c.read)
			}
			if _, ok := errors.AsType[*recording.FormatError](err); c.want != "" && (!ok || !strings.HasPrefix(err.Error(), c.want)) || c.want == "" && err != nil {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// footed appends the valid last line of a cassette with one interaction.
func footed(body string) []byte {
	body += "=== end 1 interaction "
	return fmt.Appendf(nil, "%scrc %08x\n", body, tape.Checksum([]byte(body)))
}
