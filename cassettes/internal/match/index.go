package match

import (
	"slices"
	"strings"
	"sync"

	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
)

// tape is a cassette that is replayed.
type Index struct {
	file     *tape.File
	keys     []tape.Keys // of the interactions by this matching
	matching Matcher

	// sent finds an interaction by the key of its request byte by byte.
	sent map[uint64]int32

	mu   sync.Mutex
	by   map[uint64]int32 // the first interaction of a key, exact or bare, that may be left, or -1
	next []int32          // the one with the same exact key behind each, or -1
	bare []int32          // the same for bare keys
	used []bool
}

// newTape makes an index of a file.
func NewIndex(f *tape.File, m Matcher, redacted func(*recording.Interaction) *recording.Interaction) (*Index, error) {
	n := f.Len()
	t := &Index{
		file: f, keys: f.Keys(), matching: m, sent: make(map[uint64]int32, n), by: make(map[uint64]int32, n),
		next: make([]int32, n), bare: make([]int32, n), used: make([]bool, n),
	}
	told := m.Name() != "" && m.Name() == f.Match
	if !told {
		t.keys = slices.Clone(t.keys) // others may replay the file, too
	}
	for i := n - 1; i >= 0; i-- {
		k := t.keys[i]
		if !told {
			x, err := f.Interaction(i)
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

// add puts an interaction before the others of a key.
func (t *Index) add(key uint64, i int32, next []int32) {
	next[i] = -1
	if j, ok := t.by[key]; ok {
		next[i] = j
	}
	t.by[key] = i
}

// take uses the next interaction of a request: with the same secrets, or, if none was
// recorded with them, with others. It is -1 if there is none.
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

// TakeSame uses the interaction of a request that was recorded as it is, in all that
// counts: it holds no secret there, and need not be redacted to be found. It is -1 if
// there is none.
func (t *Index) TakeSame(session string, r *recording.Request) int {
	if t.matching.Own != nil || t.matching.Custom {
		return -1
	}
	if i, same := t.sent[sentKey(session, r)]; same {
		return t.take(tape.Keys{Exact: t.keys[i].Exact})
	}
	return t.take(tape.Keys{Exact: digest(t.matching.text(session, r))})
}

// Take uses the next interaction of a request, which is redacted. It is -1 if there is none.
func (t *Index) Take(session string, r *recording.Request) int {
	return t.take(t.matching.key(session, r))
}

// first is the first interaction of a key that was not used, or -1, and whether any was
// recorded. Those before it are forgotten.
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

// spent is the last interaction of a key that was used, or -1.
func (t *Index) spent(key uint64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, k := range slices.Backward(t.keys) {
		if t.used[i] && key != 0 && (k.Exact == key || k.Bare == key) {
			return i
		}
	}
	return -1
}

// unused are the titles of the interactions that were not used.
func (t *Index) Unused() (titles []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, used := range t.used {
		if !used {
			titles = append(titles, strings.Clone(t.file.Title(i)))
		}
	}
	return titles
}

// usedNumbers are the numbers of the interactions that were used.
func (t *Index) Used() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []int{}
	for i, used := range t.used {
		if used {
			list = append(list, i+1)
		}
	}
	return list
}

// TakeMarked uses the first interaction that is left whose request is one with this session
// but for marks of what that still says: secrets that only the answer named, so that
// nothing tells them where they are asked for. It is -1 if there is none.
func (t *Index) TakeMarked(session string, r *recording.Request) int {
	if t.matching.Own != nil {
		return -1
	}
	now := t.matching.meant(r)
	for _, i := range t.marked() {
		x, err := t.file.Interaction(i)
		if err == nil && x.Session == session && t.matching.meant(&x.Request).stands(now) && t.use(i) {
			return i
		}
	}
	return -1
}

// marked are the interactions that are left which have a mark in what a request is known
// by, in their order: one in a header, as of each that has a key, is none.
func (t *Index) marked() (list []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.keys {
		if !t.used[i] && (HasPlaceholder(t.file.Title(i)) || HasPlaceholder(jsonio.View(t.file.RequestBody(i)))) {
			list = append(list, i)
		}
	}
	return list
}

// use uses an interaction, unless somebody else has.
func (t *Index) use(i int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	free := !t.used[i]
	t.used[i] = true
	return free
}
