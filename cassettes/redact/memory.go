package redact

import (
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/looptape/looptape/cassettes/recording"
)

// Memory redacts the interactions of one recording or replay. It removes from each
// interaction also the secrets of earlier ones that look random. A secret that does not
// look random, such as the theme that a cookie names, can occur elsewhere by chance.
//
// The secrets stay in memory. A Memory is safe for use by many goroutines.
type Memory struct {
	rules *Rules
	above *Memory // see Interaction

	mu     sync.Mutex
	random *secrets           // those that look random; replaced, never changed
	all    *secrets           // all secrets; replaced, never changed
	seen   map[[2]string]bool // names and values of headers
}

// NewMemory returns an empty Memory for these rules.
func NewMemory(rules *Rules) *Memory {
	none := &secrets{}
	return &Memory{rules: rules, random: none, all: none}
}

// Interaction returns a Memory for the parts of one interaction. It also removes the secrets of earlier
// parts that do not look random, and m remembers what it finds.
func (m *Memory) Interaction() *Memory {
	part := NewMemory(m.rules)
	part.above = m
	return part
}

func (m *Memory) known() (random, all *secrets) {
	if m.above != nil {
		random, all = m.above.known()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.above != nil {
		return random.with(m.all, always), all.with(m.all, always)
	}
	return m.random, m.all
}

func always(string) bool { return true }

// Len returns the number of secrets that look random.
func (m *Memory) Len() int {
	random, _ := m.known()
	return len(random.known)
}

func (m *Memory) learn(found *secrets) {
	if m.above != nil {
		m.above.learn(found)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.random = m.random.with(found, isMixed)
	m.all = m.all.with(found, always)
}

// learnAll remembers secrets in names of JSON members as if they looked random: so FindSecrets finds
// them.
func (m *Memory) learnAll(found *secrets) {
	if m.above != nil {
		m.above.learnAll(found)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.random, m.all = m.random.with(found, always), m.all.with(found, always)
}

// with returns these secrets and the other ones that keep accepts.
func (s *secrets) with(of *secrets, keep func(string) bool) *secrets {
	more := s
	for secret := range of.known {
		if s.known[secret] || !keep(secret) {
			continue
		}
		if more == s {
			more = &secrets{known: maps.Clone(s.known), searchSet: s.searchSet}
			more.list = slices.Clone(s.list)
		}
		more.add(secret)
	}
	more.order()
	return more
}

// Redacted is [Rules.Redacted] without the secrets of earlier interactions.
func (m *Memory) Redacted(x *recording.Interaction) *recording.Interaction {
	random, _ := m.known()
	clean, r := m.rules.redacted(x, false, random, &secrets{})
	m.learn(&r.found)
	m.learnAll(r.names)
	return clean
}

// RedactedAll is [Memory.Redacted] without the earlier secrets that do not look random
// either: a replay may use a key such as test-key where the recording used a real one.
// It remembers nothing.
func (m *Memory) RedactedAll(x *recording.Interaction) *recording.Interaction {
	_, all := m.known()
	clean, _ := m.rules.redacted(x, false, all, nil)
	return clean
}

// FindSecrets is [Rules.FindSecrets] with the secrets of all interactions.
func (m *Memory) FindSecrets(x *recording.Interaction) []SuspectedSecret {
	random, _ := m.known()
	return m.rules.findSecrets(x, random)
}

// Notice remembers the secrets in the header of a request that is not redacted.
func (m *Memory) Notice(h http.Header) {
	for name, values := range h {
		for _, v := range values {
			if m.isNew(name, v) && m.rules.secrecy(kindHeader, name) != secretNever {
				x := &recording.Interaction{Request: recording.Request{Header: http.Header{name: {v}}}}
				m.learn(&m.rules.redact(x, false, &secrets{}, nil).found)
			}
		}
	}
}

// isNew reports whether a header is seen for the first time.
func (m *Memory) isNew(name, value string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	header := [2]string{name, value}
	switch {
	case m.seen[header]:
		return false
	case m.seen == nil:
		m.seen = map[[2]string]bool{}
	}
	m.seen[header] = true
	return true
}
