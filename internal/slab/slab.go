// Package slab saves allocations where many short slices of one type are made one
// after another and live equally long.
package slab

// Slab hands out short slices of one long one. All of it stays as long as any of
// them is held. The zero value is ready; it is for one goroutine.
type Slab[T any] struct {
	free []T
	size int // of the last long one
}

// maxSize is how long the long one gets: it doubles each time until then.
const maxSize = 8

// Take returns n zero values, with no room behind them; nil if n is 0.
func (s *Slab[T]) Take(n int) []T {
	if n == 0 {
		return nil
	}
	if n > len(s.free) {
		s.size = max(min(2*s.size, maxSize), n)
		s.free = make([]T, s.size)
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

// One returns a zero value.
func (s *Slab[T]) One() *T { return &s.Take(1)[0] }
