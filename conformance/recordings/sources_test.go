// Package recordings checks the codecs with recordings of real providers. Each recorded response goes
// through an adapter, and each request to the strict server.
package recordings

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "charm.land/fantasy" // its module contains the recordings
	"go.yaml.in/yaml/v3"
)

// exchange is a recorded request with its response.
type exchange struct {
	name     string // the path of the file below the folder of the set, and the number in it
	url      string
	request  []byte
	kind     string // the response's Content-Type
	response []byte
	framed   bool // the response came in Bedrock's frames, which are removed here
}

// set is one set of cassettes.
type set struct {
	name       string
	dir        func(testing.TB) string
	cassettes  int
	counts     counts         // of all its exchanges
	turns      int            // requests with a response in their history
	unanswered map[string]int // requests with results, by the rule that rejects them without a result
}

// counts are the numbers of read elements.
type counts struct {
	Exchanges map[string]int // by protocol
	Streams   int            // of the responses
	Frames    int            // of the streams: in Bedrock's frames
	Calls     int            // in the responses
	Signed    int            // signatures and encrypted data in the responses
}

func (f *counts) add(protocol string, x exchange, s said) {
	f.Exchanges[protocol]++
	f.Calls += len(s.Calls)
	f.Signed += len(s.Signed)
	if x.streamed() {
		f.Streams++
	}
	if x.framed {
		f.Frames++
	}
}

// sets returns the sets of recorded cassettes.
var sets = []set{
	{
		name: "module", dir: module, cassettes: 323,
		counts: counts{
			Exchanges: map[string]int{"anthropic-messages": 64, "gemini": 68, "openai-chat": 280, "openai-responses": 76},
			Streams:   243, Frames: 10, Calls: 240, Signed: 65,
		},
		turns: 166, unanswered: map[string]int{"SA-01": 20, "SG-01": 20, "SO-01": 102, "SR-01": 24},
	},
	{
		name: "shared", dir: shared("fantasy-cassettes"), cassettes: 350,
		counts: counts{
			Exchanges: map[string]int{"anthropic-messages": 75, "gemini": 84, "openai-chat": 297, "openai-responses": 78},
			Streams:   271, Frames: 10, Calls: 264, Signed: 98,
		},
		turns: 184, unanswered: map[string]int{"SA-01": 24, "SG-01": 26, "SO-01": 109, "SR-01": 24},
	},
}

// each runs a test for each exchange of the set, and fails if the number of exchanges is wrong.
func (s *set) each(t *testing.T, do func(*testing.T, exchange)) {
	t.Helper()
	dir := s.dir(t)
	files := 0
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		files++
		for _, x := range readCassette(t, dir, path) {
			t.Run(x.name, func(t *testing.T) { do(t, x) })
		}
		return nil
	})
	if err != nil || files != s.cassettes {
		t.Errorf("%d cassettes were read, want %d; %v", files, s.cassettes, err)
	}
}

// readCassette reads a cassette of go-vcr in its format 2.
func readCassette(t *testing.T, dir, path string) (out []exchange) {
	t.Helper()
	name, err := filepath.Rel(dir, path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Version      int
		Interactions []struct {
			Request  struct{ URL, Body string }
			Response struct {
				Body    string // bytes if it is !!binary
				Code    int
				Headers map[string][]string
			}
		}
	}
	if err := yaml.Unmarshal(data, &c); err != nil || c.Version != 2 {
		t.Fatalf("%s: format %d, want 2; %v", name, c.Version, err)
	}
	for i, x := range c.Interactions {
		if x.Response.Code != 200 {
			t.Fatalf("%s.%d: status %d, want 200", name, i, x.Response.Code)
		}
		e := exchange{
			name: fmt.Sprint(name, ".", i), url: x.Request.URL, request: []byte(x.Request.Body),
			kind: strings.Join(x.Response.Headers["Content-Type"], ""), response: []byte(x.Response.Body),
		}
		if e.kind == "application/vnd.amazon.eventstream" {
			e.kind, e.framed = "text/event-stream", true
			if e.response, err = fromEventStream(e.response); err != nil {
				t.Fatalf("%s: %v", e.name, err)
			}
		}
		out = append(out, e)
	}
	return out
}

// module returns the folder of the recordings in the module of charm.land/fantasy.
func module(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "list", "-m", "-f", "{{.Dir}}", "charm.land/fantasy").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return filepath.Join(string(bytes.TrimSpace(out)), "providertests", "testdata")
}

// shared returns a function that finds a folder of the shared recordings: below LOOPTAPE_SHARED, or
// below a folder "shared" in this folder or above.
func shared(name string) func(testing.TB) string {
	return func(t testing.TB) string {
		t.Helper()
		here, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		roots := []string{os.Getenv("LOOPTAPE_SHARED")}
		for up := ""; up != here; here = filepath.Dir(here) {
			roots, up = append(roots, filepath.Join(here, "shared")), here
		}
		for _, root := range roots {
			dir := filepath.Join(root, "data", name)
			if _, err := os.Stat(dir); err == nil {
				return dir
			}
		}
		t.Skipf("there are no recordings: no data/%s in LOOPTAPE_SHARED, nor in a folder shared here or above", name)
		return ""
	}
}
