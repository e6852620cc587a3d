// Package ordered does tasks concurrently and gives their results in the order of the tasks.
package ordered

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
)

// minSize is the minimum size of what Each does concurrently, in bytes.
const minSize = 256 << 10

// Each does n tasks, which have a size together. It returns when all are done. It does large ones on all
// processors.
func Each(n, size int, do func(int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers < 2 || size < minSize {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}

// Queue holds tasks and their results. Its methods are for one goroutine, which also gets the results.
type Queue[T, R any] struct {
	do      func(tasks iter.Seq[*T], give func(R))
	give    func(R) bool
	batch   int // minimum size of what is done concurrently
	limit   int // of started batches
	next    *batch[T, R]
	started []*batch[T, R]
	size    int            // of the started batches
	unused  []*batch[T, R] // for further tasks, so that these need no new memory
	stopped atomic.Bool
}

// batch is a list of tasks that are done one after another.
type batch[T, R any] struct {
	tasks   []T
	size    int
	results []R
	done    chan struct{} // gets a value when the results are complete
}

// New returns a queue that does tasks, and gives their results to a function until this returns false. Tasks
// are done concurrently once they have at least the size of a batch together: do gets them in their order, and
// runs in several goroutines. New returns nil if there is only one processor.
func New[T, R any](batch int, do func(tasks iter.Seq[*T], give func(R)), give func(R) bool) *Queue[T, R] {
	n := runtime.GOMAXPROCS(0)
	if n < 2 {
		return nil
	}
	q := &Queue[T, R]{do: do, give: give, batch: batch, limit: 2 * n}
	q.begin()
	return q
}

// begin begins a batch.
func (q *Queue[T, R]) begin() {
	if n := len(q.unused); n > 0 {
		q.next, q.unused = q.unused[n-1], q.unused[:n-1]
	} else {
		q.next = &batch[T, R]{done: make(chan struct{}, 1)}
	}
}

// Add adds a task of a size, and gives the results of earlier tasks that are done.
func (q *Queue[T, R]) Add(size int, task T) {
	q.next.tasks = append(q.next.tasks, task)
	if q.next.size += size; q.next.size >= q.batch {
		go q.run(q.start())
	}
	for len(q.started) > q.limit || len(q.started) > 0 && len(q.started[0].done) > 0 {
		q.giveFirst()
	}
}

// Limit gives results until the started tasks are smaller than a size together.
func (q *Queue[T, R]) Limit(size int) {
	for len(q.started) > 0 && q.size >= size {
		q.giveFirst()
	}
}

// Flush gives the results of all tasks. It does a few small tasks itself.
func (q *Queue[T, R]) Flush() {
	switch {
	case len(q.next.tasks) == 0:
	case len(q.started) == 0:
		q.run(q.start())
	default:
		go q.run(q.start())
	}
	for len(q.started) > 0 {
		q.giveFirst()
	}
}

// Stopped reports whether the function for results wants no more.
func (q *Queue[T, R]) Stopped() bool { return q.stopped.Load() }

func (q *Queue[T, R]) start() *batch[T, R] {
	b := q.next
	q.begin()
	q.started = append(q.started, b)
	q.size += b.size
	return b
}

func (q *Queue[T, R]) run(b *batch[T, R]) {
	q.do(func(yield func(*T) bool) {
		for i := range b.tasks {
			if q.stopped.Load() || !yield(&b.tasks[i]) {
				return
			}
		}
	}, func(result R) { b.results = append(b.results, result) })
	b.done <- struct{}{}
}

// giveFirst gives the results of the first started batch.
func (q *Queue[T, R]) giveFirst() {
	b := q.started[0]
	q.started = q.started[1:]
	<-b.done
	clear(b.tasks)
	q.size -= b.size
	for i := range b.results {
		if !q.stopped.Load() && !q.give(b.results[i]) {
			q.stopped.Store(true)
		}
	}
	clear(b.results)
	b.tasks, b.results, b.size = b.tasks[:0], b.results[:0], 0
	q.unused = append(q.unused, b)
}
