package trace

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/cespare/xxhash/v2"
)

// chain is the rolling hash of one conversation: the requests with one purpose in one run. It
// stores the hash of every prefix, eight bytes per message.
//
// The hash of zero messages is 0. Each further hash is the XXH64 of the encoded message with the
// previous hash as seed.
type chain struct {
	sums []uint64
	// lost is true if a line was invalid. Then the messages are unknown until a request keeps
	// none.
	lost   bool
	digest xxhash.Digest
}

// sum is the hash of all messages.
func (c *chain) sum() uint64 {
	if len(c.sums) == 0 {
		return 0
	}
	return c.sums[len(c.sums)-1]
}

// keep truncates the conversation to the first n messages. It reports whether there were n messages;
// if not, the conversation is lost. A nil chain keeps nothing.
func (c *chain) keep(n int) bool {
	switch {
	case c == nil:
		return false
	case n == 0:
		c.lost = false
	case n < 0 || n > len(c.sums):
		c.lost = true
	}
	if c.lost {
		return false
	}
	c.sums = c.sums[:n]
	return true
}

func (c *chain) add(message string) {
	c.digest.ResetWithSeed(c.sum())
	_, _ = c.digest.WriteString(message) // a hash takes all
	c.sums = append(c.sums, c.digest.Sum64())
}

func (c *chain) appendHash(dst []byte) []byte {
	return hex.AppendEncode(dst, binary.BigEndian.AppendUint64(nil, c.sum()))
}

// chains contains the conversations of the unfinished runs.
type chains map[string]map[Purpose]*chain

// of returns the conversation that ev belongs to.
func (cs chains) of(ev *Event) *chain {
	run := cs[ev.Run]
	if run == nil {
		run = map[Purpose]*chain{}
		cs[ev.Run] = run
	}
	c := run[ev.Purpose]
	if c == nil {
		c = &chain{}
		run[ev.Purpose] = c
	}
	return c
}

// end deletes the hashes of a run.
func (cs chains) end(run string) { delete(cs, run) }

// lose marks every conversation as lost.
func (cs chains) lose() {
	for _, run := range cs {
		for _, c := range run {
			c.lost = true
		}
	}
}
