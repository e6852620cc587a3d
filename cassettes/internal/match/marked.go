package match

import (
	"net/url"

	"github.com/looptape/looptape/cassettes/recording"
)

// identity is the canonical request without its session.
type identity struct{ method, host, url, body string }

func (m Matcher) identity(r *recording.Request) identity {
	return identity{r.Method, OtherHost(r), unescaped(m.url(r.URL)), string(m.appendBody(nil, r.Header.Get("Content-Type"), Decode(r.Header, r.Body).Plain))}
}

// matches reports whether a recorded request equals this one except for placeholders.
func (s identity) matches(now identity) bool {
	return s.method == now.method && s.host == now.host && equalExceptPlaceholders(s.url, now.url) && equalExceptPlaceholders(s.body, now.body)
}

func unescaped(text string) string {
	plain, err := url.PathUnescape(text)
	if err != nil {
		return text
	}
	return plain
}
