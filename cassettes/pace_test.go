package cassettes_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
)

// paced writes a cassette with one response: one second to the header, two to the first event,
// three to the next.
func paced(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "p.tape")
	const first, second = "data: 1\n\n", "data: 2\n\n"
	x := &recording.Interaction{
		Request: recording.Request{Method: "GET", URL: "http://example.com/"},
		Response: recording.Response{
			Wait: time.Second, Status: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: []byte(first + second), Chunks: []recording.Chunk{{After: 2 * time.Second, Len: len(first)}, {After: 3 * time.Second, Len: len(second)}},
		},
	}
	if err := cassettes.Replace(path, cassettes.Encode(recording.Metadata{}, nil, []*recording.Interaction{x})); err != nil {
		t.Fatal(err)
	}
	return path
}

// moment is received text with its time.
type moment struct {
	At   time.Duration
	Text string // "header", a part of the body, or an error
}

// watch sends a request, reads the response and returns the times of its parts. Early, if not
// nil, gets the body immediately.
func watch(ctx context.Context, t *testing.T, c *cassettes.Cassette, early func(io.Closer)) (came []moment) {
	t.Helper()
	from := time.Now() //nolint:forbidigo // of a bubble
	note := func(text string) {
		came = append(came, moment{time.Since(from), text}) //nolint:forbidigo // of a bubble
	}
	req, err := http.NewRequestWithContext(ctx, "GET", "http://example.com/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.RoundTrip(req)
	if err != nil {
		note(err.Error())
		return came
	}
	defer func() { _ = resp.Body.Close() }() // what is read counts
	note("header")
	if early != nil {
		early(resp.Body)
	}
	for buf := make([]byte, 100); ; {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			note(string(buf[:n]))
		}
		if err != nil {
			note(err.Error())
			return came
		}
	}
}

// With a delay factor, the header and the body of a response arrive after the scaled delays.
func TestDelayFactor(t *testing.T) {
	path := paced(t)
	for _, c := range []struct {
		pace        float64
		header, one time.Duration
		two         time.Duration
	}{
		{0, 0, 0, 0},
		{0.5, 500 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second},
		{1, time.Second, 3 * time.Second, 6 * time.Second},
		{2, 2 * time.Second, 6 * time.Second, 12 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			got := watch(t.Context(), t, open(t, path, cassettes.Options{DelayFactor: c.pace}), nil)
			want := []moment{{c.header, "header"}, {c.one, "data: 1\n\n"}, {c.two, "data: 2\n\n"}, {c.two, "EOF"}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("delay factor %g (-want +got):\n%s", c.pace, diff)
			}
		})
	}
}

// A client that cancels stops waiting for the header or the events of a delayed response.
func TestDelayCanceled(t *testing.T) {
	path := paced(t)
	gone := errors.New("the user is gone")
	for _, c := range []struct {
		name    string
		at      time.Duration
		message string
		// leave leaves at the time.
		leave func(context.Context, time.Duration) (context.Context, func(io.Closer))
	}{
		{"deadline", 500 * time.Millisecond, context.DeadlineExceeded.Error(), deadline},
		{"deadline", 2500 * time.Millisecond, context.DeadlineExceeded.Error(), deadline},
		{"deadline", 4 * time.Second, context.DeadlineExceeded.Error(), deadline},
		{"cancel", 500 * time.Millisecond, gone.Error(), cancel(gone)},
		{"cancel", 4 * time.Second, gone.Error(), cancel(gone)},
		{"close", 2500 * time.Millisecond, "http: read on closed response body", closing},
		{"close", 4 * time.Second, "http: read on closed response body", closing},
	} {
		t.Run(c.name+" at "+c.at.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, early := c.leave(t.Context(), c.at)
				got := watch(ctx, t, open(t, path, cassettes.Options{DelayFactor: 1}), early)
				var want []moment
				for _, m := range []moment{{time.Second, "header"}, {3 * time.Second, "data: 1\n\n"}} {
					if m.At < c.at {
						want = append(want, m)
					}
				}
				want = append(want, moment{c.at, c.message})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func deadline(ctx context.Context, at time.Duration) (context.Context, func(io.Closer)) {
	ctx, stop := context.WithTimeout(ctx, at) //nolint:forbidigo // of a bubble
	context.AfterFunc(ctx, stop)
	return ctx, nil
}

func cancel(why error) func(context.Context, time.Duration) (context.Context, func(io.Closer)) {
	return func(ctx context.Context, at time.Duration) (context.Context, func(io.Closer)) {
		ctx, stop := context.WithCancelCause(ctx)
		time.AfterFunc(at, func() { stop(why) }) //nolint:forbidigo // of a bubble
		return ctx, nil
	}
}

// closing closes a body whose header arrived after one second.
func closing(ctx context.Context, at time.Duration) (context.Context, func(io.Closer)) {
	return ctx, func(body io.Closer) {
		time.AfterFunc(at-time.Second, func() { _ = body.Close() }) //nolint:forbidigo // of a bubble
	}
}

// A body that is closed, or whose request is canceled, is read no further, even within an
// event.
func TestReadNoFurther(t *testing.T) {
	path := paced(t)
	gone := errors.New("the user is gone")
	for name, c := range map[string]struct {
		leave   func(stop context.CancelCauseFunc, body io.Closer)
		message string
	}{
		"closed":    {func(_ context.CancelCauseFunc, body io.Closer) { _ = body.Close() }, "http: read on closed response body"},
		"cancelled": {func(stop context.CancelCauseFunc, _ io.Closer) { stop(gone) }, gone.Error()},
	} {
		for _, size := range []int{3, len("data: 1\n\n"), len("data: 1\n\ndata: 2\n\n")} {
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			req, err := http.NewRequestWithContext(ctx, "GET", "http://example.com/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := open(t, path, cassettes.Options{}).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, size)
			if _, err := io.ReadFull(resp.Body, buf); err != nil {
				t.Fatal(err)
			}
			c.leave(stop, resp.Body)
			if n, err := resp.Body.Read(buf); n != 0 || err == nil || err.Error() != c.message {
				t.Errorf("%s after %d bytes: %d more, and %v, want %s", name, size, n, err, c.message)
			}
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A request that is already canceled gets no response, with any delay factor.
func TestCanceledBefore(t *testing.T) {
	path := paced(t)
	gone := errors.New("the user is gone")
	for _, pace := range []float64{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			stop(gone)
			got := watch(ctx, t, open(t, path, cassettes.Options{DelayFactor: pace}), nil)
			if diff := cmp.Diff([]moment{{0, gone.Error()}}, got); diff != "" {
				t.Errorf("delay factor %g (-want +got):\n%s", pace, diff)
			}
		})
	}
}
