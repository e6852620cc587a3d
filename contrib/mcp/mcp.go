// Package mcp gives an agent the tools of servers of the Model Context Protocol (MCP), over stdio and
// streamable HTTP. It uses the official Go SDK for the protocol, in all its versions from 2024-11-05 to
// 2026-07-28.
//
// A [Client] connects to servers and lists their tools. The model gets a tool as namespace__name (see
// [ToolName]), with its description and its JSON Schema. Only tools are supported: the client offers a
// server no roots, no sampling and no elicitation, and reads no resources and no prompts.
//
// # Results
//
// Text becomes [llm.Text]; an image, a sound and the bytes of a resource become [llm.Media]. The text of
// a resource becomes text, a link to a resource and content of unknown types text with its JSON.
// Structured content is the Value of the [loop.Output], as [json.RawMessage]; the model gets it only if
// the result has no other content. It is not compared with the output schema. isError makes the result an
// error result.
//
// # Failures
//
// A call fails alone: its tool returns an error, which the loop makes an error result. The call is never
// sent again. If the connection to the server has ended, the next call makes another one: a program is
// started again, and an HTTP server gets a new session. State of the server that belongs to the old
// connection is lost.
//
// A call ends with its context, such as that of [loop.Config.ToolTimeout]. The server gets
// a notification of that, and over HTTP the request ends. Messages and results have size limits. The
// client discards all notifications except for [Client.Changed].
//
// # Tools that change
//
// The tools of a [Client] are those that the servers listed at [Connect] or at the last
// [Client.Refresh], also after a new connection. An agent with [Client.Middleware] gives each run the
// tools of its start, and they stay the same to its end. The call of a tool that its server has removed
// is an error result, with the message of the server.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptape/looptape/loop"
)

// The default values of zero fields of a [Config].
const (
	DefaultConnectTimeout = 30 * time.Second
	DefaultGrace          = 2 * time.Second
	DefaultMaxMessage     = 16 << 20
	DefaultMaxResult      = 1 << 20
)

// Server is an MCP server. Exactly one of Command, URL and Transport must be set.
type Server struct {
	// Namespace precedes the names of its tools: 1 to 32 letters, digits, "-", and single "_" between
	// them. Each server has another one.
	Namespace string

	// Command is a program that serves stdio, as [exec.LookPath] finds it, and its arguments. It runs in
	// its own process group. What it prints to standard output without being a message counts as
	// standard error.
	Command []string
	Dir     string    // where the program runs; empty means where this process runs
	Env     []string  // its environment; nil means that of this process
	Stderr  io.Writer // gets its standard error; nil means that only errors contain the end of it

	// URL is the endpoint of a server of streamable HTTP.
	URL        string
	HTTPClient *http.Client // sends the requests to URL; nil means [http.DefaultClient]

	// Transport returns a transport for each new connection, such as that to a server in this process,
	// or an [sdk.StreamableClientTransport] with authorization.
	Transport func() (sdk.Transport, error)

	// ProtocolVersion is the version that the client asks for; empty means the newest one that the SDK
	// supports. The server may choose another. Set a version before 2026-07-28 for a server that does
	// not answer the request server/discover at all.
	ProtocolVersion string
	// Select reports whether the agent gets the tool of the server with this name; nil means all tools.
	Select func(name string) bool
}

// Config has the servers and the limits of a [Client].
type Config struct {
	Servers []Server
	// ConnectTimeout limits the time to connect to a server, and the time to list its tools; 0 means
	// [DefaultConnectTimeout].
	ConnectTimeout time.Duration
	// Grace is the time that a program has to end after its standard input is closed, and again after
	// SIGTERM; 0 means [DefaultGrace]. Then its process group is killed.
	Grace time.Duration
	// MaxMessage limits a message of a server, in bytes; 0 means [DefaultMaxMessage]. A longer line of a
	// program ends the connection, because the client cannot know its request. Over HTTP only the request
	// fails.
	MaxMessage int
	// MaxResult limits the text and the data of a result, with the names and types of its data, in bytes;
	// 0 means [DefaultMaxResult]. A larger result is an error result. It also limits the text of an error.
	MaxResult int
	Clock     loop.Clock // nil means [loop.SystemClock]
}

// Client has connections to servers, and their tools. Its methods, and the tools, are safe for use by
// many goroutines.
type Client struct {
	servers []*server

	mu    sync.Mutex
	tools []loop.Tool
}

// Connect connects to all servers and lists their tools. If one of them fails, it closes the others and
// returns the errors. The caller must call [Client.Close] after use. cfg may be nil.
func Connect(ctx context.Context, cfg *Config) (*Client, error) {
	c := *cmp.Or(cfg, &Config{})
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, DefaultConnectTimeout)
	c.Grace = cmp.Or(c.Grace, DefaultGrace)
	c.MaxMessage = cmp.Or(c.MaxMessage, DefaultMaxMessage)
	c.MaxResult = cmp.Or(c.MaxResult, DefaultMaxResult)
	if c.Clock == nil {
		c.Clock = loop.SystemClock{}
	}
	client := &Client{}
	for _, s := range c.Servers {
		if err := s.check(); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(client.servers, func(o *server) bool { return o.Namespace == s.Namespace }) {
			return nil, fmt.Errorf("mcp: two servers have the namespace %q: change one", s.Namespace)
		}
		life, end := context.WithCancelCause(context.WithoutCancel(ctx))
		client.servers = append(client.servers, &server{Server: s, cfg: &c, life: life, end: end, lock: make(chan struct{}, 1)})
	}
	if err := client.Refresh(ctx); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

func (s *Server) check() error {
	if err := checkNamespace(s.Namespace); err != nil {
		return err
	}
	set := 0
	for _, is := range []bool{len(s.Command) > 0, s.URL != "", s.Transport != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return fmt.Errorf("mcp: server %q: set exactly one of Command, URL and Transport", s.Namespace)
	}
	return nil
}

// Refresh lists the tools of all servers again. It connects to those whose connection has ended. After
// an error the tools are the same as before.
func (c *Client) Refresh(ctx context.Context) error {
	lists, errs := make([][]loop.Tool, len(c.servers)), make([]error, len(c.servers))
	changed := make([]bool, len(c.servers))
	var all sync.WaitGroup
	for i, s := range c.servers {
		changed[i] = s.changed.Load()
		all.Go(func() {
			if lists[i], errs[i] = s.list(ctx); errs[i] != nil {
				errs[i] = fmt.Errorf("mcp: server %q: %w", s.Namespace, errs[i])
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		for i, s := range c.servers {
			if changed[i] { // the tools are still those before the change
				s.changed.Store(true)
			}
		}
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools = slices.Concat(lists...)
	return nil
}

// Changed reports whether a server has sent notifications/tools/list_changed since its tools were
// listed. Call [Client.Refresh] then, and the next run gets the new tools.
func (c *Client) Changed() bool {
	return slices.ContainsFunc(c.servers, func(s *server) bool { return s.changed.Load() })
}

// Tools returns the tools of all servers, in the order of the servers and of their lists.
func (c *Client) Tools() []loop.Tool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.tools)
}

// Middleware returns middleware that adds the tools to a run. A run has the tools of its start.
func (c *Client) Middleware() loop.Middleware {
	return loop.Middleware{Name: "mcp", New: func(loop.RunInfo) loop.Hooks { return loop.Hooks{Tools: c.Tools()} }}
}

// ProtocolVersion returns the version that was negotiated with the server of a namespace, or an empty
// text if there is no connection.
func (c *Client) ProtocolVersion(namespace string) string {
	for _, s := range c.servers {
		if s.Namespace != namespace {
			continue
		}
		s.lock <- struct{}{}
		defer func() { <-s.lock }()
		if s.session != nil {
			return s.session.InitializeResult().ProtocolVersion
		}
	}
	return ""
}

// Close ends the calls that run, closes all connections and ends the programs. Later calls return an
// error.
func (c *Client) Close() {
	var all sync.WaitGroup
	for _, s := range c.servers {
		all.Go(s.close)
	}
	all.Wait()
}
