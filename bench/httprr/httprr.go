// Package measured opens recordings of adk's httprr, for benchmarks.
package measured

import (
	"flag"
	"net/http"
	"regexp"

	"google.golang.org/adk/v2/internal/httprr"
)

// Open opens a recording, to be replayed or made anew. It is for test programs, one
// recording at a time: what httprr does is told by a flag.
func Open(path string, record bool) (to http.RoundTripper, end func() error, err error) {
	pattern := ""
	if record {
		pattern = regexp.QuoteMeta(path)
	}
	if err := flag.Set("httprecord", pattern); err != nil {
		return nil, nil, err
	}
	rr, err := httprr.Open(path, http.DefaultTransport)
	if err != nil {
		return nil, nil, err
	}
	return rr, rr.Close, nil
}
