package serve

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/looptape/looptape/loop"
)

// Limits of a request body: it arrives at minBodyRate bytes per second, except for bodyDelay in which it
// may pause. The time until the response is not limited.
const (
	bodyDelay   = time.Minute
	minBodyRate = 1024
)

// withBodyLimit returns a handler whose requests fail if their body arrives too slowly. Otherwise a
// client could hold a connection for ever with a byte per minute.
func withBodyLimit(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == http.NoBody {
			h.ServeHTTP(w, r)
			return
		}
		in := *r
		body := &limitedBody{r.Body, http.NewResponseController(w), bodyDelay}
		body.limit(loop.SystemClock{}.Now()) // net/http reads what the handler leaves
		in.Body = body
		h.ServeHTTP(w, &in)
	})
}

// limitedBody is a request body with a read deadline, which each byte extends.
type limitedBody struct {
	io.ReadCloser
	connection *http.ResponseController
	left       time.Duration // in which the next byte has to arrive
}

func (b *limitedBody) limit(now time.Time) {
	_ = b.connection.SetReadDeadline(now.Add(b.left)) // connections of net/http have one
}

func (b *limitedBody) Read(p []byte) (int, error) {
	start := loop.SystemClock{}.Now()
	b.limit(start)
	n, err := b.ReadCloser.Read(p)
	took := loop.SystemClock{}.Now().Sub(start)
	b.left = min(bodyDelay, b.left-took+time.Duration(n)*time.Second/minBodyRate)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("the body of the request arrives too slowly, below %d bytes per second: %w", minBodyRate, err)
	case err != nil: // net/http now waits for the client to leave
		_ = b.connection.SetReadDeadline(time.Time{})
	}
	return n, err
}
