package cassettes

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// A request takes the recording of an identical request first, and then one that differs in
// secrets only.
func TestFind(t *testing.T) {
	request := func(url, authorization, said string) recording.Request {
		return recording.Request{Method: "POST", URL: url, Header: http.Header{"Authorization": {authorization}, "Content-Type": {"application/json"}}, Body: []byte(`{"say":"` + said + `"}`)}
	}
	const page = "https://example.com/"
	o := &Options{AllowUnused: true}
	var list []*recording.Interaction
	for _, r := range []recording.Request{
		request(page, "Bearer s3cretS3cret", "s3cretS3cret"),
		request(page, "", "s3cretS3cret"),
		request(page+"?key=k1", "", "hello"),
	} {
		list = append(list, o.Redacted(&recording.Interaction{Request: r, Response: recording.Response{Status: 200, Proto: "HTTP/1.1"}}))
	}
	for _, c := range []struct {
		name string
		opts Options
		want []int
	}{
		{"default", Options{}, []int{1, 0, 2, -1}},
		{"with a redactor", Options{Rules: redact.Rules{Redact: []redact.Redactor{redact.RedactorFunc(func(*recording.Interaction) {})}}}, []int{0, -1, 2, -1}},
		{"with a matcher", Options{Match: func(r *recording.Request) string { return string(r.Body) }}, []int{0, -1, 2, -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.tape")
			if err := Replace(path, Encode(recording.Metadata{}, o, list)); err != nil {
				t.Fatal(err)
			}
			play, err := Open(path, &c.opts)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, r := range []recording.Request{
				request(page, "Bearer s3cretS3cret", "s3cretS3cret"),
				request(page, "Bearer s3cretS3cret", "s3cretS3cret"),
				request(page+"?key=k2", "Bearer s3cretS3cret", "hello"),
				request(page, "", "hello"),
			} {
				i, err := play.find("", r)
				if _, ok := errors.AsType[*MissError](err); ok {
					i = -1
				} else if err != nil {
					t.Fatal(err)
				}
				got = append(got, i)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("interactions (-want +got):\n%s", diff)
			}
		})
	}
}

// A request takes the recording with the same secret. Without one, it takes any unused
// one.
func TestFindSecrets(t *testing.T) {
	o := &Options{AllowUnused: true}
	request := func(key string) recording.Request {
		return recording.Request{Method: "GET", URL: "https://example.com/kv?key=" + key}
	}
	var list []*recording.Interaction
	for _, key := range []string{"alpha", "beta", "alpha", "delta"} {
		list = append(list, o.Redacted(&recording.Interaction{Request: request(key), Response: recording.Response{Status: 200, Proto: "HTTP/1.1"}}))
	}
	for _, c := range []struct {
		name string
		opts Options
	}{{"keys of the file", Options{}}, {"new keys", Options{Ignore: []string{"/a"}}}} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.tape")
			if err := Replace(path, Encode(recording.Metadata{}, o, list)); err != nil {
				t.Fatal(err)
			}
			play, err := Open(path, &c.opts)
			if err != nil {
				t.Fatal(err)
			}
			ask := func(key string) int {
				i, err := play.find("", request(key))
				if err != nil {
					miss, ok := errors.AsType[*MissError](err)
					if !ok || miss.NearestMatch.Differences != nil || miss.NearestMatch.Recorded != miss.NearestMatch.Used {
						t.Fatal(err)
					}
					return -miss.NearestMatch.Recorded
				}
				return i
			}
			var got []int
			for _, key := range []string{"beta", "alpha", "another", "alpha", "alpha", "more", "more"} {
				got = append(got, ask(key))
			}
			if diff := cmp.Diff([]int{1, 0, 2, -2, -2, 3, -4}, got); diff != "" {
				t.Errorf("interactions (-want +got):\n%s", diff)
			}
		})
	}
}

// A Host that differs from the host of the URL is recorded and matched.
func TestFindHost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tape")
	rec, err := Open(path, &Options{Mode: Record, Transport: hostEcho{}})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(c *Cassette, host string) string {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "https://example.com/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.Header.Set("Host", "not sent")
		resp, err := c.RoundTrip(req)
		if _, ok := errors.AsType[*MissError](err); ok {
			return "missed"
		} else if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	hosts := []string{"a.example", "example.com", "b.example"}
	for _, host := range hosts {
		ask(rec, host)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	play, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, host := range []string{"c.example", "b.example", "", "A.example:443"} {
		got = append(got, ask(play, host))
	}
	if diff := cmp.Diff([]string{"missed", "b.example", "example.com", "a.example"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, want := range []string{"a.example", "", "b.example"} {
		if x, err := play.file.Interaction(i); err != nil || x.Request.Header.Get("Host") != want {
			t.Errorf("interaction %d: %v, want the Host %q in %q", i, err, want, x.Request.Header)
		}
	}
}

// hostEcho responds with the Host of the request.
type hostEcho struct{}

func (hostEcho) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", Header: http.Header{}, Body: io.NopCloser(strings.NewReader(r.Host)), ContentLength: -1, Request: r}, nil
}
