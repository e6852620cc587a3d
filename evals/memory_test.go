package evals_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
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

// Scoring a row allocates little more than the memory of its members and messages.
func TestMemoryWhileScoring(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const few, many = 2000, 10_000
	most := map[string]int64{"JSON Lines": 2000, "CSV": 600} // bytes that are allocated for a row
	for name, row := range map[string]string{
		"JSON Lines": `{"case":"case-%[1]d","epoch":0,"score":0.5,"model":"m","question":"What is %[1]d?","answer":"A number"}` + "\n",
		"CSV":        "case-%[1]d,0,0.5,m,What is %[1]d?,A number\n",
	} {
		allocated := func(rows int) int64 {
			var text strings.Builder
			if name == "CSV" {
				text.WriteString("case,epoch,score,model,question,answer\n")
			}
			for i := range rows {
				fmt.Fprintf(&text, row, i)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			score(t, file("f", text.String()))
			runtime.ReadMemStats(&after)
			return int64(after.TotalAlloc - before.TotalAlloc)
		}
		if each := (allocated(many) - allocated(few)) / (many - few); each > most[name] {
			t.Errorf("%s: %d bytes are allocated for a row, want %d at most", name, each, most[name])
		}
	}
}
