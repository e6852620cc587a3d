package cassettes

import (
	"maps"
	"net/http"
	"slices"
	"sync"
)

// seen are the secrets of the interactions of a cassette so far that look random, which
// are looked for in later ones. They stay in memory.
//
// A replay sees those of the requests alone, in the same order; what a client has from a
// recorded answer is redacted already. What does not look random, such as the theme that
// a cookie names, a client may have from elsewhere: it would be redacted in a recording
// and not in its replay.
type seen struct {
	mu    sync.Mutex
	found *secrets        // never changed: others take its place
	all   *secrets        // with those that do not look random
	names map[string]bool // whether headers of these names may be secret
	met   map[string]bool // their values that were looked at
	knew  map[int]int     // how many there were before an interaction was redacted
}

// nothingSeen is what was seen before the first interaction.
func nothingSeen() *seen {
	return &seen{found: &secrets{}, all: &secrets{}, names: map[string]bool{}, met: map[string]bool{}, knew: map[int]int{}}
}

// whole is what was found so far, with what does not look random: a replay may have a
// key such as test-key where the recording had a real one.
func (s *seen) whole() *secrets {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// now is what was found so far.
func (s *seen) now() *secrets {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found
}

// learn adds secrets.
func (s *seen) learn(of *secrets) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = s.found.with(of, isMixed)
	s.all = s.all.with(of, func(string) bool { return true })
}

// with are secrets and those of others that are kept.
func (s *secrets) with(of *secrets, keep func(string) bool) *secrets {
	more := s
	for secret := range of.known {
		if s.known[secret] || !keep(secret) {
			continue
		}
		if more == s {
			more = &secrets{known: maps.Clone(s.known), spellings: s.spellings}
			more.list = slices.Clone(s.list)
		}
		more.add(secret)
	}
	more.order()
	return more
}

// redacted is an interaction without its secrets and those that were seen before.
func (c *Cassette) redacted(x *Interaction) *Interaction {
	before := c.seen.now()
	clean, r := c.opts.redacted(x, false, before)
	c.seen.learn(&r.found)
	return clean
}

// recorded is redacted, of the interaction with a number.
func (c *Cassette) recorded(number int, x *Interaction) *Interaction {
	knew := len(c.seen.now().known)
	clean := c.redacted(x)
	c.seen.mu.Lock()
	defer c.seen.mu.Unlock()
	c.seen.knew[number] = knew
	return clean
}

// notice notes the secrets in the header of a request that is not redacted.
func (c *Cassette) notice(h http.Header) {
	for name, values := range h {
		if !c.seen.mayHold(&c.opts, name) {
			continue
		}
		for _, v := range values {
			if c.seen.meets(v) {
				c.seen.learn(&c.opts.redact(&Interaction{Request: Request{Header: http.Header{name: {v}}}}, false, &secrets{}).found)
			}
		}
	}
}

// mayHold reports whether a header of this name may hold a secret.
func (s *seen) mayHold(o *Options, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	may, known := s.names[name]
	if !known {
		may = o.secrecy(kindHeader, name) != secretNever
		s.names[name] = may
	}
	return may
}

// meets reports whether a value is met for the first time.
func (s *seen) meets(value string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	met := s.met[value]
	s.met[value] = true
	return !met
}

// late are the places in a recording where a secret stands that was seen only later.
func (c *Cassette) late() (suspects []SuspectedSecret) {
	found := c.seen.now()
	for _, f := range c.journal.frames {
		if c.seen.knew[f.number] == len(found.known) {
			continue
		}
		x := &Interaction{}
		if text, err := f.text(); err != nil || (&block{rest: text}).read(x) != nil {
			continue // close tells what cannot be read
		}
		for _, s := range c.opts.suspects(x, found) {
			s.Interaction = f.number
			suspects = append(suspects, s)
		}
	}
	return suspects
}
