package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/llm"
)

// TestQuirkSplits checks that each split of a response's bytes decodes to the same
// response and warnings (INV-10), whatever quirk it has.
func TestQuirkSplits(t *testing.T) {
	t.Parallel()
	for _, s := range showing() {
		t.Run(strings.ReplaceAll(s.quirk, ":", "-"), func(t *testing.T) {
			t.Parallel()
			s.split(t)
		})
	}
}

// bodies checks the responses that tests have split, so that each is split once.
var bodies sync.Map

// split splits the responses that have the quirk.
func (s shown) split(t *testing.T) {
	t.Helper()
	q := parseQuirks(t, s.quirk)[0]
	form := s.form(q)
	for _, protocol := range form.Protocols {
		for _, mode := range modes {
			if !form.Streaming || mode == "streaming" {
				playedOnce(t, s, protocol, mode, q).split(t, protocol, mode)
			}
		}
	}
}

// split splits the responses of a run.
func (o *played) split(t *testing.T, protocol, mode string) {
	t.Helper()
	for i, x := range o.exchanges {
		if x.response == nil {
			continue
		}
		if _, done := bodies.LoadOrStore(string(x.answer), true); !done {
			x.split(t, protocol, mode, i)
		}
	}
}

// split checks that the i-th response, from 0, is the same in splits.
func (x exchanged) split(t *testing.T, protocol, mode string, i int) {
	t.Helper()
	title := fmt.Sprintf("%s %s, answer %d", protocol, mode, i+1)
	want := reads(protocol, mode, x, x.reader())
	if diff := cmp.Diff(want, reads(protocol, mode, x, iotest.OneByteReader(x.reader()))); diff != "" {
		t.Errorf("%s, one byte at a time (-whole +split):\n%s", title, diff)
	}
	if strings.HasPrefix(x.response.Header.Get("Content-Type"), "text/event-stream") {
		x.cuts(t, title)
	}
}

// reader returns the body as it came.
func (x exchanged) reader() io.Reader { return &broken{bytes.NewReader(x.body), x.err} }

// outcome is what a client makes of a response.
type outcome struct {
	Turn  *llm.Response
	Error string
}

// reads returns what a client makes of the response of x when it comes from a reader.
func reads(protocol, mode string, x exchanged, from io.Reader) outcome {
	again := *x.response
	again.Body = io.NopCloser(from)
	client := clientsOf(pipeURL, "", &http.Client{Transport: answering{&again}})[protocol]
	turn, err := ask(client, request(responseModes[mode], llm.User("hi")))
	out := outcome{Turn: turn}
	if err != nil {
		out.Error = err.Error()
	}
	return out
}

// answering responses each request equal.
type answering struct{ response *http.Response }

func (a answering) RoundTrip(*http.Request) (*http.Response, error) { return a.response, nil }

// cutBytes limits how much of a response all its cuts read: a longer one has fewer.
func cutBytes() int {
	if everything() {
		return 1 << 28
	}
	return 1 << 19
}

// cuts checks that the events are the same at each single cut. What the events are
// decoded to is a function of them alone.
func (x exchanged) cuts(t *testing.T, title string) {
	t.Helper()
	var want []sse.Event
	wantStray, wantErr := eachEvent(x.reader(), func(ev sse.Event) {
		ev.Data = bytes.Clone(ev.Data)
		want = append(want, ev)
	})
	step := 1 + len(x.body)*len(x.body)/cutBytes()
	for cut := 1 + len(x.body)%step; cut < len(x.body); cut += step {
		n, same := 0, true
		from := io.MultiReader(bytes.NewReader(x.body[:cut]), &broken{bytes.NewReader(x.body[cut:]), x.err})
		stray, err := eachEvent(from, func(ev sse.Event) {
			same = same && n < len(want) && ev.Name == want[n].Name && ev.ID == want[n].ID && bytes.Equal(ev.Data, want[n].Data)
			n++
		})
		if !same || n != len(want) || !errors.Is(err, wantErr) || stray != wantStray {
			t.Fatalf("%s, cut at byte %d, after %q: %d events, unmatched %q, %v; without the cut %d, %q, %v", title, cut, x.body[max(0, cut-20):cut], n, stray, err, len(want), wantStray, wantErr)
		}
	}
}

// eachEvent reads a stream to its end.
func eachEvent(from io.Reader, f func(sse.Event)) (stray string, end error) {
	r := sse.NewReader(from, 8<<20)
	for {
		ev, err := r.Next()
		if err != nil {
			return string(r.OtherLines()), err
		}
		f(ev)
	}
}
