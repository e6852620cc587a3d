package serve

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looptape/looptape/loop"
)

// A client that does not read its response takes no connection for longer than readDelay. Responses that
// are read slowly end as usual.
func TestSlowReaders(t *testing.T) {
	const size = 1 << 18
	for name, c := range map[string]struct {
		step  int           // of what the handler writes
		pause time.Duration // between the writes
		read  int           // bytes at a time; 0 for none
		every time.Duration
		fails bool
	}{
		"nothing is read":                        {step: size, fails: true},
		"nothing of a stream is read":            {step: 1024, pause: time.Second, fails: true},
		"the beginning is read":                  {step: size, read: size / 2, every: time.Hour, fails: true},
		"a response in one write is read slowly": {step: size, read: 1024, every: 50 * time.Second},
		"a stream is read slowly":                {step: 1024, pause: time.Second, read: 1024, every: 50 * time.Second},
		"a stream with long pauses":              {step: size / 4, pause: time.Hour, read: size},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, conn := net.Pipe()
				failed := make(chan bool, 1)
				s := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					var err error
					for left := size; left > 0 && err == nil; left -= c.step {
						if _, err = w.Write(bytes.Repeat([]byte("x"), c.step)); err == nil {
							_ = http.NewResponseController(w).Flush() // writing reports the error
							_ = (loop.SystemClock{}).Sleep(r.Context(), c.pause)
						}
					}
					failed <- err != nil
				}), log.New(io.Discard, "", 0))
				go func() { _ = s.Serve(limitedListener{&oneConnection{conn: conn, closed: make(chan struct{})}}) }() // until it is closed
				if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					for buf := make([]byte, c.read); c.read > 0; {
						if _, err := io.ReadFull(client, buf); err != nil {
							return
						}
						_ = (loop.SystemClock{}).Sleep(context.Background(), c.every) // it has no end
					}
				}()
				ctx, cancel := loop.SystemClock{}.WithTimeout(t.Context(), 48*time.Hour, nil)
				defer cancel()
				select {
				case got := <-failed:
					if got != c.fails {
						t.Errorf("writing fails: %t, want %t", got, c.fails)
					}
				case <-ctx.Done():
					t.Error("the connection is held")
				}
				_, _ = client.Close(), s.Close()
				<-done
			})
		})
	}
}
