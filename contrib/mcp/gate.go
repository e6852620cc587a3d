package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxRequests limits the requests of a server that wait for a response, such as pings.
const maxRequests = 100

// gate looks at the messages of one connection. It discards what this client does not use, so that
// a server cannot fill its memory, and keeps the results of tools as they came. It is safe for use by
// many goroutines.
type gate struct {
	limit   int // bytes of a message
	changed func()

	mu       sync.Mutex
	results  map[jsonrpc.ID]*result // of requests that were neither answered nor canceled
	settled  chan struct{}          // closed when results is empty; nil means that nothing waits
	requests int                    // of the server, without a response
	broken   error                  // why the connection cannot be used any longer
}

// result is the raw result of a request. It exists because the SDK decodes numbers as float64, and
// rejects content that it does not know.
type result struct {
	id  jsonrpc.ID
	raw json.RawMessage // nil without a result
	sdk json.RawMessage // what the SDK gets instead; nil means the same
}

type resultKey struct{}

// capture returns a context for one request whose result is stored in r. After the request the
// caller must call release, unless ctx has ended: the SDK then sends a notification.
func capture(ctx context.Context, r *result) context.Context {
	return context.WithValue(ctx, resultKey{}, r)
}

func (g *gate) release(r *result) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done(r.id)
}

// done removes a request. The caller has the lock.
func (g *gate) done(id jsonrpc.ID) {
	delete(g.results, id)
	if len(g.results) == 0 && g.settled != nil {
		close(g.settled)
		g.settled = nil
	}
}

// settle waits until each request was answered or canceled, or until ctx ends.
func (g *gate) settle(ctx context.Context) {
	g.mu.Lock()
	var settled chan struct{}
	if len(g.results) > 0 {
		if g.settled == nil {
			g.settled = make(chan struct{})
		}
		settled = g.settled
	}
	g.mu.Unlock()
	if settled != nil {
		select {
		case <-settled:
		case <-ctx.Done():
		}
	}
}

// sent takes a message that is about to be sent with ctx.
func (g *gate) sent(ctx context.Context, msg jsonrpc.Message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch msg := msg.(type) {
	case *jsonrpc.Response:
		g.requests--
	case *jsonrpc.Request:
		if r, ok := ctx.Value(resultKey{}).(*result); ok && msg.IsCall() {
			if g.results == nil {
				g.results = map[jsonrpc.ID]*result{}
			}
			r.id = msg.ID
			g.results[msg.ID] = r
		} else if msg.Method == "notifications/cancelled" {
			var params struct {
				ID any `json:"requestId"`
			}
			if json.Unmarshal(msg.Params, &params) == nil {
				if id, err := jsonrpc.MakeID(params.ID); err == nil {
					g.done(id)
				}
			}
		}
	}
}

// received takes a message and returns it for the SDK; nil means that it is not for the SDK.
func (g *gate) received(msg jsonrpc.Message) (jsonrpc.Message, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch msg := msg.(type) {
	case *jsonrpc.Response:
		r := g.results[msg.ID]
		if r == nil || msg.Error != nil {
			return msg, nil
		}
		g.done(msg.ID)
		if r.raw = msg.Result; r.raw == nil {
			return &jsonrpc.Response{ID: msg.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the response has no result"}}, nil
		}
		if r.sdk != nil {
			return &jsonrpc.Response{ID: msg.ID, Result: r.sdk}, nil
		}
	case *jsonrpc.Request:
		if !msg.IsCall() { // progress, log messages and more; see ToolsChanged
			if msg.Method == "notifications/tools/list_changed" {
				g.changed()
			}
			return nil, nil
		}
		if g.requests++; g.requests > maxRequests {
			return nil, fmt.Errorf("the server sent more than %d requests without waiting for responses", maxRequests)
		}
	}
	return msg, nil
}

// fail marks the connection as one that must not be used again.
func (g *gate) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broken == nil {
		g.broken = err
	}
}

func (g *gate) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broken
}

// decode reads a JSON-RPC message. Unlike the SDK it rejects data after the message.
func decode(data []byte) (jsonrpc.Message, error) {
	if !json.Valid(data) {
		return nil, errors.New("the message is not JSON")
	}
	return jsonrpc.DecodeMessage(data)
}

// gated is a connection with a gate. It is not for the SDK's streamable HTTP connection, which has
// more methods; see roundTripper.
type gated struct {
	sdk.Connection
	gate *gate
}

func (c *gated) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := c.Connection.Read(ctx)
		if err == nil {
			msg, err = c.gate.received(msg)
		}
		if err != nil {
			c.gate.fail(err)
		}
		if msg != nil || err != nil {
			return msg, err
		}
	}
}

func (c *gated) Write(ctx context.Context, msg jsonrpc.Message) error {
	c.gate.sent(ctx, msg)
	err := c.Connection.Write(ctx, msg)
	if err != nil && !errors.Is(err, context.Cause(ctx)) { // otherwise nothing was written
		c.gate.fail(err)
	}
	return err
}

// gatedTransport is a transport whose connection has a gate.
type gatedTransport struct {
	transport sdk.Transport
	gate      *gate
	conn      sdk.Connection // after Connect
}

func (t *gatedTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := t.transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	t.conn = &gated{conn, t.gate}
	return t.conn, nil
}
