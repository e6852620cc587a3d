package cassettes_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

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
