package serve

import (
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looptape/looptape/loop"
)

// A connection whose client does not end its headers, or sends no further request, is closed.
func TestSlowHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		sent  string
		every time.Duration
		most  time.Duration
	}{
		"headers without an end": {"GET / HTTP/1.1\r\nHost: x\r\nX-Long: ", time.Second, headerTimeout + time.Second},
		"no headers":             {"", 0, headerTimeout + time.Second},
		"no further request":     {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 0, idleTimeout + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, conn := net.Pipe()
				s := newServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), log.New(io.Discard, "", 0))
				go func() { _ = s.Serve(newListener(&oneConnection{conn: conn, closed: make(chan struct{})})) }() // until it is closed
				start := loop.SystemClock{}.Now()
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					_, err := io.WriteString(client, c.sent)
					for err == nil && c.every > 0 {
						_ = (loop.SystemClock{}).Sleep(t.Context(), c.every) // it has no end
						_, err = io.WriteString(client, "x")
					}
				}()
				_, _ = io.Copy(io.Discard, client) // until the server closes it
				if took := (loop.SystemClock{}).Now().Sub(start); took > c.most {
					t.Errorf("it takes %s, want at most %s", took, c.most)
				}
				_, _ = client.Close(), s.Close()
				<-sent
			})
		})
	}
}

// A server has at most maxConnections connections. A further one waits until another ends.
func TestConnectionLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &endless{closed: make(chan struct{}), clients: make(chan net.Conn, maxConnections+10)}
		s := newServer(http.NotFoundHandler(), log.New(io.Discard, "", 0))
		ended := make(chan struct{})
		go func() {
			_ = s.Serve(newListener(l)) // until it is closed
			close(ended)
		}()
		synctest.Wait()
		if got := l.accepted.Load(); got != maxConnections {
			t.Errorf("%d connections, want %d", got, maxConnections)
		}
		_ = (<-l.clients).Close()
		synctest.Wait()
		if got := l.accepted.Load(); got != maxConnections+1 {
			t.Errorf("%d connections after one has ended, want %d", got, maxConnections+1)
		}
		_ = s.Close()
		<-ended
	})
}

// endless is a listener that always has a further connection.
type endless struct {
	accepted atomic.Int64
	closed   chan struct{}
	clients  chan net.Conn
}

func (l *endless) Accept() (net.Conn, error) {
	client, conn := net.Pipe()
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	case l.clients <- client:
		l.accepted.Add(1)
		return conn, nil
	}
}

func (l *endless) Close() error {
	close(l.closed)
	return nil
}

func (*endless) Addr() net.Addr { return &net.TCPAddr{} }
