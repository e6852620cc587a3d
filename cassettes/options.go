package cassettes

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
	"github.com/looptape/looptape/internal/access"
)

// Mode is the mode of a cassette.
type Mode string

// Values of [Options.Mode], and names of the environment and of requests.
const (
	// Replay answers from the cassette and never uses the network.
	Replay Mode = "replay"
	// Record uses the network and records. Close replaces the file.
	Record Mode = "record"
	// Passthrough uses the network and does not change the file.
	Passthrough Mode = "passthrough"

	// SessionHeader is the request header with the name of the session. It is not sent to the
	// network.
	SessionHeader = "Looptape-Session"

	// Env is the environment variable that selects the mode of [ForTest]: replay, record, or
	// record! to record in CI too.
	Env = "LOOPTAPE"
	// ReportEnv is the environment variable that names a report of [ForTest]. Each replay adds
	// its usage to it. Use an absolute path: tests run in the directories of their packages.
	ReportEnv = "LOOPTAPE_REPORT"
)

// Options are the options of a cassette. The zero value replays.
type Options struct {
	Mode Mode // empty means Replay
	// Transport sends the requests; nil means [http.DefaultTransport].
	Transport http.RoundTripper
	// Recorder is the name of the recording program.
	Recorder string
	// Keep are recordings that a recording contains from its beginning: it responds to their requests
	// without the network, once per interaction. It does not keep failed requests and responses with a
	// status other than 2xx. With the journal of an interrupted recording of the same cassette, it
	// continues that recording, and [Cassette.Abandon] leaves the journal.
	Keep []*File

	// Session returns the session of a request. A replay isolates sessions from each other.
	// nil means the value of the header [SessionHeader].
	Session func(*http.Request) string
	// Ignore lists what matching ignores: "/metadata/user" and "/messages/*/id" are JSON
	// pointers into a body, "?name" is a field of a query or form.
	Ignore []string
	// Match, if not nil, returns the text to compare instead of the body. Its argument is
	// redacted.
	Match func(*recording.Request) string

	// Rules extend the default redaction.
	redact.Rules

	// MaxBody is the largest body in bytes of a request, and of a response that is recorded, or of one
	// of its server-sent events. A stream of these may have any length. 0 means 64 MiB. A longer request is an error. A longer response reaches the client; it is
	// not recorded, and Close returns an error.
	MaxBody int64

	// DelayFactor multiplies the recorded delays in a replay: 0 means no delay, 1 the
	// recorded one.
	DelayFactor float64
	// AllowUnused is true if Close does not report unused interactions.
	AllowUnused bool
	// RecordCommand is a command that records the cassette. Errors show it.
	RecordCommand string

	// Upstreams are the URLs of the servers of a [Proxy], by name. A replay adds them to
	// those of the cassette.
	Upstreams map[string]string

	// Token is the first element of each path that a [Proxy] accepts; empty means none.
	Token string
	// AllowOrigins are the origins of web pages that may use a [Proxy], such as
	// http://localhost:5173, or * for any.
	AllowOrigins []string

	// Now returns the time of the recording; nil means [time.Now].
	Now func() time.Time
}

// oldSessionHeader is the name before version 2 of the format. It is still accepted.
const oldSessionHeader = "Looptape-Lane"

func (o *Options) session(r *http.Request) string {
	if o.Session != nil {
		return o.Session(r)
	}
	return cmp.Or(r.Header.Get(SessionHeader), r.Header.Get(oldSessionHeader))
}

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

func (o *Options) maxBody() int64 { return cmp.Or(o.MaxBody, access.MaxBody) }

func (o *Options) transport() http.RoundTripper {
	if o.Transport != nil {
		return o.Transport
	}
	return http.DefaultTransport
}

func (o *Options) matching() match.Matcher {
	return match.Matcher{Ignore: o.Ignore, Secret: o.Secret, Own: o.Match, Custom: o.Redact != nil}
}

// pause waits until the scaled delay d has passed since a time. It returns the cause if the
// context ends.
func (o *Options) pause(ctx context.Context, since time.Time, d time.Duration) error {
	if o.DelayFactor <= 0 { // avoid the clock
		return nil
	}
	d = time.Duration(float64(d)*o.DelayFactor) - time.Since(since) //nolint:forbidigo // delays use the real clock, or that of a test's bubble
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
