package check

import "math/bits"

// ids finds the place of a call by the hash of its id. It is a table of open
// addressing: it is asked for every call, and a map takes three times as long.
type ids struct {
	places []place
	// slots has a power of two of places' indices, plus one; 0 is free. A place
	// is in the first slot from its hash on that was free, modulo their number.
	slots []int32
}

// place says what is known of a call's id.
type place struct {
	hash  uint64
	msg   int32 // the index of the message with the call; -1 if in none
	turn  int32 // the model turn of the run that made it; 0 for older ones
	index int32 // in that turn
	open  int32 // the index in a list's open of the first call that may wait for its result
	tail  int32 // that of the last call
	dup   bool  // that it was used twice was reported
	gone  bool  // the id is unknown again
}

func newIDs() ids { return ids{slots: make([]int32, 8)} }

// lookup returns the place of an id with this hash, if there is one.
func (t *ids) lookup(hash uint64) (at int32, ok bool) {
	for i := hash; ; i++ {
		slot := t.slots[i&uint64(len(t.slots)-1)]
		if slot == 0 {
			return 0, false
		}
		if p := &t.places[slot-1]; p.hash == hash && !p.gone {
			return slot - 1, true
		}
	}
}

// add returns a new place for an id with this hash, which has none.
func (t *ids) add(hash uint64) int32 {
	at := int32(len(t.places))
	t.places = append(t.places, place{hash: hash, msg: -1})
	if 2*len(t.places) > len(t.slots) {
		t.slots = make([]int32, 2*len(t.slots))
		for at := range t.places {
			t.put(int32(at))
		}
		return at
	}
	t.put(at)
	return at
}

func (t *ids) put(at int32) {
	i := t.places[at].hash
	for t.slots[i&uint64(len(t.slots)-1)] != 0 {
		i++
	}
	t.slots[i&uint64(len(t.slots)-1)] = at + 1
}

// forget makes an id with this hash unknown.
func (t *ids) forget(hash uint64) {
	if at, ok := t.lookup(hash); ok {
		t.places[at].gone = true
	}
}

// hash is for ids, eight bytes at a time: ids that differ in one such word never
// have the same. Ids are kept as hashes because the texts would keep the lines
// of a trace file in memory.
func hash(id string) uint64 {
	h := uint64(len(id))
	for len(id) >= 8 {
		h = mix(h, id[:8])
		id = id[8:]
	}
	return mix(h, id)
}

// mix takes up to eight bytes into a hash. Each step of it can be undone.
func mix(h uint64, word string) uint64 {
	const odd = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	var x uint64
	if len(word) == 8 {
		x = uint64(word[0]) | uint64(word[1])<<8 | uint64(word[2])<<16 | uint64(word[3])<<24 |
			uint64(word[4])<<32 | uint64(word[5])<<40 | uint64(word[6])<<48 | uint64(word[7])<<56
	} else {
		for i := range len(word) {
			x |= uint64(word[i]) << (8 * i)
		}
	}
	h = (h ^ x) * odd
	return h ^ bits.RotateLeft64(h, 23) ^ bits.RotateLeft64(h, 47)
}
