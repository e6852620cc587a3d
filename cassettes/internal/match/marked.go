package match

import (
	"net/url"

	"github.com/looptape/looptape/cassettes/recording"
)

// meant is what a request is known by, in one spelling.
type meant struct{ method, host, url, body string }

func (m Matcher) meant(r *recording.Request) meant {
	return meant{r.Method, OtherHost(r), unescaped(m.url(r.URL)), string(m.appendBody(nil, r.Header.Get("Content-Type"), Decode(r.Header, r.Body).Plain))}
}

// stands reports whether a recorded request stands for one: it is the same but for marks.
func (s meant) stands(now meant) bool {
	return s.method == now.method && s.host == now.host && sameButMarks(s.url, now.url) && sameButMarks(s.body, now.body)
}

// unescaped is what a URL says in percent encoding.
func unescaped(text string) string {
	plain, err := url.PathUnescape(text)
	if err != nil {
		return text
	}
	return plain
}
