package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/llm"
)

// Any split of an answer's bytes gives the same turn and warnings (INV-10), whatever
// quirk is in them.
func TestQuirkSplits(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range showing() {
		t.Run(strings.ReplaceAll(s.quirk, ":", "-"), func(t *testing.T) { s.split(t, seen) })
	}
}

// split splits the answers that have the quirk in them. Seen are the bodies that were
// split before.
func (s shown) split(t *testing.T, seen map[string]bool) {
	q, err := wire.ParseQuirk(s.quirk)
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range s.form(q).Protocols {
		for _, word := range []string{"streamed", "buffered"} {
			o := s.over(t, protocol, word, q)
			for i, x := range o.exchanges {
				if x.response == nil || seen[string(x.answer)] {
					continue
				}
				seen[string(x.answer)] = true
				x.split(t, protocol, word, i)
			}
		}
	}
}

// split holds that the i-th answer, from 0, is the same in splits.
func (x exchanged) split(t *testing.T, protocol, word string, i int) {
	t.Helper()
	title := fmt.Sprintf("%s %s, answer %d", protocol, word, i+1)
	want := reads(protocol, word, x, x.reader())
	if diff := cmp.Diff(want, reads(protocol, word, x, iotest.OneByteReader(x.reader()))); diff != "" {
		t.Errorf("%s, one byte at a time (-whole +split):\n%s", title, diff)
	}
	if strings.HasPrefix(x.response.Header.Get("Content-Type"), "text/event-stream") {
		x.cuts(t, title)
	}
}

// reader returns the body as it came.
func (x exchanged) reader() io.Reader { return &broken{bytes.NewReader(x.body), x.err} }

// outcome is what a client makes of an answer.
type outcome struct {
	Turn  *llm.Response
	Error string
}

// reads returns what a client makes of the answer of x when it comes from a reader.
func reads(protocol, word string, x exchanged, from io.Reader) outcome {
	again := *x.response
	again.Body = io.NopCloser(from)
	client := clientsOf(wire.PipeURL, "", &http.Client{Transport: answering{&again}})[protocol]
	turn, err := ask(client, request(deliveries[word], llm.User("hi")))
	out := outcome{Turn: turn}
	if err != nil {
		out.Error = err.Error()
	}
	return out
}

// answering answers each request alike.
type answering struct{ response *http.Response }

func (a answering) RoundTrip(*http.Request) (*http.Response, error) { return a.response, nil }

// manyBytes is how much is read of an answer in all its cuts: of one of up to 16 KiB
// each cut is tried, and fewer of longer ones.
const manyBytes = 1 << 28

// cuts holds that the events are the same at each single cut. What the events are
// decoded to is a function of them alone.
func (x exchanged) cuts(t *testing.T, title string) {
	t.Helper()
	var want []sse.Event
	wantStray, wantErr := eachEvent(x.reader(), func(ev sse.Event) {
		ev.Data = bytes.Clone(ev.Data)
		want = append(want, ev)
	})
	for cut := 1; cut < len(x.body); cut += 1 + len(x.body)*len(x.body)/manyBytes {
		n, same := 0, true
		from := io.MultiReader(bytes.NewReader(x.body[:cut]), &broken{bytes.NewReader(x.body[cut:]), x.err})
		stray, err := eachEvent(from, func(ev sse.Event) {
			same = same && n < len(want) && ev.Name == want[n].Name && ev.ID == want[n].ID && bytes.Equal(ev.Data, want[n].Data)
			n++
		})
		if !same || n != len(want) || !errors.Is(err, wantErr) || stray != wantStray {
			t.Fatalf("%s, cut at byte %d, after %q: %d events, stray %q, %v; without the cut %d, %q, %v", title, cut, x.body[max(0, cut-20):cut], n, stray, err, len(want), wantStray, wantErr)
		}
	}
}

// eachEvent reads a stream to its end.
func eachEvent(from io.Reader, f func(sse.Event)) (stray string, end error) {
	r := sse.NewReader(from, 8<<20)
	for {
		ev, err := r.Next()
		if err != nil {
			return string(r.Stray()), err
		}
		f(ev)
	}
}
