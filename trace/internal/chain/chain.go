// Package chain computes the rolling hashes of conversations in a trace.
package chain

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/cespare/xxhash/v2"
)

// Chain is the rolling hash of one conversation: the requests with one purpose in one run. It
// stores the hash of every prefix, eight bytes per message.
//
// The hash of zero messages is 0. Each further hash is the XXH64 of the encoded message with the
// previous hash as seed.
type Chain struct {
	sums []uint64
	// lost is true if a line was invalid. Then the messages are unknown until a request keeps
	// none.
	lost   bool
	digest xxhash.Digest
}

// Len returns the number of messages; known is false if a line was invalid.
func (c *Chain) Len() (n int, known bool) { return len(c.sums), !c.lost }

// Keep truncates the conversation to the first n messages. It reports whether there were n
// messages; if not, the conversation is lost.
func (c *Chain) Keep(n int) bool {
	switch {
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

// Add adds encoded messages.
func (c *Chain) Add(messages []string) {
	for _, m := range messages {
		c.digest.ResetWithSeed(c.sum())
		_, _ = c.digest.WriteString(m) // never fails
		c.sums = append(c.sums, c.digest.Sum64())
	}
}

// sum returns the hash of all messages.
func (c *Chain) sum() uint64 {
	if len(c.sums) == 0 {
		return 0
	}
	return c.sums[len(c.sums)-1]
}

// AppendHash appends the hash of all messages as 16 hexadecimal digits.
func (c *Chain) AppendHash(dst []byte) []byte {
	return hex.AppendEncode(dst, binary.BigEndian.AppendUint64(nil, c.sum()))
}

// Chains contains the conversations of the unfinished runs, by run and purpose.
type Chains map[string]map[string]*Chain

// Of returns the conversation of a run and a purpose.
func (cs Chains) Of(run, purpose string) *Chain {
	if cs[run] == nil {
		cs[run] = map[string]*Chain{}
	}
	c := cs[run][purpose]
	if c == nil {
		c = &Chain{}
		cs[run][purpose] = c
	}
	return c
}

// Lose marks every conversation as lost.
func (cs Chains) Lose() {
	for _, run := range cs {
		for _, c := range run {
			c.lost = true
		}
	}
}
