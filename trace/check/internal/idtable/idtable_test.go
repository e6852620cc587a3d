package idtable

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The table returns for every hash what a map returns, also of hashes that fall into
// the same slots and of ids that were discarded and came again.
func TestIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, want := New(), map[uint64]int32{}
		hashes := rapid.OneOf(rapid.Uint64Range(0, 20), rapid.Uint64Range(1<<63, 1<<63+5), rapid.Just(^uint64(0)))
		for _, h := range rapid.SliceOf(hashes).Draw(t, "hashes") {
			at, known := want[h]
			switch {
			case !known:
				want[h] = table.Add(h)
			case at%3 == 0:
				table.Discard(h)
				delete(want, h)
			}
			table.Discard(h + 1<<40)
			for h := range uint64(22) {
				at, known := want[h]
				if got, ok := table.Lookup(h); got != at || ok != known {
					t.Fatalf("lookup(%d) = %d, %v, want %d, %v", h, got, ok, at, known)
				}
			}
		}
		if 2*len(table.Places) > len(table.slots) {
			t.Fatalf("%d places in %d slots", len(table.Places), len(table.slots))
		}
	})
}

// The table is at most half full, and no larger than that needs.
func TestIDsGrow(t *testing.T) {
	table := New()
	for n, want := range []int{8, 8, 8, 8, 8, 16, 16, 16, 16, 32} {
		if len(table.slots) != want {
			t.Errorf("%d places have %d slots, want %d", n, len(table.slots), want)
		}
		table.Add(uint64(n))
	}
}

// Ids that providers give differ in few characters, at any place.
func TestHashesDiffer(t *testing.T) {
	seen := map[uint64]string{}
	low := map[uint64]int{}
	add := func(id string) {
		h := Hash(id)
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
	if Hash("call_1") != Hash("call"+"_1") {
		t.Error("an id has two hashes")
	}
	for slot, n := range low {
		if n > 60 { // 20 on average
			t.Errorf("%d of 20,000 hashes end in the same ten bits, %#x", n, slot)
		}
	}
}
