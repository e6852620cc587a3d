package convert

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
)

// Loss is data that a format cannot represent.
type Loss struct {
	// What was omitted or changed, such as "the session".
	What string
	// Of are the numbers of the interactions, from 1. It is empty for a loss of the whole
	// recording.
	Of []int
}

// Write writes a recording and reports losses. It returns an error if the format cannot
// represent a request, a status or a body.
func Write(f Format, h recording.Metadata, list []*recording.Interaction) (text []byte, lost []Loss, err error) {
	i := slices.IndexFunc(formats, func(x format) bool { return x.Format == f })
	if i < 0 {
		return nil, nil, fmt.Errorf("unknown format %q: want one of %v", f, Formats())
	}
	var l ledger
	kept, numbers := l.answered(f, list)
	if text, err = formats[i].write(h, kept); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f, err)
	}
	// What does not come back is lost.
	back, err := Parse(string(f), text)
	if err != nil {
		return nil, nil, fmt.Errorf("what was written cannot be read back: %w", err)
	}
	for i, x := range kept {
		if what := l.compare(facts(x), facts(back.Interactions[i]), numbers[i]); what != "" {
			return nil, nil, fmt.Errorf("%s cannot hold the %s of interaction %d", f, what, numbers[i])
		}
	}
	l.compare(headFacts(h), headFacts(back.Metadata))
	return text, l, nil
}

func writeCassette(h recording.Metadata, list []*recording.Interaction) ([]byte, error) {
	return cassettes.Encode(h, nil, list), nil
}

type ledger []Loss

func (l *ledger) lose(what string, of ...int) {
	i := slices.IndexFunc(*l, func(x Loss) bool { return x.What == what })
	if i < 0 {
		i = len(*l)
		*l = append(*l, Loss{What: what})
	}
	(*l)[i].Of = append((*l)[i].Of, of...)
}

// answered returns what a format can represent: most formats have no requests without a
// response.
func (l *ledger) answered(f Format, list []*recording.Interaction) (kept []*recording.Interaction, numbers []int) {
	for i, x := range list {
		if x.Response.Status == 0 && f != Cassette && f != HAR {
			l.lose("the request without a response", i+1)
			continue
		}
		kept, numbers = append(kept, x), append(numbers, i+1)
	}
	return kept, numbers
}

// compare adds the facts that differ. It returns the name of a required one.
func (l *ledger) compare(want, got []fact, of ...int) (required string) {
	for i, x := range want {
		switch {
		case reflect.DeepEqual(x, got[i]):
		case x.required:
			return x.name
		default:
			l.lose(x.name, of...)
		}
	}
	return ""
}

// fact is a value that comes back if a format can represent it. Required facts are first.
type fact struct {
	required bool
	name     string
	value    any
}

func facts(x *recording.Interaction) []fact {
	r := &x.Response
	header := x.Request.Header.Clone()
	header.Del("Host")
	header.Del("Transfer-Encoding")
	to := x.Request.URL
	if u, err := url.Parse(to); err == nil {
		to = u.String() // as Go writes it
	}
	return []fact{
		{true, "method", x.Request.Method},
		{true, "URL", tape.EscapedURL(to)},
		{true, "body of the request", string(x.Request.Body)},
		{true, "status", r.Status},
		{true, "body of the response", string(r.Body)},
		{false, "the session", x.Session},
		{false, "the encoding of the URL", to},
		{false, "the Host of the request", match.OtherHost(&x.Request)},
		{false, "whether the request declared its length", x.Request.Header.Get("Transfer-Encoding")},
		{false, "the header of the request", filled(header)},
		{false, "the trailer of the request", filled(x.Request.Trailer)},
		{false, "the reason phrase", r.StatusText()},
		{false, "the protocol", r.Proto},
		{false, "the header of the response", filled(r.Header)},
		{false, "the trailer of the response", filled(r.Trailer)},
		{false, "whether the response declared its length", r.Chunked},
		{false, "that the transport decompressed the body", r.Uncompressed},
		{false, "the time to the header", r.Wait.Round(time.Millisecond)},
		{false, "the chunks of the body and their times", append([]recording.Chunk{}, r.Chunks...)},
		{false, "how the response ended", [2]string{string(r.Termination), r.Failure}},
	}
}

func headFacts(h recording.Metadata) []fact {
	return []fact{
		{false, "when it was recorded", h.Recorded.Truncate(time.Second).UTC()},
		{false, "what recorded it", h.Recorder},
		{false, "the servers of the proxy", len(h.Upstreams)},
	}
}

func filled(h http.Header) http.Header {
	if len(h) == 0 {
		return nil
	}
	return h
}
