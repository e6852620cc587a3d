package slab

import "testing"

func TestSlabTake(t *testing.T) {
	var s Slab[int]
	seen := map[*int]bool{}
	for _, n := range []int{1, 1, 3, 2, 40, 1, 32, 33, 7, 1} {
		got := s.Take(n)
		if len(got) != n || cap(got) != n {
			t.Fatalf("Take(%d) has length %d and capacity %d", n, len(got), cap(got))
		}
		for i := range got {
			if got[i] != 0 || seen[&got[i]] {
				t.Fatalf("Take(%d)[%d] is in use", n, i)
			}
			got[i], seen[&got[i]] = 1, true
		}
	}
	if got := s.Take(0); got != nil {
		t.Errorf("Take(0) is %v", got)
	}
}

// One value at a time costs 1, 2, 4, 8, 8 … values.
func TestSlabGrowth(t *testing.T) {
	var s Slab[int]
	var sizes []int
	for range 60 {
		left := len(s.free)
		*s.One() = 1
		if left == 0 {
			sizes = append(sizes, len(s.free)+1)
		}
	}
	want := []int{1, 2, 4, 8, 8, 8, 8, 8, 8, 8}
	if len(sizes) != len(want) {
		t.Fatalf("made %v, want %v", sizes, want)
	}
	for i := range want {
		if sizes[i] != want[i] {
			t.Fatalf("made %v, want %v", sizes, want)
		}
	}
}
