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

const redactedText = "[redacted]"

// credentials are the headers that are secret even if the Client sets them.
var credentials = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// added returns the values that the authorizer added to a request, and those of credential
// headers. It also returns their words (for "Bearer x" also "x") and the password of Basic
// authentication.
func added(header http.Header, query string, req *http.Request) (secrets []string) {
	note := func(v string) { secrets = append(append(secrets, v), strings.Fields(v)...) }
	for name, values := range req.Header {
		secret := slices.Contains(credentials, http.CanonicalHeaderKey(name)) // net/http sends any case
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

// searchTerms returns the representations that are long enough to search for, the longest first.
func searchTerms(secrets []string) (out []string) {
	for _, secret := range secrets {
		for _, s := range representations(secret) {
			if len(s) >= minSecret && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// representations returns how a response may quote a credential: as it is, in a URL, in HTML,
// and in JSON as PHP and Go write it.
func representations(s string) []string {
	quoted, _ := json.Marshal(s) // never fails
	return []string{s, url.QueryEscape(s), html.EscapeString(s), strings.ReplaceAll(s, "/", `\/`), string(quoted[1 : len(quoted)-1])}
}

// basic returns the password of Basic authentication, or the name if there is no password,
// because some services use the name as key.
func basic(value string) string {
	name, pass, _ := (&http.Request{Header: http.Header{"Authorization": {value}}}).BasicAuth()
	return cmp.Or(pass, name)
}

// minSecret is the minimum length of a credential. Shorter values occur in ordinary text.
const minSecret = 6

// minFragment is the minimum length of a fragment that reveals part of a credential.
const minFragment = 4

// mask matches what replaces part of a credential: the mask of a provider, or a truncated text.
var mask = regexp.MustCompile(`\*+|\.{2,}|…|•+`)

// masked matches a key as OpenAI quotes it: its beginning, stars, its end.
var masked = regexp.MustCompile(`[A-Za-z0-9_-]*\*{3,}[A-Za-z0-9_-]*`)

// redact removes the credential from a string, also if the provider masked most of it.
func (a *exchange) redact(text string) string {
	secrets := searchTerms(a.secrets)
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, redactedText)
	}
	if len(secrets) > 0 {
		text = masked.ReplaceAllString(redactMasked(text, secrets), redactedText)
	}
	return text
}

// redactMasked removes fragments of credentials next to a mask.
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
		if begins+ends < minFragment {
			continue
		}
		out = append(append(out, text[from:m[0]-begins]...), redactedText...)
		from = m[1] + ends
	}
	return string(append(out, text[from:]...))
}

// overlap returns how many bytes at the end of a are the beginning of b.
func overlap(a, b string) int {
	n := min(len(a), len(b))
	for !strings.HasPrefix(b, a[len(a)-n:]) {
		n--
	}
	return n
}

// redacted is an error with another text. It matches its cause with errors.Is. It does not
// unwrap, because programs print wrapped errors.
type redacted struct {
	err  error
	text string
}

func (r *redacted) Error() string { return r.text }

// Is reports whether the cause matches target.
func (r *redacted) Is(target error) bool { return errors.Is(r.err, target) }
