package cassettes

import (
	"context"
	"errors"
	"github.com/looptape/looptape/cassettes/recording"
	"io"
	"sync"
	"time"
)

// tee copies a body to the recording while the client reads it.
type tee struct {
	rec  *inFlight
	body io.ReadCloser
	ctx  context.Context //nolint:containedctx // that of the request

	reading sync.Mutex // locked while the body is read
}

func (t *tee) Read(p []byte) (int, error) {
	t.reading.Lock()
	defer t.reading.Unlock()
	n, err := t.body.Read(p)
	t.rec.take(p[:n])
	switch {
	case err == nil && !t.rec.complete():
	case err == nil, errors.Is(err, io.EOF):
		if failed := t.rec.end("", nil); failed != nil {
			err = failed
		}
	case t.ctx.Err() != nil:
		err = and(err, t.rec.end(recording.Canceled, nil))
	default:
		err = and(err, t.rec.end(recording.Truncated, err))
	}
	return n, err
}

// Close also records the rest of the body if it arrives immediately. Many clients stop
// reading at the last brace or event.
func (t *tee) Close() error {
	if rest, ok := t.rest(); ok {
		t.rec.take(rest)
		_ = t.rec.end("", nil) // returned below
	}
	return and(t.body.Close(), t.rec.end(recording.Canceled, nil))
}

// Limits for reading the rest of a body that is closed early.
const (
	restTime = 100 * time.Millisecond
	maxRest  = 256 << 10
)

// rest returns the rest of a body. It returns false if the end does not arrive in time.
func (t *tee) rest() (rest []byte, ok bool) {
	if t.rec.over() || !t.reading.TryLock() {
		return nil, false
	}
	came := make(chan []byte, 1)
	go func() {
		defer t.reading.Unlock()
		defer close(came)
		if rest, err := io.ReadAll(io.LimitReader(t.body, maxRest)); err == nil && len(rest) < maxRest {
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
