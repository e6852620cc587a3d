package trace_test

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace"
)

// Several sinks may encode the same event. The race detector shows writes to it.
func TestAppendJSONConcurrently(t *testing.T) {
	evs := sample(3)
	var want [][]byte
	for i := range evs {
		want = append(want, evs[i].AppendJSON(nil))
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range evs {
				if got := evs[i].AppendJSON(nil); !bytes.Equal(got, want[i]) {
					t.Errorf("got %s, want %s", got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

// A file of several traces, of versions 1 and 2, with lines that are broken, empty, too long or changed, gives
// the same events and errors on any number of processors, also if the caller stops and continues.
func TestReaderProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var file strings.Builder
	whole := string(write(t, trace.Header{Writer: "test"}, sample(80)))
	lines := strings.SplitAfter(whole, "\n")
	file.WriteString(whole)
	file.WriteString(strings.Replace(whole, "Springfield", "Shelbyville", 1)) // differs from its hash
	file.WriteString(strings.Join(lines[:200], "") + "\n \n" + strings.Repeat("x", 3000) + "\n" + lines[200][:20] + whole)
	v1, err := os.ReadFile("testdata/v1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	file.Write(v1)
	file.WriteString(strings.Join(slices.Delete(slices.Clone(lines), 100, 103), ""))
	file.WriteString(strings.Join(lines[:50], "") + lines[50][:len(lines[50])/2])
	outcome := func(halves bool) (got []string) {
		var src io.Reader = strings.NewReader(file.String())
		if halves {
			src = iotest.HalfReader(src)
		}
		r, err := trace.NewReader(src)
		if err != nil {
			t.Fatal(err)
		}
		r.MaxLine = 2500
		for more := true; more; {
			more = false
			for ev, err := range firstEvents(r.Events(), 70) {
				more = true
				got = append(got, fmt.Sprint(r.Line(), " ", r.Header().Version, " ", err, " ", string(ev.AppendJSON(nil))))
			}
		}
		return got
	}
	want := outcome(false)
	if n := len(lines); len(want) < 4*n {
		t.Fatalf("%d events and errors, want those of %d lines and more", len(want), 4*n)
	}
	for _, n := range []int{2, 4} {
		runtime.GOMAXPROCS(n)
		for _, halves := range []bool{false, true} {
			if diff := cmp.Diff(want, outcome(halves)); diff != "" {
				t.Errorf("%d processors (-1 +%d):\n%.3000s", n, n, diff)
			}
		}
	}
}

// firstEvents yields the first events.
func firstEvents(events iter.Seq2[trace.Event, error], n int) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for ev, err := range events {
			if n--; !yield(ev, err) || n == 0 {
				return
			}
		}
	}
}
