package protocol

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// redactedText stands for a credential.
const redactedText = "[redacted]"

// credentials are the headers that are secret also where the Client has them.
var credentials = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// added returns the values that an authorizer has put into a request, or the Client
// into a header for credentials, each also as its words: of "Bearer x" also "x", and
// of "Basic x" also the password in it.
func added(header http.Header, query string, req *http.Request) (secrets []string) {
	note := func(v string) { secrets = append(append(secrets, v), strings.Fields(v)...) }
	for name, values := range req.Header {
		secret := slices.Contains(credentials, http.CanonicalHeaderKey(name)) // net/http sends any spelling
		for _, v := range values {
			if secret || !slices.Contains(header[name], v) {
				note(v)
				note(basic(v))
			}
		}
	}
	before, _ := url.ParseQuery(query)
	for name, values := range req.URL.Query() {
		for _, v := range values {
			if !slices.Contains(before[name], v) {
				note(v)
			}
		}
	}
	if pass, ok := req.URL.User.Password(); ok {
		note(pass)
		note(base64.StdEncoding.EncodeToString([]byte(req.URL.User.Username() + ":" + pass))) // as net/http sends it
	}
	return secrets
}

// spelled are the ways in which secrets may be quoted that are long enough to be looked
// for, the longest first.
func spelled(secrets []string) (out []string) {
	for _, secret := range secrets {
		for _, s := range spellings(secret) {
			if len(s) >= leastSecret && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// spellings are the ways in which an answer may quote a credential: as it is, in a URL,
// in HTML, and in JSON as PHP and as Go write it.
func spellings(s string) []string {
	quoted, _ := json.Marshal(s) // never fails
	return []string{s, url.QueryEscape(s), html.EscapeString(s), strings.ReplaceAll(s, "/", `\/`), string(quoted[1 : len(quoted)-1])}
}

// basic returns the password of a value of Basic authentication, or the name where it
// has no password: some services take their key as that. Of other values it is empty.
func basic(value string) string {
	name, pass, _ := (&http.Request{Header: http.Header{"Authorization": {value}}}).BasicAuth()
	return cmp.Or(pass, name)
}

// leastSecret is how long a credential is at least: shorter values would make
// gaps in any text.
const leastSecret = 6

// leastPiece is how much of a credential's beginning and end tells something of it.
const leastPiece = 4

// mask stands for the rest of a credential: what providers write for it, and where
// Beginning has cut a text.
var mask = regexp.MustCompile(`\*+|\.{2,}|…|•+`)

// masked is a key as OpenAI quotes it: its beginning, stars, its end.
var masked = regexp.MustCompile(`[A-Za-z0-9_-]*\*{3,}[A-Za-z0-9_-]*`)

// redact takes the credential out of a text, also where the provider has masked
// the most of it.
func (a *answer) redact(text string) string {
	secrets := spelled(a.secrets)
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, redactedText)
	}
	if len(secrets) > 0 {
		text = masked.ReplaceAllString(redactMasked(text, secrets), redactedText)
	}
	return text
}

// redactMasked takes out what is shown of credentials around a mask.
func redactMasked(text string, secrets []string) string {
	var out []byte
	from := 0
	for _, m := range mask.FindAllStringIndex(text, -1) {
		if m[0] < from {
			continue // it is of the end that was taken out
		}
		begins, ends := 0, 0
		for _, s := range secrets {
			begins, ends = max(begins, overlap(text[from:m[0]], s)), max(ends, overlap(s, text[m[1]:]))
		}
		if begins+ends < leastPiece {
			continue
		}
		out = append(append(out, text[from:m[0]-begins]...), redactedText...)
		from = m[1] + ends
	}
	return string(append(out, text[from:]...))
}

// overlap returns how many bytes at the end of a b begins with.
func overlap(a, b string) int {
	n := min(len(a), len(b))
	for !strings.HasPrefix(b, a[len(a)-n:]) {
		n--
	}
	return n
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
