package match

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/looptape/looptape/cassettes/recording"
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
		x, err := t.file.Interaction(i)
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
	x, _ := t.file.Interaction(best) // read above
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
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Or(b.rank-a.rank, a.off-b.off) })
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
