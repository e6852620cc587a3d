package table_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/bench/table"
)

const output = `goos: linux
BenchmarkStep/loop=looptape/tools=raw/sink=none/N=100/K=1-2   	  2	 100 ns/op	 7 B/op	 10.0 B/step	 3.000 allocs/step	 2000 ns/step
BenchmarkStep/loop=looptape/tools=raw/sink=none/N=100/K=1-2   	  2	 100 ns/op	 7 B/op	 12.0 B/step	 3.000 allocs/step	 1000 ns/step
BenchmarkStep/loop=looptape/tools=raw/sink=none/N=100/K=1-2   	  2	 100 ns/op	 7 B/op	 90.0 B/step	 5.000 allocs/step	 9000 ns/step
BenchmarkStep/loop=eino/tools=raw/sink=none/N=100/K=1-2   	  2	 100 ns/op	 12345 ns/step
BenchmarkStep/loop=fantasy/tools=raw/sink=none/N=100/K=1	2	100 ns/op	10000 ns/step
BenchmarkStep/loop=fantasy/tools=typed/sink=none/N=100/K=1	2	100 ns/op	1 ns/step
BenchmarkStep/loop=floor/tools=raw/sink=none/N=100/K=1	2	100 ns/op	1 ns/step
BenchmarkStep/loop=looptape/tools=raw/sink=none/N=10/K=1-2	2	100 ns/op	 100 B/step	1000 ns/step
BenchmarkStep/loop=looptape/tools=raw/sink=none/N=1000/K=1-2	2	100 ns/op	 120 B/step	1210 ns/step
BenchmarkStream/loop=looptape/tools=raw/sink=none/N=100/K=8-2	2	100 ns/op	 50.0 cpu-ns/step	5000 ns/step
BenchmarkStream/loop=adk/tools=raw/sink=none/N=100/K=8-2	2	100 ns/op	 20000 ns/step
BenchmarkOther	1	2 ns/op
PASS
`

func read(t *testing.T) table.Results {
	t.Helper()
	r, err := table.Read(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRead(t *testing.T) {
	r := read(t)
	got := []table.Cost{r[table.Case{Loop: "looptape", Tools: "raw", Sink: "none", N: 100, K: 1}], r[table.Case{Loop: "eino", Tools: "raw", Sink: "none", N: 100, K: 1}],
		r[table.Case{Loop: "looptape", Tools: "raw", Sink: "none", Stream: true, N: 100, K: 8}]}
	want := []table.Cost{{NS: 2000, Bytes: 12, Allocs: 3, CPU: -1, Runs: 3}, {NS: 12345, Bytes: -1, Allocs: -1, CPU: -1, Runs: 1}, {NS: 5000, Bytes: -1, Allocs: -1, CPU: 50, Runs: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("costs (-want +got):\n%s", diff)
	}
	if len(r) != 9 {
		t.Errorf("got %d cases, want 9", len(r))
	}
}

func TestReadInvalid(t *testing.T) {
	for _, line := range []string{
		"BenchmarkStep/loop=a/what=b\t1\t1 ns/step",
		"BenchmarkStep/loop=a/N=x\t1\t1 ns/step",
		"BenchmarkStep/loop=a/K=x-2\t1\t1 ns/step",
		"BenchmarkStep/loop=a\t1\tx ns/step",
	} {
		if _, err := table.Read(strings.NewReader("\n" + line)); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: got the error %v, want one that names line 2", line, err)
		}
	}
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := read(t).Markdown(&b); err != nil {
		t.Fatal(err)
	}
	want := `
Tools: raw. Responses: non-streaming. A step: µs; kB; allocations.

| loop | sink | K=1 N=10 | K=1 N=100 | K=1 N=1000 | K=8 N=100 |
| --- | --- | ---: | ---: | ---: | ---: |
| looptape | none | 1.0; 0.1 | 2.0; 0.0; 3 | 1.2; 0.1 | – |
| eino | none | – | 12 | – | – |
| fantasy | none | – | 10 | – | – |
| floor | none | – | 0.0 | – | – |

Tools: typed. Responses: non-streaming. A step: µs; kB; allocations.

| loop | sink | K=1 N=10 | K=1 N=100 | K=1 N=1000 | K=8 N=100 |
| --- | --- | ---: | ---: | ---: | ---: |
| fantasy | none | – | 0.0 | – | – |

Tools: raw. Responses: streaming. A step: µs; kB; allocations.

| loop | sink | K=1 N=10 | K=1 N=100 | K=1 N=1000 | K=8 N=100 |
| --- | --- | ---: | ---: | ---: | ---: |
| looptape | none | – | – | – | 5.0 |
| adk | none | – | – | – | 20 |
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestGoals(t *testing.T) {
	var got []string
	met := 0
	for _, g := range read(t).Goals() {
		if g.Met() {
			met++
		}
		if !g.Missing {
			got = append(got, g.String())
		}
	}
	want := []string{
		"- met: raw tools, no sink, 1/4 of the best peer's time (N=100, K=1): 0.20, goal 0.25 (2.0 µs, fantasy 10 µs)",
		"- met: streaming, raw tools, no sink, 1/2 of the best peer's time (N=100, K=8): 0.25, goal 0.50 (5.0 µs, adk 20 µs)",
		"- MISSED: time of a step at N=1000 against N=10 (raw tools, sink none, K=1): 1.21, goal 1.20 (1210 against 1000)",
		"- met: bytes of a step at N=1000 against N=10 (raw tools, sink none, K=1): 1.20, goal 1.20 (120 against 100)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("goals (-want +got):\n%s", diff)
	}
	if met != 3 {
		t.Errorf("got %d met goals, want 3: a goal that was not measured is not met", met)
	}
}
