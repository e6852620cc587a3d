package cassettes

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// tee passes a body on and keeps it.
type tee struct {
	rec  *inFlight
	body io.ReadCloser
	ctx  context.Context //nolint:containedctx // that of the request

	reading sync.Mutex // held while the body is read
}

func (t *tee) Read(p []byte) (int, error) {
	t.reading.Lock()
	defer t.reading.Unlock()
	n, err := t.body.Read(p)
	t.rec.take(p[:n])
	switch {
	case err == nil && !t.rec.whole():
	case err == nil, errors.Is(err, io.EOF):
		if failed := t.rec.end("", nil); failed != nil {
			err = failed
		}
	case t.ctx.Err() != nil:
		err = and(err, t.rec.end(Canceled, nil))
	default:
		err = and(err, t.rec.end(Truncated, err))
	}
	return n, err
}

// Close takes what is left of the body, too, if it comes at once: who reads JSON up to its
// last brace, or events up to the last one, does not read the end.
func (t *tee) Close() error {
	if rest, ok := t.rest(); ok {
		t.rec.take(rest)
		_ = t.rec.end("", nil) // told below
	}
	return and(t.body.Close(), t.rec.end(Canceled, nil))
}

// What is waited for, and how much of it, when a body is closed before its end.
const (
	restTime = 100 * time.Millisecond
	mostRest = 256 << 10
)

// rest is what is left of a body that its client closes; it is not ok if that does not
// come to its end at once.
func (t *tee) rest() (rest []byte, ok bool) {
	if t.rec.over() || !t.reading.TryLock() {
		return nil, false
	}
	came := make(chan []byte, 1)
	go func() {
		defer t.reading.Unlock()
		defer close(came)
		if rest, err := io.ReadAll(io.LimitReader(t.body, mostRest)); err == nil && len(rest) < mostRest {
			came <- rest
		}
	}()
	timer := time.NewTimer(restTime) //nolint:forbidigo // what it bounds is the network's
	defer timer.Stop()
	select {
	case rest, ok = <-came:
	case <-timer.C:
	case <-t.ctx.Done():
	}
	return rest, ok
}
