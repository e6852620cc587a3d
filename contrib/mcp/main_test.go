package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// serverVariable makes the test binary a server: "sdk" is that of the SDK, other values name a function
// of scripted.
const serverVariable = "LOOPTAPE_TEST_SERVER"

func TestMain(m *testing.M) {
	if name := os.Getenv(serverVariable); name != "" {
		serveStdio(name)
		return
	}
	goleak.VerifyTestMain(m)
}

// child returns a server that is this test binary.
func childServer(t *testing.T, name string, env ...string) Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Namespace: "s", Command: []string{self}, Env: append(append(os.Environ(), serverVariable+"="+name), env...)}
}

// memory returns a server in this process.
func memory(t *testing.T, s *sdk.Server) Server {
	return Server{Namespace: "s", Transport: func() (sdk.Transport, error) {
		there, here := sdk.NewInMemoryTransports()
		_, err := s.Connect(context.WithoutCancel(t.Context()), there, nil)
		return here, err
	}}
}

// overHTTP returns a server of streamable HTTP on the loopback interface.
func overHTTP(t *testing.T, s *sdk.Server, opts *sdk.StreamableHTTPOptions) Server {
	t.Helper()
	h := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, opts))
	t.Cleanup(h.Close)
	return Server{Namespace: "s", URL: h.URL, HTTPClient: h.Client()}
}

// connect connects to servers until the test ends.
func connect(t *testing.T, cfg *Config) *Client {
	t.Helper()
	c, err := Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// run calls a tool.
func run(ctx context.Context, c *Client, name, arguments string) (loop.Output, error) {
	for _, tool := range c.Tools() {
		if tool.Name == name {
			return tool.Run(ctx, loop.Call{ID: "c1", Name: name, Arguments: arguments})
		}
	}
	return loop.Output{}, fmt.Errorf("no tool %q", name)
}

// textOf calls a tool without arguments and returns the texts of its result.
func textOf(t *testing.T, c *Client, name string) string {
	t.Helper()
	out, err := run(t.Context(), c, name, "{}")
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text := ""
	for _, p := range out.Content {
		if p, ok := p.(llm.Text); ok {
			text += p.Text
		}
	}
	return text
}

// hang calls the tool hang and cancels the call; canceled is the channel of newServer.
func hang(t *testing.T, c *Client, canceled <-chan string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := run(ctx, c, "s__hang", "{}")
		done <- err
	}()
	<-canceled
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got the error %v", err)
	}
	if got := <-canceled; got != context.Canceled.Error() {
		t.Errorf("the server got the error %s", got)
	}
}

// call returns a request that msg responds to.
func call(msg jsonrpc.Message) *jsonrpc.Request {
	resp, _ := msg.(*jsonrpc.Response)
	return &jsonrpc.Request{ID: resp.ID, Method: "tools/call"}
}

const (
	testGrace = 20 * time.Millisecond
	testLimit = 1 << 20
)

// scriptedClient connects to the scripted server.
func scriptedClient(t *testing.T, out io.Writer, env ...string) *Client {
	t.Helper()
	s := childServer(t, "scripted", env...)
	s.Stderr = out
	return connect(t, &Config{Servers: []Server{s}, Grace: testGrace, MaxMessage: testLimit})
}

// put writes to a server's output. The client may have gone.
func put(w io.Writer, format string, values ...any) { _, _ = fmt.Fprintf(w, format, values...) }

// collected has what is written to it.
type collected struct {
	mu   sync.Mutex
	text bytes.Buffer
	wake chan struct{} // holds an element after each write
}

func newOutput() *collected { return &collected{wake: make(chan struct{}, 1)} }

func (s *collected) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

func (s *collected) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// wait waits until a text was written.
func (s *collected) wait(text string) {
	for !strings.Contains(s.String(), text) {
		<-s.wake
	}
}
