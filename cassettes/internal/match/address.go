package match

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
)

// url is the URL as a file has it, in the one spelling of what it means.
func (m Matcher) url(text string) string {
	if u := m.address(text); u != nil {
		return u.String()
	}
	return tape.EscapedURL(text)
}

// address is a URL as it counts: its host in small letters and without the usual port,
// the path of a bare host as /, the query in the order of the names. It is nil if the
// text is no URL.
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

// percents is a byte in a URL that is not written as it is.
var percents = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// hostOf is a host in the one spelling of what it means.
func Host(scheme, host string) string {
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return strings.ToLower(strings.TrimSuffix(host, ":"))
}

// OtherHost is the Host of a request, in the one spelling of what it means, if it is
// another than the one of its URL.
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

// withoutOwnHost is an interaction that names the Host of its request only if it is
// another than the one of its URL.
func WithoutOwnHost(x *recording.Interaction) *recording.Interaction {
	if x.Request.Header["Host"] == nil || OtherHost(&x.Request) != "" {
		return x
	}
	out := *x
	out.Request.Header = x.Request.Header.Clone()
	out.Request.Header.Del("Host")
	return &out
}
