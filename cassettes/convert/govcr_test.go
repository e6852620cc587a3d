package convert_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/dnaeon/go-vcr/v2/cassette"
	"github.com/dnaeon/go-vcr/v2/recorder"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
)

// answers are response bodies that are hard to write, by path.
var answers = map[string]string{
	"/json":   `{"text":"\ud83d ☕😀"}`,
	"/events": "event: a\r\ndata: {\"x\": 1}\r\n\r\ndata: [DONE]\r\n\r\n",
	"/tabs":   "\ta\n\tb\n",
	"/lines":  "\n\n a\r\nb \n\n",
	"/binary": "\x00\xff\x1f\x8b",
	"/empty":  "",
	"/number": "0x1F",
}

// server responds with them.
func server(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		body, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		if _, err := io.WriteString(w, body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// requests returns some requests to a server.
func requests(base string) (list []*recording.Interaction) {
	for _, path := range []string{"/json", "/events", "/tabs", "/lines", "/lines", "/binary", "/empty", "/number", "/missing?q=a+b", "/missing?q=ä&r=%C3%A4"} {
		list = append(list, &recording.Interaction{Request: recording.Request{Method: http.MethodGet, URL: base + path, Header: http.Header{"X-Tab": {"a\tb"}}}})
	}
	for _, body := range []string{`{"q":"\ud83d"}`, "\n\n\tx\r\n", "\x00\xff"} {
		list = append(list, &recording.Interaction{Request: recording.Request{Method: http.MethodPost, URL: base + "/json", Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte(body)}})
	}
	for _, form := range []string{"a=1&b=%20&a=2", "\ta\n\tb\n"} {
		list = append(list, &recording.Interaction{Request: recording.Request{
			Method: http.MethodPost, URL: base + "/json?z=1", Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, Body: []byte(form),
		}})
	}
	return list
}

// A cassette replays a recording of go-vcr v2.
func TestFromGoVCR1(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	rec, err := recorder.NewAsMode(path, recorder.ModeRecording, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []exchange
	for _, x := range requests(server(t).URL) {
		want = append(want, asked(t, rec, x))
	}
	if err := rec.Stop(); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(path + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	list, head, err := read(path, src)
	if err != nil || head.Recorder != "go-vcr" {
		t.Fatalf("%v; recorded by %q", err, head.Recorder)
	}
	if diff := cmp.Diff(want, replayed(t, list)); diff != "" {
		t.Errorf("replayed (-want +got):\n%s", diff)
	}
}

// go-vcr v2 replays a converted cassette.
func TestToGoVCR1(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tape")
	c, err := cassettes.Open(path, &cassettes.Options{Mode: cassettes.Record})
	if err != nil {
		t.Fatal(err)
	}
	list := requests(server(t).URL)
	var want []exchange
	for _, x := range list {
		want = append(want, asked(t, c, x))
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	recorded, head, err := read(path, src)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, playedByGoVCR1(t, path, head, recorded)); diff != "" {
		t.Errorf("replayed (-want +got):\n%s", diff)
	}
}

func TestAnyToGoVCR1(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(drawInteraction), 1, 3).Draw(rt, "list")
		var kept []*recording.Interaction
		var want []exchange
		for _, x := range list {
			if x.Response.Status != 0 {
				kept = append(kept, x)
				want = append(want, exchange{Method: x.Request.Method, URL: x.Request.URL, Sent: string(x.Request.Body), Status: x.Response.Status, Got: string(x.Response.Body)})
			}
		}
		if diff := cmp.Diff(want, playedByGoVCR1(rt, path, recording.Metadata{}, kept)); diff != "" {
			rt.Fatalf("replayed (-want +got):\n%s", diff)
		}
	})
}

// The package cassette of go-vcr v2 loads what Write returns, and Parse reads what it saves.
func TestGoVCR1Package(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	rapid.Check(t, func(rt *rapid.T) {
		list := append(rapid.SliceOfN(rapid.Custom(drawInteraction), 0, 3).Draw(rt, "list"), answer(nil)) // Save writes no empty cassette
		text, _, err := convert.Write(convert.GoVCR1, recording.Metadata{}, list)
		if err != nil {
			rt.Fatal(err)
		}
		written, err := convert.Parse(path, text)
		if err != nil {
			rt.Fatal(err)
		}
		if err := os.WriteFile(path+".yaml", text, 0o600); err != nil {
			rt.Fatal(err)
		}
		c, err := cassette.Load(path)
		if err != nil {
			rt.Fatal(err)
		}
		for i, x := range c.Interactions {
			got := []any{x.Method, x.URL, x.Request.Body, x.Code, x.Response.Body, x.Duration}
			r := written.Interactions[i]
			want := []any{r.Request.Method, r.Request.URL, string(r.Request.Body), r.Response.Status, string(r.Response.Body), r.Response.Wait}
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Errorf("interaction %d (-read by Parse +loaded by go-vcr):\n%s", i+1, diff)
			}
		}
		if err := c.Save(); err != nil {
			rt.Fatal(err)
		}
		src, err := os.ReadFile(path + ".yaml")
		if err != nil {
			rt.Fatal(err)
		}
		saved, err := convert.Parse(path, src)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(written.Interactions, saved.Interactions); diff != "" {
			rt.Errorf("read (-from Write +from Save):\n%s", diff)
		}
	})
}

// playedByGoVCR1 returns the responses of the recorder of go-vcr v2.
func playedByGoVCR1(t tester, path string, head recording.Metadata, list []*recording.Interaction) (got []exchange) {
	t.Helper()
	text, _, err := convert.Write(convert.GoVCR1, head, list)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".yaml", text, 0o600); err != nil {
		t.Fatal(err)
	}
	rec, err := recorder.NewAsMode(path, recorder.ModeReplaying, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	rec.SkipRequestLatency = true
	rec.SetMatcher(func(r *http.Request, i cassette.Request) bool {
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		return err == nil && cassette.DefaultMatcher(r, i) && string(body) == i.Body
	})
	for _, x := range list {
		got = append(got, asked(t, rec, x))
	}
	return got
}
