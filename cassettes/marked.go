package cassettes

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// takeMarked uses the first interaction that is left whose request is one with this lane
// but for marks of what that still says: secrets that only the answer named, so that
// nothing tells them where they are asked for. It is -1 if there is none.
func (t *tape) takeMarked(lane string, r *Request) int {
	if t.matching.own != nil {
		return -1
	}
	now := t.matching.meant(r)
	for _, i := range t.marked() {
		x, err := t.file.Interaction(i)
		if err == nil && x.Session == lane && t.matching.meant(&x.Request).stands(now) && t.use(i) {
			return i
		}
	}
	return -1
}

// marked are the interactions that are left which have a mark in what a request is known
// by, in their order: one in a header, as of each that has a key, is none.
func (t *tape) marked() (list []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, e := range t.entries {
		if t.used[i] {
			continue
		}
		_, body, _ := bytes.Cut(t.file.text[e.from:e.answer], []byte("\n>\n"))
		if hasMark(jsonio.View(t.file.title(i))) || hasMark(jsonio.View(body)) {
			list = append(list, i)
		}
	}
	return list
}

// use uses an interaction, unless somebody else has.
func (t *tape) use(i int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	free := !t.used[i]
	t.used[i] = true
	return free
}

// meant is what a request is known by, in one spelling.
type meant struct{ method, host, url, body string }

func (m matching) meant(r *Request) meant {
	return meant{r.Method, r.OtherHost(), unescaped(m.url(r.URL)), string(m.appendBody(nil, r.Header.Get("Content-Type"), decode(r.Header, r.Body).plain))}
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

// sameButMarks reports whether a text is another one, in which marks stand for what the
// text says.
func sameButMarks(was, now string) bool {
	for {
		at := markForm.FindStringIndex(was)
		if at == nil {
			return was == now
		}
		mark := was[at[0]:at[1]]
		if !strings.HasPrefix(now, was[:at[0]]) {
			return false
		}
		was, now = was[at[1]:], now[at[0]:]
		rest, same := strings.CutPrefix(now, mark)
		if !same {
			if rest, same = cutMarked(now, mark); !same {
				return false
			}
		}
		now = rest
	}
}

// cutMarked cuts what a mark stands for off a text.
func cutMarked(text, mark string) (rest string, is bool) {
	words := strings.Fields(mark) // one in percent encoding is one word
	if len(words) < 4 {
		return "", false
	}
	left, err := strconv.Atoi(words[2])
	if err != nil || left < leastEcho { // which is looked for nowhere else
		return "", false
	}
	end := len(text)
	for i := range text {
		if left == 0 {
			end = i
			break
		}
		left--
	}
	if left > 0 || Placeholder(text[:end]) != mark {
		return "", false
	}
	return text[end:], true
}
