// Package match compares requests with recorded ones: keys, canonical bodies and the
// nearest recorded request.
package match

import (
	"slices"
	"strings"
	"sync"

	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
)

// Index finds the interaction of a file that answers a request. It uses each interaction
// once. It is safe for use by many goroutines.
type Index struct {
	file    *tape.File
	keys    []tape.Keys // of the interactions, by matching
	matcher Matcher

	// sent maps the exact bytes of a request to an interaction.
	sent map[uint64]int32

	mu   sync.Mutex
	by   map[uint64]int32 // first interaction of an exact or bare key that may be unused, or -1
	next []int32          // next interaction with the same exact key, or -1
	bare []int32          // next interaction with the same bare key, or -1
	used []bool
}

// NewIndex returns an index of a file. If the keys of the file were made by other matching
// rules, it makes new keys from the requests that redacted returns.
func NewIndex(f *tape.File, m Matcher, redacted func(*recording.Interaction) *recording.Interaction) (*Index, error) {
	n := f.Len()
	t := &Index{
		file: f, keys: f.Keys(), matcher: m, sent: make(map[uint64]int32, n), by: make(map[uint64]int32, n),
		next: make([]int32, n), bare: make([]int32, n), used: make([]bool, n),
	}
	sameRules := m.Name() != "" && m.Name() == f.Match
	if !sameRules {
		t.keys = slices.Clone(t.keys) // the file may have other users
	}
	for i := n - 1; i >= 0; i-- {
		k := t.keys[i]
		if !sameRules {
			x, err := f.Request(i)
			if err != nil {
				return nil, err
			}
			k = m.Keys(x.Session, &redacted(x).Request)
			t.keys[i] = k
		}
		if k.Sent != 0 {
			t.sent[k.Sent] = int32(i)
		}
		t.add(k.Exact, int32(i), t.next)
		if k.Bare != 0 {
			t.add(k.Bare, int32(i), t.bare)
		}
	}
	return t, nil
}

func (t *Index) add(key uint64, i int32, next []int32) {
	next[i] = -1
	if j, ok := t.by[key]; ok {
		next[i] = j
	}
	t.by[key] = i
}

// take uses the next interaction with the same secrets. If none was recorded, it uses one
// with other secrets. It returns -1 if there is none.
func (t *Index) take(k tape.Keys) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, recorded := t.first(k.Exact, t.next)
	if !recorded && k.Bare != 0 {
		i, _ = t.first(k.Bare, t.bare)
	}
	if i >= 0 {
		t.used[i] = true
	}
	return int(i)
}

// TakeSame uses an interaction whose request is the same before redaction. Such a request
// contains no secret. TakeSame returns -1 if there is none.
func (t *Index) TakeSame(session string, r *recording.Request) int {
	if t.matcher.Own != nil || t.matcher.Custom {
		return -1
	}
	if i, same := t.sent[sentKey(session, r)]; same {
		return t.take(tape.Keys{Exact: t.keys[i].Exact})
	}
	return t.take(tape.Keys{Exact: digest(t.matcher.text(session, r))})
}

// Take uses the next interaction of a redacted request. It returns -1 if there is none.
func (t *Index) Take(session string, r *recording.Request) int {
	return t.take(t.matcher.key(session, r))
}

// first returns the first unused interaction of a key or -1, and whether any was recorded.
// It drops the used ones before it.
func (t *Index) first(key uint64, next []int32) (first int32, recorded bool) {
	first, recorded = t.by[key]
	if !recorded {
		return -1, false
	}
	for first >= 0 && t.used[first] {
		first = next[first]
	}
	t.by[key] = first
	return first, true
}

// Unused returns the titles of the unused interactions.
func (t *Index) Unused() (titles []string) {
	for _, n := range t.numbers(false) {
		titles = append(titles, strings.Clone(t.file.Title(n-1)))
	}
	return titles
}

// Used returns the numbers of the used interactions.
func (t *Index) Used() []int { return t.numbers(true) }

func (t *Index) numbers(used bool) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []int{}
	for i, is := range t.used {
		if is == used {
			list = append(list, i+1)
		}
	}
	return list
}

// TakeByPlaceholder uses the first unused interaction whose request has placeholders where this
// request has the secrets. Such secrets were named only by the response. TakeByPlaceholder returns
// -1 if there is none.
func (t *Index) TakeByPlaceholder(session string, r *recording.Request) int {
	if t.matcher.Own != nil {
		return -1
	}
	now := t.matcher.identity(r)
	for _, i := range t.withPlaceholder() {
		x, err := t.file.Request(i)
		if err == nil && x.Session == session && t.matcher.identity(&x.Request).matches(now) && t.use(i) {
			return i
		}
	}
	return -1
}

// TakeRedacted uses the first unused interaction whose request redaction still changes, and is then
// equal to this one. Older versions redacted less. TakeRedacted returns -1 if there is none.
func (t *Index) TakeRedacted(session string, r *recording.Request, redacted func(*recording.Interaction) *recording.Interaction) int {
	now := t.matcher.key(session, r)
	for i := range t.keys {
		if t.inUse(i) {
			continue
		}
		x, err := t.file.Request(i)
		if err != nil {
			continue
		}
		k := t.matcher.key(x.Session, &redacted(x).Request)
		if k.Exact != t.keys[i].Exact && (k.Exact == now.Exact || k.Bare != 0 && k.Bare == now.Bare) && t.use(i) {
			return i
		}
	}
	return -1
}

func (t *Index) inUse(i int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used[i]
}

// withPlaceholder returns the unused interactions with a placeholder in the URL or the body.
func (t *Index) withPlaceholder() (list []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.keys {
		if !t.used[i] && (HasPlaceholder(t.file.Title(i)) || HasPlaceholder(jsonio.View(t.file.RequestBody(i)))) {
			list = append(list, i)
		}
	}
	return list
}

// use marks an interaction as used and reports whether it was unused.
func (t *Index) use(i int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	free := !t.used[i]
	t.used[i] = true
	return free
}
