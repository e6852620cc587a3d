//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// connections is the number of connections and of streams that clients abort; the flag -connections sets
// it.
var connections = flag.Int("connections", 100, "how many connections and streams clients abort")

// The servers keep nothing of connections that are dropped, before or within a request, and of streams
// that a client does not read to the end.
func TestAbortedConnections(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			_, _ = fmt.Fprint(w, "data: {}\n\n") // until the client is gone
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer upstream.Close()
	dir := t.TempDir()
	scenario, tape := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "a.tape")
	text := "version: 2\nmodels:\n  main:\n" + strings.Repeat("    - text: "+strings.Repeat("many words ", 100)+"\n", 2**connections) + "input: x\n"
	if err := os.WriteFile(scenario, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		path string
	}{
		"serve":  {[]string{"serve", "--allow-unused", scenario}, "/openai/v1/chat/completions"},
		"record": {[]string{"record", "-o", tape, "--upstream", "x=" + upstream.URL}, "/x/stream"},
		"replay": {[]string{"replay", "--allow-unused", streams(t, dir)}, "/x/stream"},
	} {
		t.Run(name, func(t *testing.T) { abortConnections(t, c.args, c.path) })
	}
}

// streams returns a cassette with enough streams, which are longer than a client reads.
func streams(t *testing.T, dir string) (path string) {
	t.Helper()
	x := &recording.Interaction{
		Request: recording.Request{Method: http.MethodPost, URL: "https://example.com/stream", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(abortedBody)},
		Response: recording.Response{Status: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: bytes.Repeat([]byte("data: {}\n\n"), 1000), Chunked: true, Chunks: slices.Repeat([]recording.Chunk{{Len: len("data: {}\n\n")}}, 1000)},
	}
	path = filepath.Join(dir, "streams.tape")
	text := cassettes.Encode(recording.Metadata{Upstreams: map[string]string{"x": "https://example.com"}}, nil, slices.Repeat([]*recording.Interaction{x}, 2**connections))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const abortedBody = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`

var printedURL = regexp.MustCompile(` at (http://\S+)`)

func abortConnections(t *testing.T, args []string, path string) {
	w, _, _ := clitest.Terminal(nil)
	ctx, stop := context.WithCancel(t.Context())
	w.Interrupted = func(context.Context) (context.Context, context.CancelFunc) { return ctx, stop }
	words, said := io.Pipe()
	w.Err = said
	ended := make(chan cli.Status, 1)
	go func() {
		ended <- execute(args, w)
		_ = said.Close() // it returns nil
	}()
	lines := bufio.NewReader(words)
	first, err := lines.ReadString('\n')
	found := printedURL.FindStringSubmatch(first)
	if err != nil || found == nil {
		t.Fatalf("the command prints %q, %v", first, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // until the end
	base, err := url.Parse(found[1])
	if err != nil {
		t.Fatal(err)
	}
	abort(t, base, path) // what is kept from the first ones on
	goroutines, files, memory := kept(t)
	for range 100 { // the server may still be closing the first ones
		g, f, m := kept(t)
		goroutines, files, memory = min(goroutines, g), min(files, f), min(memory, m)
	}
	for range *connections {
		abort(t, base, path)
	}
	// The report of serve and the list of a recording need some hundred bytes of each request.
	most := memory + 4<<20 + *connections*2048
	// The server may still be closing the last connections.
	nowGoroutines, nowFiles, nowMemory := kept(t)
	for range 20_000 { // each takes some milliseconds
		if nowGoroutines <= goroutines && nowFiles <= files && nowMemory <= most {
			break
		}
		runtime.Gosched()
		nowGoroutines, nowFiles, nowMemory = kept(t)
	}
	if nowGoroutines > goroutines || nowFiles > files {
		t.Errorf("%d goroutines and %d files before, %d and %d after %d connections", goroutines, files, nowGoroutines, nowFiles, *connections)
	}
	if nowMemory > most {
		t.Errorf("%d bytes before, %d after %d connections", memory, nowMemory, *connections)
	}
	t.Logf("%d goroutines, %d files and %d kB before, %d, %d and %d kB after", goroutines, files, memory>>10, nowGoroutines, nowFiles, nowMemory>>10)
	stop()
	if got := <-ended; got == cli.Usage {
		t.Errorf("exit status %d", got)
	}
}

// abort drops a connection without a request, one within a header, one within a body, and one within the
// response.
func abort(t *testing.T, base *url.URL, path string) {
	t.Helper()
	head := "POST " + base.Path + path + " HTTP/1.1\r\nHost: " + base.Host + "\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\n"
	request := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(abortedBody), abortedBody)
	for i, text := range []string{"", head, request[:len(request)-5], request} {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", base.Host)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if i == 3 {
			if start, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.HasPrefix(start, "HTTP/1.1 200") {
				t.Fatalf("the response is %q, %v", start, err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// kept returns the numbers of goroutines and open files, and the bytes in use.
func kept(t *testing.T) (goroutines, files, memory int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.GC() // a sync.Pool keeps its values for one collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return runtime.NumGoroutine(), len(list), int(m.HeapAlloc)
}
