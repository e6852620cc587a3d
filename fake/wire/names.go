package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

// names are the names of the requests of a run. They do not depend on the order in which concurrent requests come, so a request
// gets its name only when [Server.Pending] or [Server.Arrived] is called.
type names struct {
	awaited map[string]*awaited // by the name that a request has before
	unnamed []*awaited
	pending map[*fake.Pending]*awaited
	first   []*awaited        // the first ones that got names
	texts   map[string]string // how names have the first messages
}

// awaited is a request that waits for its response.
type awaited struct {
	session  string
	text     string // of the first message
	body     []byte
	request  *llm.Request
	response *llm.Response // nil if it is incomplete, or has not come
	key      reply.Key
	attempt  int // in the name: of concurrent requests with the same messages, the first one by content has the first
	name     string
}

// add adds a request. key is its name until it gets one.
func (n *names) add(p *reply.Response, body []byte) (x *awaited, key string) {
	x = &awaited{session: sessionName(p), text: firstText(p.Request.Messages), body: body, request: p.Request, key: p.Key, attempt: p.Key.Attempt}
	key = "request " + strconv.Itoa(len(n.awaited)+1)
	n.awaited[key], n.unnamed = x, append(n.unnamed, x)
	return x, key
}

// set gives the requests their names.
func (n *names) set() {
	if len(n.unnamed) == 0 {
		return
	}
	if len(n.first) == 0 {
		n.first = n.unnamed
	}
	texts := maps.Clone(n.texts)
	for _, x := range n.unnamed {
		texts[x.text] = ""
	}
	if len(texts) > len(n.texts) {
		distinguish(texts, slices.Sorted(maps.Keys(texts)), "", 0)
		maps.Copy(texts, n.texts)
		n.texts = texts
	}
	slices.SortStableFunc(n.unnamed, func(x, y *awaited) int { return bytes.Compare(x.body, y.body) })
	for i, x := range n.unnamed {
		for _, y := range n.unnamed[i+1:] {
			if x.session == y.session && x.text == y.text && x.key.Response == y.key.Response && x.attempt > y.attempt {
				x.attempt, y.attempt = y.attempt, x.attempt
			}
		}
		x.name = n.name(x)
	}
	n.unnamed = nil
}

// name names a request. It has the session and the first message if not all of the first requests have them.
func (n *names) name(x *awaited) string {
	var b strings.Builder
	if slices.ContainsFunc(n.first, func(y *awaited) bool { return y.session != x.session }) {
		b.WriteString(x.session + " ")
	}
	b.WriteString(strconv.Itoa(x.key.Response + 1))
	if x.attempt > 1 {
		fmt.Fprintf(&b, ", attempt %d", x.attempt)
	}
	if slices.ContainsFunc(n.first, func(y *awaited) bool { return y.text != x.text }) {
		fmt.Fprintf(&b, " of %q", n.texts[x.text])
	}
	return b.String()
}

// distinguish sets the short form of each text: its first characters from skip on, and, if other texts have the same, those from the first
// difference on. The texts are sorted.
func distinguish(short map[string]string, texts []string, prefix string, skip int) {
	for i := 0; i < len(texts); {
		form := shortened(texts[i][skip:])
		group := texts[i:]
		if end := slices.IndexFunc(group, func(s string) bool { return shortened(s[skip:]) != form }); end > 0 {
			group = group[:end]
		}
		i += len(group)
		if short[group[0]] = prefix + form; len(group) > 1 {
			distinguish(short, group, prefix+form+" ", len(commonPrefix(group[0], group[len(group)-1])))
		}
	}
}

// commonPrefix returns the characters with which both texts begin.
func commonPrefix(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return a[:n]
}

// Pending returns the answers that the client of a [World] waits for, sorted by name, and by content if names are equal. It must
// not be called before all concurrent requests have come.
func (s *Server) Pending() []*fake.Pending {
	r := s.explored
	list := r.world.Pending()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names.set()
	for _, p := range list {
		if x := r.names.awaited[p.Name]; x != nil {
			p.Name, r.names.pending[p] = x.name, x
		}
	}
	slices.SortStableFunc(list, func(p, q *fake.Pending) int {
		c, x, y := cmp.Or(cmp.Compare(p.At, q.At), cmp.Compare(p.Name, q.Name)), r.names.pending[p], r.names.pending[q]
		if c == 0 && x != nil && y != nil {
			c = bytes.Compare(x.body, y.body)
		}
		return c
	})
	return list
}

// firstText returns the text of the first message of the user.
func firstText(messages []llm.Message) string {
	for _, m := range messages {
		if m.Role == llm.RoleUser {
			return m.Text()
		}
	}
	return ""
}

// shortened returns the first characters of a text.
func shortened(s string) string {
	const limit = 40
	n := 0
	for i := range s {
		if n == limit {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// sessionName returns the session of a response, which has a name even if the script has none.
func sessionName(p *reply.Response) string { return cmp.Or(p.Key.Session, "main") }
