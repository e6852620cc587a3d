// Package measured opens recordings of adk's httprr, for benchmarks.
package measured

import (
	"flag"
	"net/http"
	"regexp"

	"google.golang.org/adk/v2/internal/httprr"
)

// Open opens a recording to replay it or to record it again. It is for test programs, for one
// recording at a time, because a flag controls httprr.
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
