package serve

import (
	"bufio"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looptape/looptape/loop"
)

// A body that arrives too slowly takes no connection for longer than bodyDelay, also if the handler does
// not read it. Long uploads and slow responses end as usual.
func TestSlowBodies(t *testing.T) {
	for name, c := range map[string]struct {
		size, step int
		every      time.Duration
		unread     bool
		slow       time.Duration // until the response
		fails      bool
		most       time.Duration
	}{
		"a byte per minute":              {size: 100, step: 1, every: time.Minute - time.Second, fails: true, most: 2 * time.Minute},
		"a byte per second":              {size: 10_000, step: 1, every: time.Second, fails: true, most: 2 * time.Minute},
		"a byte per minute, not read":    {size: 100, step: 1, every: time.Minute - time.Second, unread: true, fails: true, most: 2 * time.Minute},
		"fast, then a byte per minute":   {size: 1 << 20, step: 1<<20 - 10, every: time.Minute - time.Second, fails: true, most: 4 * time.Minute},
		"a long upload":                  {size: 1 << 20, step: 2048, every: time.Second, most: time.Hour},
		"a pause":                        {size: 3, step: 2, every: 50 * time.Second, most: time.Hour},
		"a slow response":                {size: 3, step: 3, slow: time.Hour, most: 2 * time.Hour},
		"a long upload, a slow response": {size: 1 << 20, step: 2048, every: time.Second, slow: time.Hour, most: 2 * time.Hour},
		"no body":                        {slow: time.Hour, most: 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, conn := net.Pipe()
				s := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !c.unread {
						if n, err := io.Copy(io.Discard, r.Body); err != nil || int(n) != c.size {
							w.WriteHeader(http.StatusBadRequest)
							return
						}
					}
					if (loop.SystemClock{}).Sleep(r.Context(), c.slow) != nil {
						w.WriteHeader(http.StatusTeapot)
					}
				}), log.New(io.Discard, "", 0))
				go func() { _ = s.Serve(&oneConnection{conn: conn, closed: make(chan struct{})}) }() // until it is closed
				start := loop.SystemClock{}.Now()
				sent := make(chan struct{})
				go func() {
					sendSlowly(client, c.size, c.step, c.every)
					close(sent)
				}()
				resp, err := http.ReadResponse(bufio.NewReader(client), nil) //nolint:bodyclose // the connection is closed
				if c.unread {                                                // it is answered before the body ends
					_, err = io.Copy(io.Discard, client)
				}
				if took := (loop.SystemClock{}).Now().Sub(start); took > c.most {
					t.Errorf("it takes %s, want at most %s", took, c.most)
				}
				if failed := err != nil || resp.StatusCode != http.StatusOK; failed != c.fails && !c.unread {
					t.Errorf("%v, %v, want a failure: %t", resp, err, c.fails)
				}
				_, _ = client.Close(), s.Close()
				<-sent
			})
		})
	}
}

// sendSlowly sends a request with a body of this size, some bytes at a time.
func sendSlowly(client net.Conn, size, step int, every time.Duration) {
	_, err := io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: "+strconv.Itoa(size)+"\r\n\r\n")
	for sent := 0; sent < size && err == nil; {
		n := min(step, size-sent)
		if sent > 0 && step > size/2 {
			n = 1
		}
		_, err = io.WriteString(client, strings.Repeat("x", n))
		sent += n
		_ = (loop.SystemClock{}).Sleep(context.Background(), every) // it has no end
	}
}

// oneConnection is a listener with one connection.
type oneConnection struct {
	conn   net.Conn
	closed chan struct{}
}

func (l *oneConnection) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConnection) Close() error {
	close(l.closed)
	return nil
}

func (*oneConnection) Addr() net.Addr { return &net.TCPAddr{} }
