package cassettes

import (
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
	for _, i := range t.alike(r) {
		x, err := t.file.Interaction(i)
		if err == nil && x.Lane == lane && t.matching.sameButMarks(&x.Request, r) && t.use(i) {
			return i
		}
	}
	return -1
}

// alike are the interactions that are left whose requests have the method and marks, in
// their order.
func (t *tape) alike(r *Request) (list []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, e := range t.entries {
		request := jsonio.View(t.file.text[e.from:e.answer])
		if !t.used[i] && hasMark(request) && strings.Contains(request[:strings.IndexByte(request, '\n')+1], " "+r.Method+" ") {
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

// sameButMarks reports whether a recorded request is this one but for marks.
func (m matching) sameButMarks(was, now *Request) bool {
	body := func(r *Request) string {
		return string(m.appendBody(nil, r.Header.Get("Content-Type"), decode(r.Header, r.Body).plain))
	}
	return was.Method == now.Method && was.OtherHost() == now.OtherHost() && sameButMarks(unescaped(m.url(was.URL)), unescaped(m.url(now.URL))) && sameButMarks(body(was), body(now))
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
	if left > 0 || Mark(text[:end]) != mark {
		return "", false
	}
	return text[end:], true
}
