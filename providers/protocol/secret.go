package protocol

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Redacted stands for a credential.
const Redacted = "[redacted]"

// added returns the values that an authorizer has put into a request, each also
// as its words: of "Bearer x" also "x".
func added(header http.Header, query string, req *http.Request) (secrets []string) {
	note := func(v string) {
		for _, s := range append([]string{v}, strings.Fields(v)...) {
			if len(s) >= leastSecret && !slices.Contains(secrets, s) {
				secrets = append(secrets, s)
			}
		}
	}
	for name, values := range req.Header {
		for _, v := range values {
			if !slices.Contains(header[name], v) {
				note(v)
			}
		}
	}
	before, _ := url.ParseQuery(query)
	for name, values := range req.URL.Query() {
		for _, v := range values {
			if !slices.Contains(before[name], v) {
				note(v)
				note(url.QueryEscape(v))
			}
		}
	}
	if pass, ok := req.URL.User.Password(); ok {
		note(pass)
		note(base64.StdEncoding.EncodeToString([]byte(req.URL.User.Username() + ":" + pass))) // as net/http sends it
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

// leastSecret is how long a credential is at least: shorter values would make
// gaps in any text.
const leastSecret = 6

// leastPiece is how much of a credential's beginning tells something of it.
const leastPiece = 4

// masked is a key as OpenAI quotes it: its beginning, stars, its end.
var masked = regexp.MustCompile(`[A-Za-z0-9_-]*\*{3,}[A-Za-z0-9_-]*`)

// redact takes the credential out of a text, also where the provider has masked
// the most of it.
func (a *answer) redact(text string) string {
	for _, s := range a.secrets {
		text = strings.ReplaceAll(text, s, Redacted)
		for n := len(s) - 1; n >= leastPiece; n-- { // where Beginning has cut it
			text = strings.ReplaceAll(text, s[:n]+cutMark, Redacted+cutMark)
		}
	}
	if len(a.secrets) > 0 {
		text = masked.ReplaceAllString(text, Redacted)
	}
	return text
}

// redacted is an error with another text. What it is can be asked, but it cannot be
// unwrapped: people print all that lies beneath an error.
type redacted struct {
	err  error
	text string
}

func (r *redacted) Error() string { return r.text }

// Is makes it what err is.
func (r *redacted) Is(target error) bool { return errors.Is(r.err, target) }
