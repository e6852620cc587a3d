package convert

import (
	"bytes"
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
	write, err := writer(f)
	if err != nil {
		return nil, nil, err
	}
	var l ledger
	kept, numbers := l.answered(f, list)
	if text, err = write(h, kept); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f, err)
	}
	// What does not come back is lost.
	back, err := Parse(string(f), text)
	if err != nil {
		return nil, nil, fmt.Errorf("what was written cannot be read back: %w", err)
	}
	for i, x := range kept {
		if what := changedValue(x, back.Interactions[i]); what != "" {
			return nil, nil, fmt.Errorf("%s cannot hold the %s of interaction %d", f, what, numbers[i])
		}
		l.compare(facts(x), facts(back.Interactions[i]), numbers[i])
	}
	l.compare(headFacts(h), headFacts(back.Metadata))
	return text, l, nil
}

func writer(f Format) (func(recording.Metadata, []*recording.Interaction) ([]byte, error), error) {
	switch f {
	case Cassette:
		return writeCassette, nil
	case GoVCR1:
		return writeGoVCR1, nil
	case GoVCR2:
		return writeGoVCR2, nil
	case HAR:
		return writeHAR, nil
	case VCRPy:
		return writeVCRPy, nil
	}
	return nil, fmt.Errorf("unknown format %q: want one of %v", f, Formats())
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

func (l *ledger) compare(want, got []fact, of ...int) {
	for i := range want {
		if !reflect.DeepEqual(want[i], got[i]) {
			l.lose(want[i].name, of...)
		}
	}
}

// changedValue names a required value that did not come back.
func changedValue(want, got *recording.Interaction) string {
	switch {
	case want.Request.Method != got.Request.Method:
		return "method"
	case tape.EscapedURL(goURL(want.Request.URL)) != tape.EscapedURL(goURL(got.Request.URL)):
		return "URL"
	case !bytes.Equal(want.Request.Body, got.Request.Body):
		return "body of the request"
	case want.Response.Status != got.Response.Status:
		return "status"
	case !bytes.Equal(want.Response.Body, got.Response.Body):
		return "body of the response"
	}
	return ""
}

func goURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.String()
}

type fact struct {
	name  string
	value any
}

func facts(x *recording.Interaction) []fact {
	r := &x.Response
	header := x.Request.Header.Clone()
	header.Del("Host")
	header.Del("Transfer-Encoding")
	return []fact{
		{"the session", x.Session},
		{"the encoding of the URL", goURL(x.Request.URL)},
		{"the Host of the request", match.OtherHost(&x.Request)},
		{"whether the request declared its length", x.Request.Header.Get("Transfer-Encoding")},
		{"the header of the request", filled(header)},
		{"the trailer of the request", filled(x.Request.Trailer)},
		{"the reason phrase", r.StatusText()},
		{"the protocol", r.Proto},
		{"the header of the response", filled(r.Header)},
		{"the trailer of the response", filled(r.Trailer)},
		{"whether the response declared its length", r.Chunked},
		{"that the transport decompressed the body", r.Uncompressed},
		{"the time to the header", r.Wait.Round(time.Millisecond)},
		{"the chunks of the body and their times", append([]recording.Chunk{}, r.Chunks...)},
		{"how the response ended", [2]string{string(r.Termination), r.Failure}},
	}
}

func headFacts(h recording.Metadata) []fact {
	return []fact{
		{"when it was recorded", h.Recorded.Truncate(time.Second).UTC()},
		{"what recorded it", h.Recorder},
		{"the servers of the proxy", len(h.Upstreams)},
	}
}

func filled(h http.Header) http.Header {
	if len(h) == 0 {
		return nil
	}
	return h
}
