// Package ordered does tasks concurrently and gives their results in the order of the tasks.
package ordered

import (
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
type Queue[T any] struct {
	give    func(T) bool
	batch   int // minimum size of what is done concurrently
	limit   int // of started batches
	next    batch[T]
	started []*batch[T]
	size    int // of the started batches
	stopped atomic.Bool
}

// batch is a list of tasks that are done one after another.
type batch[T any] struct {
	tasks   []func(give func(T))
	size    int
	results chan []T
}

// New returns a queue that gives results to a function until this returns false. Tasks are done
// concurrently once they have at least the size of a batch together. New returns nil if there is only
// one processor.
func New[T any](batch int, give func(T) bool) *Queue[T] {
	n := runtime.GOMAXPROCS(0)
	if n < 2 {
		return nil
	}
	return &Queue[T]{give: give, batch: batch, limit: 2 * n}
}

// Add adds a task of a size, and gives the results of earlier tasks that are done. The task may
// run in another goroutine.
func (q *Queue[T]) Add(size int, task func(give func(T))) {
	q.next.tasks = append(q.next.tasks, task)
	if q.next.size += size; q.next.size >= q.batch {
		q.start()
	}
	for len(q.started) > q.limit || len(q.started) > 0 && len(q.started[0].results) > 0 {
		q.giveFirst()
	}
}

// Limit gives results until the started tasks are smaller than a size together.
func (q *Queue[T]) Limit(size int) {
	for len(q.started) > 0 && q.size >= size {
		q.giveFirst()
	}
}

// Flush gives the results of all tasks. It does a few small tasks itself.
func (q *Queue[T]) Flush() {
	if len(q.started) == 0 {
		b := &batch[T]{results: make(chan []T, 1)}
		b.results <- q.do(q.next.tasks)
		q.started, q.next = append(q.started, b), batch[T]{}
	} else if len(q.next.tasks) > 0 {
		q.start()
	}
	for len(q.started) > 0 {
		q.giveFirst()
	}
}

// Stopped reports whether the function for results wants no more.
func (q *Queue[T]) Stopped() bool { return q.stopped.Load() }

func (q *Queue[T]) start() {
	b := q.next
	q.next = batch[T]{}
	b.results = make(chan []T, 1)
	q.started = append(q.started, &b)
	q.size += b.size
	go func() { b.results <- q.do(b.tasks) }()
}

func (q *Queue[T]) do(tasks []func(give func(T))) (results []T) {
	for _, task := range tasks {
		if !q.stopped.Load() {
			task(func(result T) { results = append(results, result) })
		}
	}
	return results
}

// giveFirst gives the results of the first started batch.
func (q *Queue[T]) giveFirst() {
	b := q.started[0]
	q.started = q.started[1:]
	results := <-b.results
	q.size -= b.size
	for _, result := range results {
		if !q.stopped.Load() && !q.give(result) {
			q.stopped.Store(true)
		}
	}
}
