package cassettes

import (
	"cmp"
	"errors"
	"fmt"
	"github.com/looptape/looptape/cassettes/recording"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scripted responds to each request with the same header and body. If err is set, the body is
// truncated.
type scripted struct {
	header map[string]string
	body   string
	err    error
}

func (s scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	h := http.Header{}
	for name, value := range s.header {
		h.Set(name, value)
	}
	body := io.MultiReader(strings.NewReader(s.body), failing{cmp.Or(s.err, io.EOF)})
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Body: io.NopCloser(body), ContentLength: -1, Request: r}, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// asked sends a request with a header through a new cassette and returns the first error.
func asked(t *testing.T, path string, o Options, url, header, body string) error {
	t.Helper()
	o.AllowUnused = true
	c, err := Open(path, &o)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if name, value, found := strings.Cut(header, ": "); found {
		req.Header.Set(name, value)
	}
	resp, err := c.RoundTrip(req)
	if err != nil {
		return errors.Join(err, c.Close())
	}
	_, _ = io.ReadAll(resp.Body) // it may be cut
	_ = resp.Body.Close()
	return c.Close()
}

// A value that only the response names as a secret is found if the request contains it, and
// nothing else is found.
func TestNamedByResponse(t *testing.T) {
	call := `{"choices":[{"message":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"login","arguments":"{\"password\":\"hunter22\"}"}}]}}]}`
	for name, c := range map[string]struct {
		url, sent, replayed string // replayed is sent if it is empty
		key                 string
		answer              scripted
		miss                bool
	}{
		"in a prompt":          {sent: `{"say":"My password is hunter22, log in."}`, answer: scripted{body: call}},
		"in another form":      {sent: `{"say":"My password is hunter22, log in.","a":1}`, replayed: `{ "a":1, "say":"My password is hunter22, log in." }`, answer: scripted{body: call}},
		"another one":          {sent: `{"say":"My password is hunter22, log in."}`, replayed: `{"say":"My password is hunter23, log in."}`, answer: scripted{body: call}, miss: true},
		"a longer one":         {sent: `{"say":"My password is hunter22, log in."}`, replayed: `{"say":"My password is hunter223, log in."}`, answer: scripted{body: call}, miss: true},
		"another prompt":       {sent: `{"say":"My password is hunter22, log in."}`, replayed: `{"say":"My password is hunter22, log out."}`, answer: scripted{body: call}, miss: true},
		"nothing in its place": {sent: `{"say":"My password is hunter22"}`, replayed: `{"say":"My password is "}`, answer: scripted{body: call}, miss: true},
		"in a path":            {url: "https://example.com/eu-west-1/a", sent: `{}`, answer: scripted{header: map[string]string{"Set-Cookie": "region=eu-west-1; Path=/"}, body: `{}`}},
		"a key of a prompt":    {sent: `{"say":"A key is not-needed here."}`, key: "Authorization: Bearer not-needed", answer: scripted{body: `{}`}},
	} {
		t.Run(name, func(t *testing.T) {
			path, url := filepath.Join(t.TempDir(), "a.tape"), cmp.Or(c.url, "https://example.com/")
			if err := asked(t, path, Options{Mode: Record, Transport: c.answer}, url, c.key, c.sent); err != nil {
				t.Fatal(err)
			}
			key := c.key
			if key != "" {
				key = "Authorization: Bearer dummy"
			}
			err := asked(t, path, Options{}, url, key, cmp.Or(c.replayed, c.sent))
			if _, miss := errors.AsType[*MissError](err); miss != c.miss || err != nil && !miss {
				t.Errorf("the replay is a miss: %t, want %t: %v", miss, c.miss, err)
			}
		})
	}
}

// A secret that is split across events, or truncated, is found even if its parts are numbers.
func TestSplitNumbers(t *testing.T) {
	const secret = "Zq7pw2Lm-48151623-Kd8sPq2xVb"
	for name, c := range map[string]struct {
		token  string
		answer scripted
		parts  []string
	}{
		"long":  {secret, scripted{body: "data: Zq7pw2Lm\n\ndata: -48151623\n\ndata: -Kd8sPq2xVb\n\n"}, []string{"Zq7pw2Lm", "48151623", "Kd8sPq2xVb"}},
		"short": {secret, scripted{body: "data: Zq7pw2Lm-\n\ndata: 4815\n\ndata: 1623\n\ndata: -Kd8sPq2xVb\n\n"}, []string{"Zq7pw2Lm", "4815", "1623", "Kd8sPq2xVb"}},
		"cut":   {"4815162342108", scripted{body: "data: 48151623421", err: io.ErrUnexpectedEOF}, []string{"48151623421"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.tape")
			c.answer.header = map[string]string{"Content-Type": "text/event-stream"}
			if err := asked(t, path, Options{Mode: Record, Transport: c.answer}, "https://example.com/", "X-Auth-Token: "+c.token, "{}"); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range c.parts {
				if strings.Contains(string(text), part) {
					t.Errorf("%s is on disk:\n%s", part, text)
				}
			}
		})
	}
}

// A miss reports used interactions even if the keys of the file are from other matching rules.
func TestUsedOtherMatching(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tape")
	var list []*recording.Interaction
	for i := range 250 {
		list = append(list, &recording.Interaction{Request: *sentTo(fmt.Sprintf(`{"id":1,"say":"number %03d"}`, i)), Response: recording.Response{Status: 200, Proto: "HTTP/1.1", Header: http.Header{}}})
	}
	if err := Replace(path, Encode(recording.Metadata{}, nil, list)); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path, &Options{Ignore: []string{"/id"}})
	if err != nil {
		t.Fatal(err)
	}
	r := list[240].Request
	if i, err := c.find("", r); i != 240 || err != nil {
		t.Fatalf("found %d, %v", i, err)
	}
	_, err = c.find("", r)
	if miss, ok := errors.AsType[*MissError](err); !ok || miss.NearestMatch.Number != 241 || miss.NearestMatch.Recorded != 1 || miss.NearestMatch.Used != 1 {
		t.Errorf("got %v, want an error that names interaction 241, used once", err)
	}
}

// A value with a name that is secret only in headers is not a secret.
func TestNamedValuesMiss(t *testing.T) {
	for _, name := range []string{"stop_token", "auth"} {
		path := filepath.Join(t.TempDir(), "a.tape")
		body := `{"list":[{"name":"` + name + `","value":"%s"}]}`
		if err := asked(t, path, Options{Mode: Record, Transport: scripted{}}, "https://example.com/", "", fmt.Sprintf(body, "none")); err != nil {
			t.Fatal(err)
		}
		if _, miss := errors.AsType[*MissError](asked(t, path, Options{}, "https://example.com/", "", fmt.Sprintf(body, "all"))); !miss {
			t.Errorf("another value of %s is answered", name)
		}
	}
}
