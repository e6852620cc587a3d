package ordered_test

import (
	"iter"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/internal/ordered"
)

// All results are given in the order of the tasks, up to the last one that is wanted.
func TestOrder(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	rapid.Check(t, func(t *rapid.T) {
		tasks := rapid.SliceOf(rapid.IntRange(0, 5)).Draw(t, "tasks") // results of each
		wanted := rapid.IntRange(1, 100).Draw(t, "wanted")
		given := 0
		do := func(tasks iter.Seq[*[2]int], give func(int)) {
			for task := range tasks {
				for n := task[0]; n < task[1]; n++ {
					give(n)
				}
			}
		}
		q := ordered.New(rapid.IntRange(1, 20).Draw(t, "batch"), do, func(n int) bool {
			if n != given {
				t.Fatalf("the result %d comes after %d results", n, given)
			}
			given++
			return given < wanted
		})
		total := 0
		for _, n := range tasks {
			first := total
			total += n
			q.Add(n, [2]int{first, total})
			if rapid.IntRange(0, 9).Draw(t, "limit") == 0 {
				q.Limit(7)
			}
		}
		q.Flush()
		if given != min(total, wanted) || q.Stopped() != (total >= wanted) {
			t.Fatalf("%d of %d results are given, %d wanted; stopped: %v", given, total, wanted, q.Stopped())
		}
	})
}

// On one processor there is no queue.
func TestOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if ordered.New(1, func(iter.Seq[*int], func(int)) {}, func(int) bool { return true }) != nil {
		t.Error("there is a queue")
	}
}

// Each does each task once, and returns when all are done.
func TestEach(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, n := range []int{0, 1, 2, 100} {
		for _, size := range []int{0, 1 << 20} {
			done := make([]int, n)
			ordered.Each(n, size, func(i int) { done[i]++ })
			for i, times := range done {
				if times != 1 {
					t.Errorf("the task %d of %d is done %d times", i, n, times)
				}
			}
		}
	}
}
