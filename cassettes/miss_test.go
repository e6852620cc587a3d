package cassettes_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	cmpdiff "github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
)

// question returns a request of a test.
type question struct {
	session, method, url, kind, body string
}

const api = "https://api.example.com/v1/chat/completions"

func (a question) request() recording.Request {
	return recording.Request{Method: cmp.Or(a.method, "POST"), URL: cmp.Or(a.url, api), Header: http.Header{"Content-Type": {cmp.Or(a.kind, "application/json")}}, Body: []byte(a.body)}
}

// ask sends a request and ignores the response.
func (a question) ask(t *testing.T, to http.RoundTripper) error {
	t.Helper()
	r := a.request()
	req, err := http.NewRequestWithContext(t.Context(), r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = r.Header
	req.Header.Set(cassettes.SessionHeader, a.session)
	resp, err := to.RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close() // it does not count
	}
	return err
}

// tapeOf writes a cassette with these requests.
func tapeOf(t *testing.T, o cassettes.Options, list []question) (path string) {
	t.Helper()
	var all []*recording.Interaction
	for _, a := range list {
		all = append(all, o.Redacted(&recording.Interaction{Session: a.session, Request: a.request(), Response: recording.Response{Status: 200, Proto: "HTTP/1.1", Header: http.Header{}}}))
	}
	path = filepath.Join(t.TempDir(), "x.tape")
	if err := cassettes.Replace(path, cassettes.Encode(recording.Metadata{}, &o, all)); err != nil {
		t.Fatal(err)
	}
	return path
}

// chat returns a request with these messages, alternately of the user and the assistant.
func chat(more string, messages ...string) string {
	var list []string
	for i, m := range messages {
		list = append(list, fmt.Sprintf(`{"role":%q,"content":%q}`, []string{"user", "assistant"}[i%2], m))
	}
	return fmt.Sprintf(`{"model":"m-1"%s,"messages":[%s]}`, more, strings.Join(list, ","))
}

// The texts of misses fit a terminal of 80 columns.
func TestMissGoldens(t *testing.T) {
	const form, text = "application/x-www-form-urlencoded", "text/plain"
	long := strings.Repeat("You are an assistant who tells the weather. ", 5)
	many := func(from int) string {
		var list []string
		for i := range 30 {
			list = append(list, fmt.Sprintf(`"field %d":%d`, i, from+i))
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	for _, c := range []struct {
		name     string
		opts     cassettes.Options
		recorded []question
		asked    []question // the last one misses
	}{
		{name: "message", recorded: []question{
			{body: chat(`,"temperature":0`, "The weather?")},
			{body: chat(`,"temperature":0`, "The weather?", "I look.", "22 degrees")},
		}, asked: []question{{body: chat(`,"temperature":0`, "The weather?")}, {body: chat("", "The weather?", "I look.", "21 degrees")}}},
		{name: "prompt", recorded: []question{{body: chat("", long+"Be brief. "+long, "Yes.")}}, asked: []question{{body: chat("", long+"Be short and kind. "+long, "Yes.")}}},
		{name: "used-up", recorded: []question{{body: chat("", "a")}, {body: chat("", "b")}, {body: chat("", "a")}}, asked: []question{{body: chat("", "a")}, {body: chat("", "a")}, {body: chat("", "a")}}},
		{name: "used", recorded: []question{{body: chat("", "a long question")}}, asked: []question{{body: chat("", "a long question")}, {body: chat("", "a long request")}}},
		{name: "session", recorded: []question{{session: "writer", body: chat("", "a")}, {session: "critic", body: chat("", "a thing of its own")}}, asked: []question{{session: "author", body: chat("", "a")}}},
		{name: "same-session", recorded: []question{{session: "writer", body: chat("", "a")}, {session: "critic", body: chat("", "a")}}, asked: []question{{session: "critic", body: chat("", "b")}}},
		{name: "url", recorded: []question{{url: "http://127.0.0.1:8080/v1/models?limit=2&key=a&b=1&b=2", method: "GET", kind: text}}, asked: []question{{url: "https://api.example.com/v1beta/models/gemini-large?limit=3&b=1&alt=sse", body: "{}"}}},
		{name: "form", recorded: []question{{kind: form, body: "grant_type=refresh&scope=all&t=1"}}, asked: []question{{kind: form, body: "grant_type=client_credentials&scope=all&t=2"}}, opts: cassettes.Options{Ignore: []string{"?t"}}},
		{name: "text", recorded: []question{{kind: text, body: "one\ntwo\nthree\nfour"}}, asked: []question{{kind: text, body: "one\n2\n\nthree\nfour"}}},
		{name: "binary", recorded: []question{{kind: "image/png", body: "\x89PNG\x00a"}}, asked: []question{{kind: "image/png", body: "\x89PNG\x00abc"}}},
		{name: "kinds", recorded: []question{{body: `{"a":1}`}}, asked: []question{{kind: text, body: `a=1`}}},
		{name: "many", recorded: []question{{body: many(0)}}, asked: []question{{body: many(1)}}},
		{name: "longer", recorded: []question{{body: chat("", "a", "b")}}, asked: []question{{body: chat("", "a", "b", "Now tell me more of the weather in Paris, please.")}}},
		{name: "shorter", recorded: []question{{body: `{"model":"m","input":[{"type":"message","role":"user"},{"type":"function_call","name":"a"}]}`}}, asked: []question{{body: `{"model":"m","input":[{"type":"message","role":"user"}]}`}}},
		{name: "inserted", recorded: []question{{body: `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`}}, asked: []question{{body: `{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"C"}]}`}}},
		{name: "removed", recorded: []question{{body: chat("", "a", "b", "c", "d", "e")}, {body: chat("", "a", "b", "x", "y", "z")}}, asked: []question{{body: chat("", "c", "d", "e")}}},
		{name: "values", recorded: []question{{body: `{"a":{"b":[1,"1",null,[]],"c/d~":{}},"id":1,"emoji":"☕"}`}}, asked: []question{{body: `{"a":{"b":[1.0,1,{},{}],"c/d~":[]},"id":2,"emoji":"😀"}`}}, opts: cassettes.Options{Ignore: []string{"/id"}}},
		{name: "own", recorded: []question{{body: "1\nmodel m\n"}}, asked: []question{{body: "2\nmodel n\n"}}, opts: cassettes.Options{Match: func(r *recording.Request) string {
			_, rest, _ := strings.Cut(string(r.Body), "\n")
			return rest
		}}},
		{name: "secret", recorded: []question{{url: api + "?key=sk-planted-one", body: `{"api_key":"sk-planted-one","a":1}`}}, asked: []question{{url: api + "?key=sk-planted-other", body: `{"api_key":"sk-planted-other","a":2}`}}},
		{name: "empty", asked: []question{{body: `{}`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opts.RecordCommand, c.opts.AllowUnused = "LOOPTAPE=record go test -run '^TestWeather$'", true
			path := tapeOf(t, c.opts, c.recorded)
			play := open(t, path, c.opts)
			last := len(c.asked) - 1
			for _, a := range c.asked[:last] {
				if err := a.ask(t, play); err != nil {
					t.Fatal(err)
				}
			}
			miss, ok := errors.AsType[*cassettes.MissError](c.asked[last].ask(t, play))
			if !ok {
				t.Fatal("got no miss")
			}
			got := strings.ReplaceAll(miss.Error(), path, "testdata/cassettes/TestWeather.tape") + "\n"
			for line := range strings.Lines(got) {
				if utf8.RuneCountInString(line) > 81 && !strings.Contains(line, " https://") { // URLs are not cut
					t.Errorf("the line is longer than 80 characters: %s", line)
				}
			}
			goldie.New(t, goldie.WithFixtureDir("testdata/miss")).Assert(t, c.name, []byte(got))
			if err := play.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A MissError has these fields.
func TestMiss(t *testing.T) {
	path := tapeOf(t, cassettes.Options{}, []question{{body: `{"a":1}`}, {body: `{"b":[1,2]}`}, {body: `{"b":[1,2]}`}})
	play := open(t, path, cassettes.Options{AllowUnused: true})
	if err := (question{body: `{"b":[1,2]}`}).ask(t, play); err != nil {
		t.Fatal(err)
	}
	miss, ok := errors.AsType[*cassettes.MissError](question{session: "x", body: `{"b":[1,3]}`}.ask(t, play))
	if !ok {
		t.Fatal("got no miss")
	}
	want := &cassettes.MissError{File: path, Session: "x", Request: question{body: `{"b":[1,3]}`}.request(), NearestMatch: &recording.NearestMatch{
		Number: 2, Recorded: 2, Used: 1,
		Differences: []recording.Difference{{Where: "session", Recorded: "absent", Now: `"x"`}, {Where: "/b/1", Recorded: "2", Now: "3"}},
	}}
	if diff := cmpdiff.Diff(want, miss); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := play.Close(); err != nil {
		t.Error(err)
	}
}

// In a long cassette the nearest match is one of the most similar candidates, so a miss has a
// bounded cost.
func TestMissInALongCassette(t *testing.T) {
	var list []question
	for i := range 1000 {
		list = append(list, question{body: chat("", strings.Repeat("a", i), "x")})
	}
	list[500].url = "https://other.example.com/v1/chat/completions?a=1"
	play := open(t, tapeOf(t, cassettes.Options{}, list), cassettes.Options{AllowUnused: true})
	for _, n := range []int{0, 300, 500, 999} {
		miss, ok := errors.AsType[*cassettes.MissError](question{url: list[n].url, body: chat("", strings.Repeat("a", n), "y")}.ask(t, play))
		if !ok || miss.NearestMatch.Number != n+1 || len(miss.NearestMatch.Differences) != 1 {
			t.Errorf("interaction %d: the nearest is %+v", n+1, miss.NearestMatch)
		}
	}
	if err := play.Close(); err != nil {
		t.Error(err)
	}
}
