package cassettes_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
)

// packed responds in gzip with a body of this size to clients that accept it.
func packed(t *testing.T, text string) (url string, size int64) {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := io.WriteString(z, text)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := []byte(text)
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			answer = packed.Bytes()
		}
		_, _ = w.Write(answer) // the client reports a missing body
	}))
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return s.URL, int64(packed.Len())
}

// A body that the transport decompressed is replayed decompressed; any other body is replayed
// compressed.
func TestUncompressed(t *testing.T) {
	const text = "the weather in Bern, again and again"
	url, size := packed(t, text)
	for accepts, want := range map[string]http.Response{
		"":         {Uncompressed: true, ContentLength: -1},
		"gzip":     {ContentLength: size},
		"identity": {ContentLength: int64(len(text))},
	} {
		path := filepath.Join(t.TempDir(), "u.tape")
		var bodies []string
		for _, mode := range []cassettes.Mode{cassettes.Record, cassettes.Replay} {
			c := open(t, path, cassettes.Options{Mode: mode})
			req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if accepts != "" {
				req.Header.Set("Accept-Encoding", accepts)
			}
			resp, err := c.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err = errors.Join(err, resp.Body.Close(), c.Close()); err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, string(body))
			got := http.Response{Uncompressed: resp.Uncompressed, ContentLength: resp.ContentLength, TransferEncoding: resp.TransferEncoding}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, accepting %q (-want +got):\n%s", mode, accepts, diff)
			}
			if is := resp.Header.Get("Content-Encoding") == "gzip"; is != (accepts == "gzip") {
				t.Errorf("%s, accepting %q: compressed by the header: %t", mode, accepts, is)
			}
		}
		if bodies[0] != bodies[1] || (bodies[0] == text) != (accepts != "gzip") {
			t.Errorf("accepting %q, recorded %q, replayed %q", accepts, bodies[0], bodies[1])
		}
	}
}

// A transport that lost its connection gets the body of the request again. The request of the
// caller is unchanged.
func TestGetBody(t *testing.T) {
	again := answering(func(r *http.Request) (*http.Response, error) {
		var all string
		for range 2 {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			text, err := io.ReadAll(body)
			if err != nil {
				return nil, err
			}
			all += string(text)
		}
		return reply(r, io.MultiReader(strings.NewReader(all), r.Body)), nil
	})
	c := open(t, filepath.Join(t.TempDir(), "g.tape"), cassettes.Options{Mode: cassettes.Record, Transport: again})
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://example.com/", io.NopCloser(strings.NewReader("ab")))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close(), c.Close()); err != nil || string(text) != "ababab" {
		t.Errorf("%q was sent, %v", text, err)
	}
	if req.GetBody != nil {
		t.Error("the caller's request has changed")
	}
}

// The recorded header of a request contains how the length of its body was declared.
func TestLengthOfRequest(t *testing.T) {
	for _, c := range []struct {
		name, body string
		length     int64
		want       []string
	}{
		{"known", "ab", 2, nil},
		{"not known", "ab", 0, []string{"chunked"}},
		{"not known to a server", "ab", -1, []string{"chunked"}},
		{"nothing", "", -1, nil},
	} {
		path := filepath.Join(t.TempDir(), "x.tape")
		rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: answering(func(r *http.Request) (*http.Response, error) { return reply(r, r.Body), nil })})
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://example.com/", io.NopCloser(strings.NewReader(c.body)))
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = c.length
		req.Header.Set("Transfer-Encoding", "not sent")
		resp, err := rec.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); errors.Join(err, resp.Body.Close(), rec.Close()) != nil {
			t.Fatal(err)
		}
		f, err := cassettes.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		x, err := f.Interaction(0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, x.Request.Header["Transfer-Encoding"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A request without a body is sent without a body.
func TestNoBody(t *testing.T) {
	for _, body := range []io.ReadCloser{nil, http.NoBody} {
		bare := answering(func(r *http.Request) (*http.Response, error) {
			if r.Body != body || r.GetBody != nil {
				t.Errorf("the body is %v, want %v", r.Body, body)
			}
			return reply(r, strings.NewReader("")), nil
		})
		c := open(t, filepath.Join(t.TempDir(), "n.tape"), cassettes.Options{Mode: cassettes.Record, Transport: bare})
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://example.com/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Body = body
		resp, err := c.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(resp.Body.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	}
}

// The error of a proxy prevents retries in the clients of all providers.
func TestProxyErrorPreventsRetry(t *testing.T) {
	type errorBody struct {
		Error struct {
			Code                  int
			Message, Type, Status string
		}
	}
	path := recorded(t, cassettes.Options{}, "1")
	dead := cassettes.Options{Mode: cassettes.Passthrough, Transport: answering(func(*http.Request) (*http.Response, error) { return nil, errors.New("the line is dead") })}
	for name, c := range map[string]struct {
		path    string
		opts    cassettes.Options
		status  int
		kind    string
		message string
	}{
		"a miss":       {"/some/x", cassettes.Options{AllowUnused: true}, 400, "looptape_miss", "request not recorded"},
		"no network":   {"/some/x", dead, 502, "looptape_error", "the line is dead"},
		"no server":    {"/any/x", dead, 400, "looptape_error", `unknown server "any": want one of some`},
		"past servers": {"/some/../x", dead, 400, "looptape_error", "may lead out of the server"},
	} {
		c.opts.Upstreams = map[string]string{"some": "http://example.com"}
		w, p := httptest.NewRecorder(), proxy(t, open(t, path, c.opts))
		p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", c.path, strings.NewReader("2")))
		var got errorBody
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || !strings.Contains(got.Error.Message, c.message) {
			t.Errorf("%s: %v: %s", name, err, w.Body)
		}
		var want errorBody
		want.Error.Code, want.Error.Type, want.Error.Status, want.Error.Message = c.status, c.kind, "FAILED_PRECONDITION", got.Error.Message
		if diff := cmp.Diff(want, got); diff != "" || w.Code != c.status {
			t.Errorf("%s: %d (-want +got):\n%s", name, w.Code, diff)
		}
		if diff := cmp.Diff(http.Header{"Content-Type": {"application/json"}, "X-Should-Retry": {"false"}}, w.Header()); diff != "" {
			t.Errorf("%s: the header (-want +got):\n%s", name, diff)
		}
		if failed := p.Failures(); len(failed) != 1 || failed[0].Error() != got.Error.Message {
			t.Errorf("%s: the failures are %v", name, failed)
		}
	}
}
