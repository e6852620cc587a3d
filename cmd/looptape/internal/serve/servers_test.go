package serve

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// The command that records again names the servers that are not where the providers are,
// in words that a shell takes apart as they were.
func TestAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b.tape")
	recorded := map[string]string{"openai": "https://api.openai.com/v1", "my": "http://localhost:80/v1?a=1&b"}
	v := cassetteServer{file: path, opts: cassettes.Options{Upstreams: map[string]string{"other": "http://x/"}, Ignore: []string{"?at", "/a"}, Rules: redact.Rules{Secret: []string{"X-Pin"}}}}
	want := "looptape record -o '" + path + "' --upstream 'my=http://localhost:80/v1?a=1&b' --upstream other=http://x/ --ignore '?at' --ignore /a --secret X-Pin -- 'my node' …"
	if got := v.recordCommand(recorded, []string{"my node", "agent.js"}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	v.file, v.opts.Ignore, v.opts.Secret = filepath.Join(t.TempDir(), "none.tape"), nil, nil
	if got, want := v.recordCommand(nil, nil), "looptape record -o "+v.file+" --upstream other=http://x/"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The command has no arguments of the program, which may have secrets.
func TestAgainWithoutArguments(t *testing.T) {
	v := cassetteServer{file: "a.tape"}
	args := []string{"node", "agent.js", "--api-key", "Tr0ub4dor&3", "hunter"}
	const want = "looptape record -o a.tape -- node …"
	if got := v.recordCommand(nil, args); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A cassette without servers is replayed before the providers that its requests
// went to; before others, if they are named.
func TestGuess(t *testing.T) {
	for _, c := range []struct {
		urls   []string
		needed bool
		want   map[string]string
		err    string
	}{
		{[]string{"https://api.openai.com/v1/chat/completions", "https://api.anthropic.com/v1/messages", "https://example.com/x"}, true,
			map[string]string{"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}, ""},
		{[]string{"https://api.openai.com.example.com/v1/x", "http://b:8/x"}, true, map[string]string{}, "requests to http://b:8, https://api.openai.com.example.com"},
		{[]string{"https://example.com/x"}, false, map[string]string{}, ""},
		{nil, true, map[string]string{}, ""},
	} {
		var list []*recording.Interaction
		for _, u := range c.urls {
			list = append(list, &recording.Interaction{Request: recording.Request{Method: "GET", URL: u}, Response: recording.Response{Status: 200, Proto: "HTTP/1.1"}})
		}
		f, err := cassettes.Parse("x.tape", cassettes.Encode(recording.Metadata{}, nil, list))
		if err != nil {
			t.Fatal(err)
		}
		v := cassetteServer{file: "x.tape", opts: cassettes.Options{Upstreams: map[string]string{}}}
		err = v.guess(f, c.needed)
		if text := fmt.Sprint(err); (err != nil) != (c.err != "") || !strings.HasSuffix(text, c.err) && err != nil {
			t.Errorf("%v: got the error %v, want the suffix %q", c.urls, err, c.err)
		}
		if diff := cmp.Diff(c.want, v.opts.Upstreams); diff != "" {
			t.Errorf("%v: servers (-want +got):\n%s", c.urls, diff)
		}
	}
}

// The servers of an interrupted recording are those of its journal, not of an older
// cassette, which the journal goes before.
func TestOpenJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tape")
	record := func(name string) *cassettes.Cassette {
		c, err := cassettes.Open(path, &cassettes.Options{Mode: cassettes.Record, Upstreams: map[string]string{name: "http://" + name + "/"}, Transport: http.NewFileTransportFS(os.DirFS(t.TempDir()))})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Client().Get("http://" + name + "/none") //nolint:noctx // it is no network
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close() // the output is not read
		return c
	}
	if err := record("old").Close(); err != nil {
		t.Fatal(err)
	}
	broken := record("new")
	v := cassetteServer{file: path, opts: cassettes.Options{Mode: cassettes.Replay, Upstreams: map[string]string{}}}
	c, err := v.open([]string{"agent"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Client().Get("http://new/other") //nolint:bodyclose,noctx // there is none
	miss, ok := errors.AsType[*cassettes.MissError](err)
	if want := "looptape record -o " + path + " --upstream new=http://new/ -- agent"; !ok || miss.RecordCommand != want || miss.File != path {
		t.Errorf("got %v, want a miss in %s with %s", err, path, want)
	}
	if err := broken.Abandon(); err != nil {
		t.Error(err)
	}
}
