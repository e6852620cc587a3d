package loop

import "slices"

// slab hands out short slices of one long one, so that what each step keeps does
// not cost an allocation of its own. They stay as long as any of them is held.
type slab[T any] struct {
	free []T
	size int // of the last long one
}

// maxSlab is how long the long one gets: it doubles each time until then.
const maxSlab = 32

// take returns n zero values.
func (s *slab[T]) take(n int) []T {
	if n > len(s.free) {
		s.size = max(min(2*s.size, maxSlab), n)
		s.free = make([]T, s.size)
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

// roomFor returns list with room for one more, of which there is twice as much
// each time: append grows long lists by a quarter, and so makes a step of a long
// run cost more than one of a short run.
func roomFor[T any](list []T) []T {
	if len(list) == cap(list) {
		return slices.Grow(list, max(len(list), 4))
	}
	return list
}
