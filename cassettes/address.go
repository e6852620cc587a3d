package cassettes

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// url is the URL as a file has it, in the one spelling of what it means.
func (m matching) url(text string) string {
	if u := m.address(text); u != nil {
		return u.String()
	}
	return EscapedURL(text)
}

// address is a URL as it counts: its host in small letters and without the usual port,
// the path of a bare host as /, the query in the order of the names. It is nil if the
// text is no URL.
func (m matching) address(text string) *url.URL {
	u, err := url.Parse(EscapedURL(text))
	if err != nil {
		return nil
	}
	u.Fragment, u.RawFragment = "", ""
	u.Host = hostOf(u.Scheme, u.Host)
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

// WrittenURL is a URL as cassettes have it: spaces and what cannot be printed stand in
// percent encoding, and the rest as it is. Clients of Go send a query as it is, too.
func WrittenURL(text string) string {
	return escaped(text, func(r rune) bool { return r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) })
}

// EscapedURL is a URL as it counts: all that is not ASCII stands in percent encoding, too.
func EscapedURL(text string) string {
	return escaped(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// escaped has what is odd in percent encoding, and the rest as it is.
func escaped(text string, odd func(rune) bool) string {
	if strings.IndexFunc(text, odd) < 0 {
		return text
	}
	var out []byte
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if odd(r) {
			for _, c := range []byte(text[:n]) {
				out = fmt.Appendf(out, "%%%02X", c)
			}
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return string(out)
}

// percents is a byte in a URL that is not written as it is.
var percents = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// hostOf is a host in the one spelling of what it means.
func hostOf(scheme, host string) string {
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
func (r *Request) OtherHost() string {
	host := r.Header.Get("Host")
	if host == "" {
		return ""
	}
	u, err := url.Parse(EscapedURL(r.URL))
	if err != nil {
		return host
	}
	if host = hostOf(u.Scheme, host); host == hostOf(u.Scheme, u.Host) {
		return ""
	}
	return host
}

// withoutOwnHost is an interaction that names the Host of its request only if it is
// another than the one of its URL.
func withoutOwnHost(x *Interaction) *Interaction {
	if x.Request.Header["Host"] == nil || x.Request.OtherHost() != "" {
		return x
	}
	out := *x
	out.Request.Header = x.Request.Header.Clone()
	out.Request.Header.Del("Host")
	return &out
}
