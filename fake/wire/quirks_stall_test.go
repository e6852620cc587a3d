package wire_test

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
)

// patience is the deadline of runs whose answers stall: two pings and a half.
const patience = 40 * time.Second

// bubbled plays a scenario whose answers need not end, in a bubble of its own time.
// It returns once the server has ended them: in a bubble nobody is left behind.
func bubbled(t *testing.T, name, protocol string, delivery llm.Delivery, quirks ...wire.Quirk) (o *played) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { o = overIn(t, true, name, protocol, delivery, quirks...) })
	return o
}

// follower notes what is read of a body.
type follower struct {
	io.ReadCloser
	x *exchanged
}

func (f *follower) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	f.x.answer = append(f.x.answer, p[:n]...)
	return n, err
}
