package cassettes

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/redact"
)

// Mode is what a cassette is opened for.
type Mode string

// The modes.
const (
	// Replay answers from the cassette, and never touches the network.
	Replay Mode = "replay"
	// Record asks the network and records what comes. The file is replaced by Close.
	Record Mode = "record"
	// Passthrough asks the network and leaves the file alone.
	Passthrough Mode = "passthrough"
)

// Options change how a cassette is opened. The zero value is right for most.
type Options struct {
	Mode Mode // Replay if empty
	// Transport asks the network; nil is http.DefaultTransport.
	Transport http.RoundTripper
	// By says in the file what recorded it.
	Recorder string

	// Session tells clients that run at once apart: the interactions of a session are for
	// it alone. Nil takes the header SessionHeader.
	Session func(*http.Request) string
	// Volatile names what does not count in matching: "/metadata/user" and
	// "/messages/*/id" lead to a place in a JSON body, "?name" to a field of a query
	// or a form.
	Ignore []string
	// Match, if not nil, makes of a request, which is redacted, what it is known by
	// beside its session, method and URL, in place of its body.
	Match func(*Request) string

	// Rules say what is redacted.
	redact.Rules

	// Pace is how many times the recorded time a replay takes: 0 is none, 1 as it was.
	DelayFactor float64
	// AllowUnused says that Close need not report interactions that nobody asked for.
	AllowUnused bool
	// Again is how to record again, a command, say; a miss tells it, and what was not
	// asked for. It may be empty.
	RecordCommand string

	// Upstreams are the URLs of the servers that a Proxy stands before, by name; in
	// a replay, beside those that the cassette tells of.
	Upstreams map[string]string

	// Now is the time of the recording; nil is time.Now.
	Now func() time.Time
}

// SessionHeader is the header that names a session. It is not sent to the network.
const SessionHeader = "Looptape-Session"

// oldSessionHeader is the name of [SessionHeader] before version 2 of the format. It is
// still accepted.
const oldSessionHeader = "Looptape-Lane"

func (o *Options) session(r *http.Request) string {
	if o.Session != nil {
		return o.Session(r)
	}
	return cmp.Or(r.Header.Get(SessionHeader), r.Header.Get(oldSessionHeader))
}

// withoutSession removes the header that names a session.
func withoutSession(h http.Header) {
	h.Del(SessionHeader)
	h.Del(oldSessionHeader)
}

func (o *Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now() //nolint:forbidigo // the zero value is right for most
}

func (o *Options) transport() http.RoundTripper {
	if o.Transport != nil {
		return o.Transport
	}
	return http.DefaultTransport
}

func (o *Options) matching() match.Matcher {
	return match.Matcher{Ignore: o.Ignore, Secret: o.Secret, Own: o.Match, Custom: o.Redact != nil}
}

// pause waits until a part of the recorded time has passed since a moment. The error is
// that of a context that has ended meanwhile.
func (o *Options) pause(ctx context.Context, since time.Time, d time.Duration) error {
	if o.DelayFactor <= 0 { // there is no clock to look at
		return nil
	}
	d = time.Duration(float64(d)*o.DelayFactor) - time.Since(since) //nolint:forbidigo // a pace is that of the real clock, or of a test's bubble
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d) //nolint:forbidigo // the same
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}
