package evals_test

import (
	"io"
	"runtime"
	"testing"

	"github.com/looptape/looptape/evals"
)

// weighed is a trace that reports the memory in use after a number of runs.
type weighed struct {
	*traces
	at   map[int]bool
	live []uint64
}

func (r *weighed) Read(p []byte) (int, error) {
	if r.at[r.i] {
		delete(r.at, r.i)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		r.live = append(r.live, m.HeapAlloc)
	}
	return r.traces.Read(p)
}

// Of a run that was scored nothing is kept but its row.
func TestMemoryOfRuns(t *testing.T) {
	const few, many, most = 1000, 4000, 650 // bytes a row, of 16 kB that a run has
	r := &weighed{traces: newTraces(t, many+1), at: map[int]bool{few: true, many: true}}
	score(t, evals.Input{Name: "f", Open: func() (io.ReadCloser, error) { return r, nil }})
	if grown := (int64(r.live[1]) - int64(r.live[0])) / (many - few); grown > most {
		t.Errorf("%d bytes are kept of a run, want %d at most", grown, most)
	}
}
