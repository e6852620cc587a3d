package cassettes_test

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
)

// slowly responds after a delay with a body whose end and trailer arrive later. A request to
// FAIL gets an error.
type slowly struct{ answer, end time.Duration }

func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(s.answer) //nolint:forbidigo // of a bubble
	if r.Method == "FAIL" {
		return nil, io.ErrUnexpectedEOF
	}
	resp := reply(r, nil)
	resp.ContentLength, resp.Trailer = -1, http.Header{"X-Sum": nil}
	resp.Body = io.NopCloser(&slowBody{strings.NewReader("body"), resp.Trailer, s.end})
	return resp, nil
}

// slowBody is the body of such a response.
type slowBody struct {
	io.Reader
	trailer http.Header
	end     time.Duration
}

func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		time.Sleep(b.end) //nolint:forbidigo // of a bubble
		b.trailer["X-Sum"] = []string{"7"}
	}
	return n, err
}

// Close during requests records the received part of each interaction. The clients still get
// their responses.
func TestCloseInTheMiddle(t *testing.T) {
	const before, closing, after = time.Second, 2 * time.Second, 3 * time.Second
	nothing := recording.Response{Wait: closing, Termination: recording.Canceled}
	failed := recording.Response{Wait: closing, Termination: recording.Failed, Failure: "unexpected EOF"}
	answered := func(wait time.Duration) recording.Response {
		return recording.Response{Status: 200, Proto: "HTTP/1.1", Chunked: true, Wait: wait, Termination: recording.Canceled}
	}
	read := func(r recording.Response) recording.Response {
		r.Body, r.Chunks = []byte("body"), []recording.Chunk{{Len: 4}}
		return r
	}
	whole := func(r recording.Response) recording.Response {
		r.Termination, r.Trailer = "", http.Header{"X-Sum": {"7"}}
		return r
	}
	for name, c := range map[string]struct {
		method string
		server slowly
		want   []recording.Response // the recorded response is one of these
	}{
		"it has ended":         {"GET", slowly{before, 0}, []recording.Response{whole(read(answered(before)))}},
		"its end comes later":  {"GET", slowly{before, after}, []recording.Response{read(answered(before))}},
		"its end comes now":    {"GET", slowly{before, closing - before}, []recording.Response{read(answered(before)), whole(read(answered(before)))}},
		"it is answered later": {"GET", slowly{after, 0}, []recording.Response{nothing}},
		"it is answered now":   {"GET", slowly{closing, 0}, []recording.Response{nothing, answered(closing), read(answered(closing)), whole(read(answered(closing)))}},
		"it has failed":        {"FAIL", slowly{before, 0}, []recording.Response{{Wait: before, Termination: recording.Failed, Failure: "unexpected EOF"}}},
		"it fails later":       {"FAIL", slowly{after, 0}, []recording.Response{nothing}},
		"it fails now":         {"FAIL", slowly{closing, 0}, []recording.Response{nothing, failed}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const clients = 8
				path := filepath.Join(t.TempDir(), "c.tape")
				rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: c.server})
				var all sync.WaitGroup
				for range clients {
					all.Go(func() {
						req, _ := http.NewRequestWithContext(t.Context(), c.method, "http://example.com/", nil)
						resp, err := rec.RoundTrip(req)
						if c.method == "FAIL" {
							if !errors.Is(err, io.ErrUnexpectedEOF) {
								t.Errorf("a client got %v", err)
							}
							return
						}
						if err != nil {
							t.Error(err)
							return
						}
						body, err := io.ReadAll(resp.Body)
						if err = errors.Join(err, resp.Body.Close()); string(body) != "body" || resp.Trailer.Get("X-Sum") != "7" || err != nil {
							t.Errorf("a client got %q, %v, %v", body, resp.Trailer, err)
						}
					})
				}
				time.Sleep(closing) //nolint:forbidigo // of a bubble
				if err := rec.Close(); err != nil {
					t.Error(err)
				}
				all.Wait()
				f, err := cassettes.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for x, err := range f.All() {
					if err != nil {
						t.Fatal(err)
					}
					if !slices.ContainsFunc(c.want, func(want recording.Response) bool { return cmp.Equal(want, x.Response, cmpopts.EquateEmpty()) }) {
						t.Errorf("recorded %+v, want one of %+v", x.Response, c.want)
					}
				}
				if f.Len() != clients {
					t.Errorf("%d interactions of %d are recorded", f.Len(), clients)
				}
			})
		})
	}
}
