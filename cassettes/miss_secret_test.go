package cassettes

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/recording"
)

// A miss shows no secret of the request: not of its header, and none with a known shape in its body
// or URL.
func TestMissShowsNoSecret(t *testing.T) {
	const header, inBody, inURL, named = "s3cretS3cret9x", "sk-ant-api03-abcdefghij0123456789", "ghp_q7Xz92LmPa8Kd31RZk3v9QmT7sLb2XwYc8Rp", "Tr0ub4dor&3"
	path := filepath.Join(t.TempDir(), "m.tape")
	x := exchange{url: endpoint, header: jsonType, body: `{"prompt":"hello","smtp_pass":"x"}`}
	list := []*recording.Interaction{{Request: recording.Request{Method: "POST", URL: x.url, Header: headerOf(x.header), Body: []byte(x.body)}, Response: recording.Response{Status: 200, Proto: "HTTP/1.1"}}}
	if err := Replace(path, Encode(recording.Metadata{}, nil, list)); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path, &Options{AllowUnused: true})
	if err != nil {
		t.Fatal(err)
	}
	x = exchange{url: endpoint + "/" + inURL, header: jsonType + bearer(header) + "X-Custom: " + header + "\n", body: `{"prompt":"use ` + inBody + ` now","smtp_pass":"` + named + `"}`}
	_, _, err = x.ask(t, c)
	var miss *MissError
	if !errors.As(err, &miss) {
		t.Fatalf("got %v, want a miss", err)
	}
	text := fmt.Sprintf("%v %+v %+v", err, miss.Request.URL, miss.NearestMatch) + string(miss.Request.Body)
	for _, secret := range []string{header, inBody, inURL, named} {
		if strings.Contains(text, secret[4:]) {
			t.Errorf("the miss has %s: %s", secret, text)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
