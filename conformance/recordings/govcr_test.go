package recordings

import (
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"
	"gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
)

// read parses a recording and returns its interactions and metadata.
func read(name string, src []byte) ([]*recording.Interaction, recording.Metadata, error) {
	r, err := convert.Parse(name, src)
	if err != nil {
		return nil, recording.Metadata{}, err
	}
	return r.Interactions, r.Metadata, nil
}

// played is a request with its response, byte for byte.
type played struct {
	Method, URL, Sent string
	Status            int
	Got               string
}

// Each cassette is read like its YAML, replays, and survives a conversion to go-vcr's format 2, which
// go-vcr replays.
func TestCassettesConvert(t *testing.T) {
	s := sets[0] // the others are in the tests of cassettes/convert
	files := 0
	err := filepath.WalkDir(s.dir(t), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		files++
		converts(t, path)
		return nil
	})
	if err != nil || files != s.cassettes {
		t.Errorf("%d cassettes were read, want %d; %v", files, s.cassettes, err)
	}
}

func converts(t *testing.T, path string) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, head, err := read(path, src)
	if err != nil {
		t.Error(err)
		return
	}
	want := readPlayed(t, src)
	for by, got := range map[string][]played{
		"what was read":   playedOf(list),
		"our replay":      replayed(t, list),
		"go-vcr's replay": replayedByGoVCR(t, head, list),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", path, by, diff)
		}
	}
	text, lost, err := convert.Write(convert.GoVCR2, head, list)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lost {
		if len(l.Of) > 0 {
			t.Errorf("%s: lost: %v", path, l)
		}
	}
	back, _, err := read(path, text)
	if diff := cmp.Diff(list, back, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("%s, written and read: %v (-want +got):\n%s", path, err, diff)
	}
}

// readPlayed reads a cassette with a YAML parser only.
func readPlayed(t *testing.T, src []byte) (out []played) {
	t.Helper()
	var c struct {
		Interactions []struct {
			Request  struct{ Method, URL, Body string }
			Response struct {
				Code int
				Body string
			}
		}
	}
	if err := yaml.Unmarshal(src, &c); err != nil {
		t.Fatal(err)
	}
	for _, x := range c.Interactions {
		out = append(out, played{x.Request.Method, x.Request.URL, x.Request.Body, x.Response.Code, x.Response.Body})
	}
	return out
}

func playedOf(list []*recording.Interaction) (out []played) {
	for _, x := range list {
		out = append(out, played{x.Request.Method, x.Request.URL, string(x.Request.Body), x.Response.Status, string(x.Response.Body)})
	}
	return out
}

// replayed returns the responses of a looptape cassette without secrets.
func replayed(t *testing.T, list []*recording.Interaction) []played {
	t.Helper()
	safe := make([]*recording.Interaction, len(list))
	for i, x := range list {
		safe[i] = (&cassettes.Options{}).Redacted(x)
	}
	path := filepath.Join(t.TempDir(), "x.tape")
	if err := cassettes.Replace(path, cassettes.Encode(recording.Metadata{}, nil, safe)); err != nil {
		t.Fatal(err)
	}
	c, err := cassettes.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := ask(t, c, list)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	return out
}

// replayedByGoVCR returns the responses of go-vcr v4, which compares the whole request.
func replayedByGoVCR(t *testing.T, head recording.Metadata, list []*recording.Interaction) []played {
	t.Helper()
	text, _, err := convert.Write(convert.GoVCR2, head, list)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path+".yaml", text, 0o600); err != nil {
		t.Fatal(err)
	}
	rec, err := recorder.New(path, recorder.WithMode(recorder.ModeReplayOnly), recorder.WithSkipRequestLatency(true))
	if err != nil {
		t.Fatal(err)
	}
	return ask(t, rec, list)
}

// ask sends the requests of a recording.
func ask(t *testing.T, over http.RoundTripper, list []*recording.Interaction) (out []played) {
	t.Helper()
	for _, x := range list {
		req, err := http.NewRequestWithContext(t.Context(), x.Request.Method, x.Request.URL, bytes.NewReader(x.Request.Body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = x.Request.Header.Clone()
		if req.Header.Get("Transfer-Encoding") != "" {
			req.ContentLength = 0
			req.Header.Del("Transfer-Encoding")
		}
		if host := x.Request.Header.Get("Host"); host != "" {
			req.Host = host
			req.Header.Del("Host")
		}
		resp, err := over.RoundTrip(req)
		if err != nil {
			t.Fatalf("%s %s: %v", req.Method, req.URL, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.Body.Close() != nil {
			t.Fatal(err)
		}
		out = append(out, played{x.Request.Method, req.URL.String(), string(x.Request.Body), resp.StatusCode, string(body)})
	}
	return out
}

// hard are bodies that are hard to store in YAML; a server echoes them.
var hard = []string{
	"", "a=1&b=%20&a=2", `{"q":"\ud83d ☕😀"}`, "\n\n a\r\nb \n\n", "\ta\n\tb\n", "\x00\xff\x1f\x8b", "0x1F", "~", "event: a\r\ndata: 1\r\n\r\n", "\u0085\u2028\ufeff",
}

func echo(t *testing.T, bodies []string) (requests []*recording.Interaction) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		if _, err := io.Copy(w, r.Body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "text/event-stream"} {
		for _, body := range append(bodies, bodies[1]) {
			requests = append(requests, &recording.Interaction{Request: recording.Request{
				Method: http.MethodPost, URL: s.URL + "/v1/x?q=a+b&c&d=ä&e=%C3%A4", Header: http.Header{"Content-Type": {kind}, "X-Tab": {"a\tb"}}, Body: []byte(body),
			}})
		}
	}
	for header, value := range map[string]string{"Host": "other.example", "Transfer-Encoding": "chunked"} {
		requests = append(requests, &recording.Interaction{Request: recording.Request{
			Method: http.MethodPost, URL: s.URL, Header: http.Header{"Content-Type": {"text/plain"}, header: {value}}, Body: []byte("beside the header"),
		}})
	}
	return requests
}

// Recordings of go-vcr v4 replay here, except bodies that begin with a tab: go-vcr cannot load its own
// form of them.
func TestFromGoVCR2(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	rec, err := recorder.New(path, recorder.WithMode(recorder.ModeRecordOnly))
	if err != nil {
		t.Fatal(err)
	}
	want := ask(t, rec, echo(t, slices.DeleteFunc(slices.Clone(hard), func(s string) bool { return strings.HasPrefix(s, "\t") })))
	if err := rec.Stop(); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(path + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := read(path, src)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, replayed(t, list)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// go-vcr v4 replays recordings of looptape.
func TestToGoVCR2(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tape")
	c, err := cassettes.Open(path, &cassettes.Options{Mode: cassettes.Record})
	if err != nil {
		t.Fatal(err)
	}
	want := ask(t, c, echo(t, hard))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, head, err := read(path, src)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, replayedByGoVCR(t, head, list)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
