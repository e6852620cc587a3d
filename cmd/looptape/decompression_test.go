//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
)

const modelURL = "https://api.openai.com/v1"

// chatBodies are a request and a response of Chat Completions, around a text.
var chatBodies = map[bool][2]string{
	false: {`{"model":"m","messages":[{"role":"user","content":"`, `"}]}`},
	true:  {`{"id":"r","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"`, `"}}],"usage":{"prompt_tokens":5,"completion_tokens":7}}`},
}

// longBody returns a body with a text of a length in MiB, in an encoding.
func longBody(t *testing.T, encoding string, response bool, mebibytes int) []byte {
	t.Helper()
	out := &bytes.Buffer{}
	var w io.WriteCloser
	var err error
	switch encoding {
	case "gzip":
		w, err = gzip.NewWriterLevel(out, gzip.BestSpeed)
	case "deflate":
		w, err = zlib.NewWriterLevel(out, zlib.BestSpeed)
	case "br":
		w = brotli.NewWriterLevel(out, brotli.BestSpeed)
	case "zstd":
		w, err = zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
	}
	text := bytes.Repeat([]byte("0"), 1<<20)
	pieces := append(slices.Repeat([][]byte{text}, mebibytes), []byte(chatBodies[response][1]))
	for _, piece := range append([][]byte{[]byte(chatBodies[response][0])}, pieces...) {
		if err == nil {
			_, err = w.Write(piece)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// encodedBodies returns a body of 600 MiB in each encoding, and in two.
func encodedBodies(t *testing.T, response bool) map[string][]byte {
	t.Helper()
	bodies := map[string][]byte{}
	for _, encoding := range []string{"gzip", "deflate", "br", "zstd"} {
		bodies[encoding] = longBody(t, encoding, response, 600)
	}
	var twice bytes.Buffer
	w := brotli.NewWriter(&twice)
	_, _ = w.Write(bodies["gzip"]) // a buffer takes everything
	_ = w.Close()                  // the same
	bodies["gzip, br"] = twice.Bytes()
	return bodies
}

// unread is the reason why a body is not decoded.
func unread(encoding string) string {
	if encoding == "gzip, br" {
		return "unknown encoding: want gzip, deflate, br, zstd or identity"
	}
	return "it has more than 32 MiB"
}

// compressed is a recording of equal interactions, whose request or response is in an encoding.
type compressed struct {
	encoding string
	response bool
	body     []byte
	times    int
}

func (c *compressed) interaction() *recording.Interaction {
	plain := http.Header{"Content-Type": {"application/json"}}
	x := &recording.Interaction{
		Request:  recording.Request{Method: http.MethodPost, URL: modelURL + "/chat/completions", Header: plain, Body: []byte(strings.Join([]string{chatBodies[false][0], chatBodies[false][1]}, "hi"))},
		Response: recording.Response{Status: 200, Proto: "HTTP/1.1", Header: plain, Body: []byte(strings.Join([]string{chatBodies[true][0], chatBodies[true][1]}, "ok"))},
	}
	header := http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {c.encoding}}
	if c.response {
		x.Response.Header, x.Response.Body = header, c.body
	} else {
		x.Request.Header, x.Request.Body = header, c.body
	}
	return x
}

// cassette writes the recording to a cassette.
func (c *compressed) cassette(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.tape")
	text := cassettes.Encode(recording.Metadata{Upstreams: map[string]string{"x": modelURL}}, nil, slices.Repeat([]*recording.Interaction{c.interaction()}, c.times))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// har writes the recording to a HAR file, whose responses are in the encoding.
func (c *compressed) har(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.har")
	x := c.interaction()
	entry := fmt.Sprintf(`{"request":{"method":"POST","url":%q,"postData":{"mimeType":"application/json","text":%q}},"response":{"status":200,"headers":[{"name":"Content-Encoding","value":%q}],"content":{"mimeType":"application/json","encoding":"base64","text":%q}}}`,
		x.Request.URL, x.Request.Body, c.encoding, base64.StdEncoding.EncodeToString(c.body))
	text := `{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[` + strings.TrimSuffix(strings.Repeat(entry+",", c.times), ",") + `]}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runBounded runs a command line in bounded memory, and returns what it prints.
func runBounded(t *testing.T, status int, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "looptape", args...)
	c.Env = append(c.Environ(), "GOGC=100") // the default
	printed, _ := c.CombinedOutput()        // the exit status is compared
	used := c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
	if got := c.ProcessState.ExitCode(); got != status {
		t.Errorf("%q: exit status %d, want %d: %.2000s", args, got, status, printed)
	}
	if used > maxStreamMemory {
		t.Errorf("%q used %d MiB, want at most %d", args, used, maxStreamMemory)
	}
	t.Logf("%q used %d MiB: %.2000s", args, used, printed)
	return strings.Join(strings.Fields(string(printed)), " ")
}

// Each command that reads recordings reports bodies that decode to more than the limit, in bounded memory.
func TestLongDecodedBodiesInFiles(t *testing.T) {
	for _, response := range []bool{false, true} {
		for encoding, body := range encodedBodies(t, response) {
			files := []*compressed{{encoding, response, body, 1}}
			if encoding == "br" { // many that are each below the limit
				files = append(files, &compressed{encoding, response, longBody(t, encoding, response, 31), 12})
			}
			for _, c := range files {
				paths := []string{c.cassette(t)}
				if response {
					paths = append(paths, c.har(t))
				}
				for _, path := range paths {
					t.Run(fmt.Sprintf("%s response %v %d %s", encoding, response, c.times, filepath.Ext(path)), func(t *testing.T) { readLongBodies(t, c, path) })
				}
			}
		}
	}
}

func readLongBodies(t *testing.T, c *compressed, path string) {
	want := unread(c.encoding)
	if c.times > 1 {
		want = "the limit of 32 MiB for decoded bodies of the file is exceeded"
	}
	if got := runBounded(t, 2, "check", path); !strings.Contains(got, want) || !strings.Contains(got, fmt.Sprintf(" %d unreadable record", max(1, c.times-1))) {
		t.Errorf("check prints %q", got)
	}
	suite := filepath.Join(filepath.Dir(path), "suite.yaml")
	if err := os.WriteFile(suite, []byte("suite: 1\nruns: ["+filepath.Base(path)+"]\nscorers: [refusal]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runBounded(t, 2, "eval", "score", suite); !strings.Contains(got, want) {
		t.Errorf("eval score prints %q", got)
	}
	if c.encoding != "br" || c.times > 1 {
		return
	}
	for _, args := range [][]string{{"verify", path}, {"convert", path, "-o", filepath.Join(t.TempDir(), "y.tape")}, {"scrub", path}} {
		if got := runBounded(t, 1, append([]string{"cassette"}, args...)...); !strings.Contains(got, want) {
			t.Errorf("cassette %s prints %q", args[0], got)
		}
	}
	if got := runBounded(t, 0, "cassette", "show", path, "1"); !strings.Contains(got, want) {
		t.Errorf("cassette show prints %q", got)
	}
	runBounded(t, 0, "cassette", "convert", path, "-o", filepath.Join(t.TempDir(), "y.har"))
}

// Servers decode long bodies in bounded memory. The program gets a response as it was sent; it is not recorded.
func TestLongDecodedBodiesInServers(t *testing.T) {
	scenario := weatherFile(t)
	sent := encodedBodies(t, false)
	for encoding, body := range encodedBodies(t, true) {
		t.Run(encoding, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					_, _ = io.Copy(io.Discard, r.Body) // the program reports a failure
					return
				}
				w.Header().Set("Content-Encoding", encoding)
				_, _ = w.Write(body) // the same
			}))
			defer server.Close()
			request := filepath.Join(t.TempDir(), "body")
			if err := os.WriteFile(request, sent[encoding], 0o600); err != nil {
				t.Fatal(err)
			}
			recordings := filepath.Join(t.TempDir(), "x.tape")
			for _, args := range [][]string{{"reader"}, {"reader", encoding, request}} {
				args = append([]string{"record", "-o", recordings, "--upstream", "x=" + server.URL, "--"}, args...)
				got := runBounded(t, 1, args...)
				if want := fmt.Sprintf("its encoding, %s, cannot be undone to look into it: %s", encoding, unread(encoding)); !strings.Contains(got, want) {
					t.Errorf("record prints %q, want %q", got, want)
				}
				if want := fmt.Sprintf("%d <nil>", len(body)); len(args) == 6 && !strings.Contains(got, want) {
					t.Errorf("record prints %q, want %q", got, want)
				}
			}
			if _, err := os.Stat(recordings); err == nil {
				t.Error("there is a cassette")
			}
			path := (&compressed{encoding, false, sent[encoding], 1}).cassette(t)
			if got, want := runBounded(t, 0, "replay", path, "--", "reader", encoding, request), " <nil>"; !strings.Contains(got, want) {
				t.Errorf("replay prints %q, want %q", got, want)
			}
			got := runBounded(t, 1, "serve", scenario, "--", "reader", encoding, request)
			if want := fmt.Sprintf("the content encoding %q is not supported: send the body of the request without it", encoding); !strings.Contains(got, "415") || !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), want) || !strings.Contains(got, "0 violations, 1 rejected") {
				t.Errorf("serve prints %q, want %q", got, want)
			}
		})
	}
}

// Requests that are not recorded take bounded memory, although they come at the same time.
func TestConcurrentMisses(t *testing.T) {
	path := (&compressed{"br", false, longBody(t, "br", false, 8), 1}).cassette(t)
	request := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(request, longBody(t, "br", false, 7), 0o600); err != nil {
		t.Fatal(err)
	}
	got := runBounded(t, 1, "replay", "--allow-unused", path, "--", "sh", "-c", `for i in 1 2 3 4 5 6 7 8; do reader br "$0" & done; wait`, request)
	if n := strings.Count(got, "looptape_miss"); n != 8 {
		t.Errorf("%d requests are not recorded, want 8: %.2000s", n, got)
	}
}
