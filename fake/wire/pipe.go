package wire

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
)

// Pipe serves a [Server] in process, without a port. It is safe for use by many
// goroutines.
type Pipe struct {
	server *http.Server
	client *http.Client
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	served sync.WaitGroup
}

// Pipe serves s in process. The caller must call Close.
func (s *Server) Pipe() *Pipe {
	p := &Pipe{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.server = &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)} //nolint:gosec // only this process can connect
	p.client = &http.Client{Transport: &http.Transport{
		DialContext: p.dial, DisableCompression: true, MaxIdleConnsPerHost: 64,
	}}
	p.served.Go(func() { _ = p.server.Serve(listener{p}) }) // always ErrServerClosed
	return p
}

// URL returns the address of the server for [Provider.BaseURL].
func (p *Pipe) URL() string { return "http://fake.invalid" }

// Client returns a client that connects to the server only, whatever the address.
func (p *Pipe) Client() *http.Client { return p.client }

// Close ends all connections and waits until the server has stopped.
func (p *Pipe) Close() {
	p.client.CloseIdleConnections()
	_ = p.server.Close() // a listener's error, and ours has none
	p.served.Wait()
}

func (p *Pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// listener accepts what a Pipe dials.
type listener struct{ p *Pipe }

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.p.conns:
		return c, nil
	case <-l.p.closed:
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error {
	l.p.once.Do(func() { close(l.p.closed) })
	return nil
}

func (l listener) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "pipe" }
func (address) String() string  { return "fake.invalid" }
