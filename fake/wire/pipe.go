package wire

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
)

// pipe serves a Server in process, without a port. It is a [net.Listener] that accepts what dial
// connects.
type pipe struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Pipe serves s in process, without a port. The client connects to s only, whatever the
// URL. It is safe for use by many goroutines. The function stop ends all connections and
// waits until the server has stopped. The caller must call it.
func (s *Server) Pipe() (client *http.Client, stop func()) {
	p := &pipe{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)} //nolint:gosec // only this process can connect
	client = &http.Client{Transport: &http.Transport{
		DialContext: p.dial, DisableCompression: true, MaxIdleConnsPerHost: 64,
	}}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(p) }) // always ErrServerClosed
	return client, func() {
		client.CloseIdleConnections()
		_ = server.Close() // a listener's error, and ours has none
		served.Wait()
	}
}

func (p *pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
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

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipe) Addr() net.Addr { return &net.UnixAddr{Name: "fake.invalid", Net: "pipe"} }
