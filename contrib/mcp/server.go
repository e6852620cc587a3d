package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptape/looptape/loop"
)

// maxTools limits the tools of a server, and the pages of their list.
const maxTools = 1000

var (
	errClosed   = errors.New("the client is closed")
	errReplaced = errors.New("the connection has ended")
	errTimeout  = errors.New("the server did not answer within Config.ConnectTimeout")
)

// emptyResult is what the SDK gets for the result of a tool. It rejects content of unknown types.
var emptyResult = json.RawMessage(`{"content":[]}`)

// server is a server with its current connection.
type server struct {
	Server
	cfg     *Config
	changed atomic.Bool // the server reported other tools since the last list

	life context.Context // ends with Close
	end  context.CancelCauseFunc

	lock     chan struct{} // holds an element while session is in use
	session  *session      // nil before the first connection
	replaced sync.WaitGroup
}

// session is one connection to a server.
type session struct {
	*sdk.ClientSession
	gate   *gate
	conn   func() sdk.Connection // of the transport; nil if the SDK closes it
	ctx    context.Context       // ends calls
	cancel context.CancelCauseFunc
	calls  sync.WaitGroup
	ended  chan struct{} // closed when the connection is closed
}

// connection returns the connection to the server, with one more call. It makes a connection if there
// is none or if the last one has ended.
func (s *server) connection(ctx context.Context) (*session, error) {
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.lock }()
	if s.session == nil || s.session.dead() {
		if err := s.reconnect(ctx); err != nil {
			return nil, fmt.Errorf("connecting: %w", err)
		}
	}
	s.session.calls.Add(1)
	return s.session, nil
}

// reconnect replaces the connection. The calls of the old one continue if they can.
func (s *server) reconnect(ctx context.Context) (err error) {
	ctx, stop := s.cfg.Clock.WithTimeout(ctx, s.cfg.ConnectTimeout, errTimeout)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(errClosed) })()
	old := s.session
	if s.session = nil; old != nil && old.conn() != nil { // a program ends before it starts again
		old.close(s.cfg)
	} else if old != nil {
		s.replaced.Go(func() {
			old.calls.Wait()
			old.close(s.cfg)
		})
	}
	if s.life.Err() != nil {
		return errClosed
	}
	if s.session, err = s.connect(ctx); err != nil {
		return err
	}
	if old != nil && s.session.InitializeResult().ProtocolVersion >= "2026-07-28" {
		s.session.learnHeaders(ctx)
	}
	return nil
}

// learnHeaders lists the tools of a new connection, because the SDK takes from the list which
// arguments a call repeats in HTTP headers. If it fails, the call fails, too.
func (s *session) learnHeaders(ctx context.Context) {
	pages := sdk.ListToolsParams{}
	for range maxTools {
		page, err := s.ListTools(ctx, &pages)
		if err != nil || page.NextCursor == "" {
			return
		}
		pages.Cursor = page.NextCursor
	}
}

// connect connects to the server.
func (s *server) connect(ctx context.Context) (*session, error) {
	life, cancel := context.WithCancelCause(s.life)
	sess := &session{
		gate: &gate{limit: s.cfg.MaxMessage, changed: func() { s.changed.Store(true) }},
		ctx:  life, cancel: cancel, ended: make(chan struct{}),
	}
	transport, err := s.transport(sess)
	if err != nil {
		cancel(err)
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "looptape", Version: "v0"}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {}, // so that the SDK subscribes; see gate
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
	})
	client.AddSendingMiddleware(withoutCache)
	sess.ClientSession, err = client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: s.ProtocolVersion})
	if err != nil {
		cancel(err)
		if sess.conn() != nil {
			_ = sess.conn().Close()
		}
		return nil, cause(ctx, err)
	}
	go func() {
		_ = sess.Wait() // calls have the error
		close(sess.ended)
	}()
	return sess, nil
}

// transport returns the transport of a session, with the gate.
func (s *server) transport(sess *session) (sdk.Transport, error) {
	var t sdk.Transport
	switch {
	case s.Transport != nil:
		var err error
		t, err = s.Transport()
		if stream, ok := t.(*sdk.StreamableClientTransport); err == nil && (t == nil || ok && stream == nil) {
			err = errors.New("Server.Transport returned nil: return a transport or an error")
		}
		if err != nil {
			return nil, err
		}
	case s.URL != "":
		t = &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: s.HTTPClient}
	default:
		t = &program{server: &s.Server, clock: s.cfg.Clock, grace: s.cfg.Grace, limit: s.cfg.MaxMessage}
	}
	sess.conn = func() sdk.Connection { return nil }
	if stream, ok := t.(*sdk.StreamableClientTransport); ok {
		limited := *stream
		client := *cmp.Or(stream.HTTPClient, http.DefaultClient)
		base := client.Transport
		if base == nil {
			base = http.DefaultTransport
		}
		client.Transport = &roundTripper{base: base, gate: sess.gate, end: sess.ctx.Done(), wait: func(ctx context.Context) error {
			return s.cfg.Clock.Sleep(ctx, s.cfg.Grace)
		}}
		limited.HTTPClient = &client
		return &limited, nil
	}
	gated := &gatedTransport{transport: t, gate: sess.gate}
	sess.conn = func() sdk.Connection { return gated.conn }
	return gated, nil
}

// withoutCache makes the SDK ask the server for each list of tools.
func withoutCache(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*sdk.ListToolsResult); ok && list != nil {
			list.TTLMs = 0
		}
		return res, err
	}
}

// dead reports whether the next call needs another connection.
func (s *session) dead() bool {
	select {
	case <-s.ended:
		return true
	default:
		return s.gate.failure() != nil
	}
}

// close ends the calls and the connection.
func (s *session) close(cfg *Config) {
	s.cancel(errReplaced)
	if conn := s.conn(); conn != nil { // a program that does not read would block the SDK
		_ = conn.Close()
	} else if !s.dead() { // an HTTP server learns of canceled calls
		ctx, cancel := cfg.Clock.WithTimeout(context.Background(), cfg.Grace, nil)
		s.gate.settle(ctx)
		cancel()
	}
	_ = s.Close() // the SDK returns how the server ended
	<-s.ended
}

// close closes the connection, and makes none again.
func (s *server) close() {
	s.end(errClosed)
	s.lock <- struct{}{}
	if s.session != nil {
		s.session.close(s.cfg)
		s.session = nil
	}
	<-s.lock
	s.replaced.Wait()
}

// request sends a request and returns its raw result. It sends it again over a new connection only if
// nothing of it was sent. If instead is not nil, the SDK gets it as the result.
func (s *server) request(ctx context.Context, instead json.RawMessage, send func(context.Context, *sdk.ClientSession) error) (json.RawMessage, error) {
	for last := false; ; last = true {
		sess, err := s.connection(ctx)
		if err != nil {
			return nil, err
		}
		res := &result{sdk: instead}
		err = sess.request(ctx, res, send)
		if err == nil {
			return res.raw, nil
		}
		if !errors.Is(err, sdk.ErrConnectionClosed) {
			return nil, err
		}
		if sess.gate.fail(err); last || res.id.IsValid() {
			return nil, err
		}
	}
}

func (s *session) request(ctx context.Context, res *result, send func(context.Context, *sdk.ClientSession) error) error {
	defer s.calls.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	err := send(capture(ctx, res), s.ClientSession)
	if ctx.Err() == nil {
		s.gate.release(res)
	}
	if err != nil {
		return cause(ctx, cause(s.ctx, err)) // the end of s.ctx reaches ctx later
	}
	return nil
}

// cause returns why ctx ended, if it did, or err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// call calls a tool.
func (s *server) call(ctx context.Context, name string, call loop.Call) (loop.Output, error) {
	raw, err := s.request(ctx, emptyResult, func(ctx context.Context, cs *sdk.ClientSession) error {
		_, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(call.Arguments)})
		return err
	})
	var out loop.Output
	if err == nil {
		out, err = output(raw, s.cfg.MaxResult)
	}
	if err != nil {
		return loop.Output{}, fmt.Errorf("mcp: server %q: tool %q: %w", s.Namespace, name, short(err, s.cfg.MaxResult))
	}
	return out, nil
}

// short returns an error whose text has at most limit bytes, because the model gets it.
func short(err error, limit int) error {
	text := err.Error()
	if len(text) <= limit {
		return err
	}
	return fmt.Errorf("%s… (cut: the error has %d bytes)", strings.ToValidUTF8(text[:limit], ""), len(text))
}

// list returns the tools of the server.
func (s *server) list(ctx context.Context) (tools []loop.Tool, err error) {
	ctx, stop := s.cfg.Clock.WithTimeout(ctx, s.cfg.ConnectTimeout, errTimeout)
	defer stop()
	s.changed.Store(false)
	seen := map[string]string{} // names in the list by those for the model
	cursor, size := "", 0
	for range maxTools {
		valid := map[string]bool{} // for the SDK
		raw, err := s.request(ctx, nil, func(ctx context.Context, cs *sdk.ClientSession) error {
			page, err := cs.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
			if err != nil {
				return err
			}
			for _, t := range page.Tools {
				valid[t.Name] = true
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		var page struct {
			Tools []tool `json:"tools"`
			Next  string `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("tools/list: the result is invalid: %w", err)
		}
		if size += len(raw); size > s.cfg.MaxMessage {
			return nil, fmt.Errorf("tools/list: the pages have more than %d bytes (Config.MaxMessage)", s.cfg.MaxMessage)
		}
		if page.Next != "" && page.Next == cursor {
			return nil, fmt.Errorf("tools/list: the next page of %q is the same page", cursor)
		}
		for _, t := range page.Tools {
			if s.Select != nil && !s.Select(t.Name) {
				continue
			}
			switch other, ok := seen[ToolName(s.Namespace, t.Name)]; {
			case other == t.Name && ok:
				return nil, fmt.Errorf("tools/list: two tools have the name %q: exclude it with Server.Select", t.Name)
			case ok:
				return nil, fmt.Errorf("tools/list: the tools %q and %q have the same name for the model: exclude one with Server.Select", other, t.Name)
			}
			seen[ToolName(s.Namespace, t.Name)] = t.Name
			if !valid[t.Name] {
				return nil, fmt.Errorf("tools/list: the tool %q has an invalid x-mcp-header: exclude it with Server.Select", t.Name)
			}
			converted, err := s.tool(t)
			if err != nil {
				return nil, err
			}
			if tools = append(tools, converted); len(tools) > maxTools {
				return nil, fmt.Errorf("tools/list: more than %d tools: choose some with Server.Select", maxTools)
			}
		}
		if cursor = page.Next; cursor == "" {
			return tools, nil
		}
	}
	return nil, fmt.Errorf("tools/list: more than %d pages", maxTools)
}

// tool is a tool of a tools/list result.
type tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"inputSchema"`
}

func (s *server) tool(t tool) (loop.Tool, error) {
	if t.Name == "" {
		return loop.Tool{}, errors.New("tools/list: a tool has no name: exclude it with Server.Select")
	}
	converted, err := loop.RawTool(ToolName(s.Namespace, t.Name), cmp.Or(t.Description, t.Title), t.Schema, func(ctx context.Context, call loop.Call) (loop.Output, error) {
		return s.call(ctx, t.Name, call)
	})
	if err != nil {
		return loop.Tool{}, fmt.Errorf("tools/list: the tool %q: %w: exclude it with Server.Select", t.Name, err)
	}
	return converted, nil
}
