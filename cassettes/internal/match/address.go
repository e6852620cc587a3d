package match

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
)

// url returns the canonical form of a URL.
func (m Matcher) url(text string) string {
	if u := m.address(text); u != nil {
		return u.String()
	}
	return tape.EscapedURL(text)
}

// address parses a URL and makes it canonical: host in lower case and without the default
// port, path / for a bare host, query sorted by name. It returns nil if text is not a URL.
func (m Matcher) address(text string) *url.URL {
	u, err := url.Parse(tape.EscapedURL(text))
	if err != nil {
		return nil
	}
	u.Fragment, u.RawFragment = "", ""
	u.Host = Host(u.Scheme, u.Host)
	if u.Host != "" && u.Path == "" {
		u.Path = "/"
	}
	if path := u.EscapedPath(); strings.Contains(path, "%") {
		u.RawPath = percents.ReplaceAllStringFunc(path, strings.ToUpper)
	}
	if u.ForceQuery = false; u.RawQuery != "" {
		u.RawQuery = textOf(m.fields(u.RawQuery))
	}
	return u
}

var percents = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// Host returns the canonical form of a host.
func Host(scheme, host string) string {
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return strings.ToLower(strings.TrimSuffix(host, ":"))
}

// OtherHost returns the canonical Host of a request if it differs from the host of the URL,
// and the empty string otherwise.
func OtherHost(r *recording.Request) string {
	host := r.Header.Get("Host")
	if host == "" {
		return ""
	}
	u, err := url.Parse(tape.EscapedURL(r.URL))
	if err != nil {
		return host
	}
	if host = Host(u.Scheme, host); host == Host(u.Scheme, u.Host) {
		return ""
	}
	return host
}

// WithoutOwnHost returns the interaction without a Host header that repeats the host of the
// URL. It does not change x.
func WithoutOwnHost(x *recording.Interaction) *recording.Interaction {
	if x.Request.Header["Host"] == nil || OtherHost(&x.Request) != "" {
		return x
	}
	out := *x
	out.Request.Header = x.Request.Header.Clone()
	out.Request.Header.Del("Host")
	return &out
}

// field is a name and value of a query or form.
type field struct {
	name, value string
	text        string // canonical
}

// fields reads the fields of a query or form that count, sorted by name. It keeps a field
// unchanged if it is invalid or ambiguous.
func (m Matcher) fields(text string) []field {
	list := []field{}
	for pair := range strings.SplitSeq(text, "&") {
		name, value, hasValue := strings.Cut(pair, "=")
		readName, badName := url.QueryUnescape(name)
		readValue, badValue := url.QueryUnescape(value)
		f := field{name, value, pair}
		if !strings.Contains(pair, ";") && badName == nil {
			if slices.Contains(m.Ignore, "?"+readName) {
				continue
			}
			if f.name = readName; badValue == nil {
				f.value, f.text = readValue, url.QueryEscape(readName)
				if hasValue {
					f.text += "=" + url.QueryEscape(readValue)
				}
			}
		}
		if f.text != "" {
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return list
}

func textOf(list []field) string {
	texts := make([]string, len(list))
	for i, f := range list {
		texts[i] = f.text
	}
	return strings.Join(texts, "&")
}

func byName(list []field) url.Values {
	values := url.Values{}
	for _, f := range list {
		values.Add(f.name, f.value)
	}
	return values
}
