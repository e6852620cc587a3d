// Package idtable maps the ids of tool calls to what is known about them, by hashes.
package idtable

import "github.com/cespare/xxhash/v2"

// Table finds the place of a call by the hash of its id. It is a hash table with open
// addressing: every call is looked up, and a map takes three times as long.
type Table struct {
	Places []Place
	// slots has indices of Places, plus one; 0 is free. Its length is a power of two. A place
	// is in the first slot from its hash on that was free, modulo the length.
	slots []int32
}

// Place is what is known about the id of a call.
type Place struct {
	hash     uint64
	Msg      int32 // index of the message with the call; -1 if there is none
	Response int32 // number of the run's response with the call; 0 for older calls
	Index    int32 // in that response
	Open     int32 // index in list.open of the first call that may wait for its result
	Tail     int32 // index in list.open of the last call
	Dup      bool  // the reuse of the id was reported
	Twin     bool  // its reuse in one message was reported
	gone     bool  // the id is unknown again
}

// New returns an empty table.
func New() Table { return Table{slots: make([]int32, 8)} }

// Clear removes all ids.
func (t *Table) Clear() {
	clear(t.slots)
	t.Places = t.Places[:0]
}

// Lookup returns the place of an id with this hash, if there is one.
func (t *Table) Lookup(hash uint64) (at int32, ok bool) {
	for i := hash; ; i++ {
		slot := t.slots[i&uint64(len(t.slots)-1)]
		if slot == 0 {
			return 0, false
		}
		if p := &t.Places[slot-1]; p.hash == hash && !p.gone {
			return slot - 1, true
		}
	}
}

// Add returns a new place for an id with this hash, which has none.
func (t *Table) Add(hash uint64) int32 {
	at := int32(len(t.Places))
	t.Places = append(t.Places, Place{hash: hash, Msg: -1})
	if 2*len(t.Places) > len(t.slots) {
		t.slots = make([]int32, 2*len(t.slots))
		for at := range t.Places {
			t.put(int32(at))
		}
		return at
	}
	t.put(at)
	return at
}

func (t *Table) put(at int32) {
	i := t.Places[at].hash
	for t.slots[i&uint64(len(t.slots)-1)] != 0 {
		i++
	}
	t.slots[i&uint64(len(t.slots)-1)] = at + 1
}

// Discard makes an id with this hash unknown.
func (t *Table) Discard(hash uint64) {
	if at, ok := t.Lookup(hash); ok {
		t.Places[at].gone = true
	}
}

// Hash hashes an id. Ids are kept as hashes because strings would keep the lines of a trace in
// memory.
func Hash(id string) uint64 { return xxhash.Sum64String(id) }
