package check

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The table says of every hash what a map would, also of hashes that fall into
// the same slots and of ids that were forgotten and came again.
func TestIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, want := newIDs(), map[uint64]int32{}
		hashes := rapid.OneOf(rapid.Uint64Range(0, 20), rapid.Uint64Range(1<<63, 1<<63+5), rapid.Just(^uint64(0)))
		for _, h := range rapid.SliceOf(hashes).Draw(t, "hashes") {
			at, known := want[h]
			switch {
			case !known:
				want[h] = table.add(h)
			case at%3 == 0:
				table.forget(h)
				delete(want, h)
			}
			table.forget(h + 1<<40)
			for h := range uint64(22) {
				at, known := want[h]
				if !known {
					at = -1
				}
				if got := table.lookup(h); got != at {
					t.Fatalf("lookup(%d) = %d, want %d", h, got, at)
				}
			}
		}
		if 2*len(table.places) > len(table.slots) {
			t.Fatalf("%d places in %d slots", len(table.places), len(table.slots))
		}
	})
}

// Ids that providers give differ in few characters, at any place.
func TestHashesDiffer(t *testing.T) {
	seen := map[uint64]string{}
	low := map[uint64]int{}
	add := func(id string) {
		h := hash(id)
		if other, ok := seen[h]; ok {
			t.Errorf("%q and %q have one hash", id, other)
		}
		seen[h] = id
		low[h%1024]++
	}
	for n := range 10_000 {
		add(fmt.Sprintf("call_%06d", n))
		add(fmt.Sprintf("%d_of_a_call_with_a_long_id", n))
	}
	for n := range 40 {
		add(strings.Repeat("0", n+1))
		add(string(make([]byte, n)))
	}
	if hash("call_1") != hash("call"+"_1") {
		t.Error("an id has two hashes")
	}
	for slot, n := range low {
		if n > 60 { // 20 on average
			t.Errorf("%d of 20,000 hashes end in the same ten bits, %#x", n, slot)
		}
	}
}
