// Package slab reduces allocations where code creates many short slices of one
// type that live equally long.
package slab

// Slab allocates short slices from one backing array. The array stays in memory
// as long as any of the slices does. The zero value is ready for use. A Slab is
// for one goroutine.
type Slab[T any] struct {
	free []T
	size int // of the last backing array
}

// maxSize is the length up to which each backing array is twice as long as the
// last.
const maxSize = 8

// Take returns n zero values in a slice without spare capacity; nil if n is 0.
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

// One returns a pointer to a zero value.
func (s *Slab[T]) One() *T { return &s.Take(1)[0] }
