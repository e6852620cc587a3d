package uistream_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/uistream"
	"github.com/looptape/looptape/trace"
)

func TestWrite(t *testing.T) {
	w := httptest.NewRecorder()
	if err := uistream.Write(w, uistream.Parts(run(natural, nil), uistream.Options{})); err != nil {
		t.Fatal(err)
	}
	want := "data: " + start + "\n\ndata: " + finish + "\n\ndata: [DONE]\n\n"
	if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != http.StatusOK || !w.Flushed {
		t.Errorf("status %d, flushed %v, body (-want +got):\n%s", w.Code, w.Flushed, diff)
	}
	for key, want := range map[string]string{
		"content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no", "x-vercel-ai-ui-message-stream": "v1",
	} {
		if got := w.Header().Get(key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}

// DA-55: each part arrives as soon as it is sent. A reader that disconnects ends the run.
func TestWriteFlushesEachPart(t *testing.T) {
	left := make(chan error, 1)
	var ends trace.RunEnd
	clock := fake.NewClock()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		slow := loop.Tool{Name: "slow", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			<-ctx.Done()
			return loop.Output{}, ctx.Err()
		}}
		sink := trace.SinkFunc(func(ev trace.Event) error {
			if end, ok := ev.Body.(trace.RunEnd); ok {
				ends = end
			}
			return nil
		})
		agent, err := loop.New(fake.NewModel(fake.Response{Calls: []fake.Call{{ID: "c1", Name: "slow", Arguments: "{}"}}}), &loop.Config{Tools: []loop.Tool{slow}, Clock: clock, Sink: sink})
		if err != nil {
			left <- err
			return
		}
		_ = uistream.Write(w, uistream.Parts(agent.Start(r.Context(), loop.Prompt("go")).Events(), uistream.Options{})) // its error may come too late
		left <- nil
	}))
	defer h.Close()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := h.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), "tool-input-available") {
			break // the tool waits, and the part has arrived
		}
	}
	cancel()
	if err := <-left; err != nil {
		t.Fatal(err)
	}
	if ends.StopReason != trace.ReasonCancel {
		t.Errorf("the run ended with %q", ends.StopReason)
	}
}

// broken is a connection that fails at a write or at a flush.
type broken struct {
	http.ResponseWriter
	write, flush error
}

func (b *broken) Write(p []byte) (int, error) { return len(p), b.write }

func (b *broken) FlushError() error { return b.flush }

func TestWriteFails(t *testing.T) {
	gone := errors.New("gone")
	for want, w := range map[string]*broken{
		"uistream: sending a part: gone":  {write: gone},
		"uistream: flushing a part: gone": {flush: gone},
	} {
		w.ResponseWriter = httptest.NewRecorder()
		told := 0
		parts := func(yield func(uistream.Part) bool) {
			for told++; yield(uistream.Part{Type: "start"}); told++ {
			}
		}
		if err := uistream.Write(w, parts); err == nil || err.Error() != want || !errors.Is(err, gone) || told != 1 {
			t.Errorf("got %v after %d parts, want %s", err, told, want)
		}
	}
	none := func(yield func(uistream.Part) bool) { yield(uistream.Part{Type: "start", Metadata: []byte("{")}) }
	if err := uistream.Write(httptest.NewRecorder(), none); err == nil || !strings.HasPrefix(err.Error(), "uistream: a part of the type start: ") {
		t.Errorf("an invalid part: got %v", err)
	}
}
