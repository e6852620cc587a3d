package cassettes

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// A cassette that was recorded when redaction knew fewer names answers a client with another key.
func TestReplayOfOlderRedaction(t *testing.T) {
	body := func(key, password string) []byte {
		return []byte(`{"api_key":"` + key + `","smtp_pass":"` + password + `"}`)
	}
	request := recording.Request{Method: "POST", URL: endpoint, Header: http.Header{"Content-Type": {"application/json"}}, Body: body(redact.Placeholder("s3cretS3cret"), "hunter2hunter")}
	path := filepath.Join(t.TempDir(), "old.tape")
	if err := Replace(path, Encode(recording.Metadata{}, nil, []*recording.Interaction{{Request: request, Response: recording.Response{Status: 200, Proto: "HTTP/1.1"}}})); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Body = body("0therS3cret9", "hunter2hunter")
	if i, err := c.find("", request); i != 0 || err != nil {
		t.Errorf("got interaction %d, %v, want 0", i, err)
	}
}
