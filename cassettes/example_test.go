package cassettes_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
)

// Record a request to a test server, then replay it without the server.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	path := filepath.Join(dir, "example.tape")
	for _, mode := range []cassettes.Mode{cassettes.Record, cassettes.Replay} {
		c, err := cassettes.Open(path, &cassettes.Options{Mode: mode})
		if err != nil {
			panic(err)
		}
		resp, err := c.Client().Get(server.URL + "/tea") //nolint:noctx // an example
		if err != nil {
			panic(err)
		}
		_ = resp.Body.Close()
		fmt.Println(mode, resp.StatusCode)
		if err := c.Close(); err != nil {
			panic(err)
		}
		server.Close() // a replay does not need it
	}
	// Output:
	// record 418
	// replay 418
}

// A request that was not recorded is an error with the nearest recorded request.
func ExampleMissError() {
	f, err := cassettes.Parse("example.tape", cassettes.Encode(recording.Metadata{}, nil, []*recording.Interaction{{
		Request:  recording.Request{Method: "GET", URL: "https://example.com/rain?in=Bern"},
		Response: recording.Response{Status: 200, Proto: "HTTP/1.1"},
	}}))
	if err != nil {
		panic(err)
	}
	c, err := f.Replay(&cassettes.Options{AllowUnused: true})
	if err != nil {
		panic(err)
	}
	_, err = c.Client().Get("https://example.com/rain?in=Rome") //nolint:bodyclose,noctx // there is no response
	if miss, ok := errors.AsType[*cassettes.MissError](err); ok {
		fmt.Println(miss.NearestMatch.Differences[0])
	}
	// Output: {query in "Bern" "Rome"}
}

// Matching ignores a member of the body and a field of the query. It compares all other
// parts of a request, and bodies of JSON without regard to the order of members.
func ExampleOptions_ignore() {
	opts := &cassettes.Options{Ignore: []string{"/metadata/user", "?trace"}}
	f, err := cassettes.Parse("example.tape", cassettes.Encode(recording.Metadata{}, opts, []*recording.Interaction{{
		Request: recording.Request{
			Method: "POST", URL: "https://example.com/chat?trace=1", Header: http.Header{"Content-Type": {"application/json"}},
			Body: []byte(`{"text": "Hello.", "metadata": {"user": "ann"}}`),
		},
		Response: recording.Response{Status: 200, Proto: "HTTP/1.1"},
	}}))
	if err != nil {
		panic(err)
	}
	c, err := f.Replay(opts)
	if err != nil {
		panic(err)
	}
	resp, err := c.Client().Post("https://example.com/chat?trace=2", "application/json", //nolint:noctx // an example
		strings.NewReader(`{"metadata":{"user":"bob"},"text":"Hello."}`))
	if err != nil {
		panic(err)
	}
	_ = resp.Body.Close()
	fmt.Println(resp.Status, c.Close())
	// Output: 200 OK <nil>
}

// A proxy replays a cassette for a program in any language. The path of a request begins
// with the name of a server.
func ExampleNewProxy() {
	f, err := cassettes.Parse("example.tape", cassettes.Encode(recording.Metadata{Upstreams: map[string]string{"weather": "https://weather.example/v1"}}, nil,
		[]*recording.Interaction{{
			Request:  recording.Request{Method: "GET", URL: "https://weather.example/v1/rain?in=Bern"},
			Response: recording.Response{Status: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("yes")},
		}}))
	if err != nil {
		panic(err)
	}
	c, err := f.Replay(nil)
	if err != nil {
		panic(err)
	}
	proxy, err := cassettes.NewProxy(c, nil)
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(proxy)
	defer server.Close()
	resp, err := http.Get(server.URL + "/weather/rain?in=Bern") //nolint:noctx // an example
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err, proxy.Failures())
	// Output: yes <nil> []
}
