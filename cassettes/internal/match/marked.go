package match

import (
	"net/url"

	"github.com/looptape/looptape/cassettes/recording"
)

// meant is the canonical request without its session.
type meant struct{ method, host, url, body string }

func (m Matcher) meant(r *recording.Request) meant {
	return meant{r.Method, OtherHost(r), unescaped(m.url(r.URL)), string(m.appendBody(nil, r.Header.Get("Content-Type"), Decode(r.Header, r.Body).Plain))}
}

// stands reports whether a recorded request equals this one except for placeholders.
func (s meant) stands(now meant) bool {
	return s.method == now.method && s.host == now.host && sameButMarks(s.url, now.url) && sameButMarks(s.body, now.body)
}

func unescaped(text string) string {
	plain, err := url.PathUnescape(text)
	if err != nil {
		return text
	}
	return plain
}
