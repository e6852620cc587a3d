package match

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
)

// Nearest finds the recorded request that is most similar to r. It returns nil if there is
// none.
func (t *Index) Nearest(session string, r *recording.Request) *recording.NearestMatch {
	k := t.matcher.key(session, r)
	for _, key := range []uint64{k.Exact, k.Bare} {
		if n := t.recorded(key); n.Used > 0 {
			return n
		}
	}
	now := t.matcher.content(r)
	highest, best := -1.0, -1
	for _, i := range t.candidates(r) {
		x, err := t.file.Request(i)
		if err != nil {
			continue // use another candidate
		}
		like := t.matcher.content(&x.Request).similarity(now)
		if x.Session == session {
			like += sameSession
		}
		if like > highest {
			highest, best = like, i
		}
	}
	if best < 0 {
		return nil
	}
	x, _ := t.file.Request(best) // read above
	nearest := t.recorded(t.keys[best].Exact)
	nearest.Number = best + 1
	found := t.matcher.between(x, session, r)
	nearest.Differences, nearest.Message = found, found.message(t.matcher.content(&x.Request), now)
	return nearest
}

// sameSession is the bonus for the same session; equal bodies count 1.
const sameSession = 0.1

// recorded counts the interactions with a key. Number is that of the last used one.
func (t *Index) recorded(key uint64) *recording.NearestMatch {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := &recording.NearestMatch{}
	for i, k := range t.keys {
		if key == 0 || k.Exact != key && k.Bare != key {
			continue
		}
		n.Recorded++
		if t.used[i] {
			n.Used++
			n.Number = i + 1
		}
	}
	return n
}

const maxCandidates = 200

// candidates returns the interactions with the most similar method, path and body length.
func (t *Index) candidates(r *recording.Request) []int {
	type candidate struct{ index, rank, off int }
	list := make([]candidate, 0, t.file.Len())
	path := pathOf(r.URL)
	for i := range t.file.Len() {
		method, url, length := t.file.Outline(i)
		c := candidate{index: i, off: max(length-len(r.Body), len(r.Body)-length)}
		if method == r.Method {
			c.rank++
		}
		if pathOf(url) == path {
			c.rank += 2
		}
		list = append(list, c)
	}
	sort.SliceStable(list, func(i, j int) bool { return cmp.Or(list[j].rank-list[i].rank, list[i].off-list[j].off) < 0 })
	var out []int
	for _, c := range list[:min(maxCandidates, len(list))] {
		if c.rank == list[0].rank {
			out = append(out, c.index)
		}
	}
	return out
}

func pathOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Path
}

type differences []recording.Difference

func (m Matcher) between(was *recording.Interaction, session string, now *recording.Request) differences {
	var d differences
	d.addWord("session", was.Session, session)
	d.addWord("method", was.Request.Method, now.Method)
	d.url(m, was.Request.URL, now.URL)
	d.addWord("Host", OtherHost(&was.Request), OtherHost(now))
	d.addWord("content type", contentType(&was.Request), contentType(now))
	d.content(m.content(&was.Request), m.content(now))
	return d
}

func contentType(r *recording.Request) string {
	kind, _ := MediaType(r.Header.Get("Content-Type"))
	return kind
}

const absent = "absent"

// add adds a difference unless the values are equal. All placeholders are equal. An empty
// value is absent.
func (d *differences) add(where, was, now string) {
	if bytes.Equal(withoutPlaceholders([]byte(was)), withoutPlaceholders([]byte(now))) {
		return
	}
	was, now = shorten(was, now)
	*d = append(*d, recording.Difference{Where: where, Recorded: cmp.Or(was, absent), Now: cmp.Or(now, absent)})
}

// addWord adds a difference between two strings, of which an empty one is absent.
func (d *differences) addWord(where, was, now string) {
	d.addTexts(where, nonEmpty(was), nonEmpty(now))
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func (d *differences) addTexts(where string, was, now []string) {
	d.add(where, quoted(was), quoted(now))
}

func quoted(list []string) string {
	var out []byte
	for i, s := range list {
		if i > 0 {
			out = append(out, ", "...)
		}
		out = jsonio.AppendString(out, s)
	}
	return string(out)
}

func (d *differences) url(m Matcher, was, now string) {
	above := len(*d)
	if a, b := m.address(was), m.address(now); a != nil && b != nil {
		d.addWord("URL scheme", a.Scheme, b.Scheme)
		d.addWord("URL user", a.User.String(), b.User.String())
		d.addWord("URL host", a.Host, b.Host)
		d.addWord("URL path", a.EscapedPath(), b.EscapedPath())
		d.fields("query", m.fields(a.RawQuery), m.fields(b.RawQuery))
	}
	if len(*d) == above { // a name without a value
		d.addWord("URL", m.url(was), m.url(now))
	}
}

func (d *differences) fields(where string, was, now []field) {
	before, after := byName(was), byName(now)
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d.addTexts(where+" "+name, before[name], after[name])
	}
}

func (d *differences) content(was, now content) {
	switch {
	case was.form != nil && now.form != nil:
		above := len(*d)
		d.fields("form", was.form, now.form)
		if len(*d) == above { // a name without a value
			d.addWord("form", was.text, now.text)
		}
	case was.json != nil && now.json != nil:
		pairs("", was.json, now.json, func(path string, a, b *tree) { d.add(path, a.spaced(), b.spaced()) })
	case tape.IsText([]byte(was.text)) && tape.IsText([]byte(now.text)):
		d.lines(strings.Split(was.text, "\n"), strings.Split(now.text, "\n"))
	default:
		size := func(s string) string {
			return fmt.Sprintf("%d bytes with the checksum %08x", len(s), tape.Checksum([]byte(s)))
		}
		d.add("body", size(was.text), size(now.text))
	}
}

// lines adds the lines that differ, without equal lines at both ends. Line numbers are
// those of the new request.
func (d *differences) lines(was, now []string) {
	from, end := commonEnds(was, now, equal)
	was, now = was[from:len(was)-end], now[from:len(now)-end]
	for i := range max(len(was), len(now)) {
		line := func(lines []string) []string { return lines[min(i, len(lines)):min(i+1, len(lines))] }
		d.addTexts("line "+strconv.Itoa(from+i+1), line(was), line(now))
	}
}

const (
	maxShown     = 60 // characters of a value
	contextChars = 20 // of them before the first difference
)

// shorten shortens two values to the part around their first difference.
func shorten(was, now string) (shortWas, shortNow string) {
	a, b := []rune(was), []rune(now)
	if len(a) <= maxShown && len(b) <= maxShown {
		return was, now
	}
	from, _ := commonEnds(a, b, equal)
	if from -= contextChars; from <= contextChars {
		from = 0
	}
	return window(a, from), window(b, from)
}

func window(text []rune, from int) string {
	if len(text) == 0 {
		return ""
	}
	to := min(from+maxShown, len(text))
	out := string(text[from:to])
	if from > 0 {
		out = "…" + out
	}
	if to < len(text) {
		out += "…"
	}
	return out
}

// conversations are the members of a request that contain messages.
var conversations = []string{"messages", "contents", "input"}

// message describes the first message that differs, or returns the empty string.
func (d differences) message(was, now content) string {
	for _, x := range d {
		name, rest, _ := strings.Cut(strings.TrimPrefix(x.Where, "/"), "/")
		index, _, within := strings.Cut(rest, "/")
		i, err := strconv.Atoi(index)
		if err != nil || !slices.Contains(conversations, name) {
			continue
		}
		a, b := was.json.member(name), now.json.member(name)
		n := len(b.members)
		switch {
		case i >= n:
			return fmt.Sprintf("The conversation ends before message %d of the %d that were recorded.", i+1, len(a.members))
		case !within && x.Now == absent:
			return fmt.Sprintf("Message %d of the %d that were recorded is missing.", i+1, len(a.members))
		case !within && x.Recorded == absent:
			return fmt.Sprintf("Message %d of %d%s is the first that was not recorded.", i+1, n, b.members[i].role())
		}
		return fmt.Sprintf("Message %d of %d%s is the first that differs.", i+1, n, b.members[i].role())
	}
	return ""
}

func (v *tree) role() string {
	for _, name := range []string{"role", "type"} {
		if x := v.member(name); x != nil && strings.HasPrefix(x.text, `"`) {
			return " (" + strings.Trim(x.text, `"`) + ")"
		}
	}
	return ""
}
