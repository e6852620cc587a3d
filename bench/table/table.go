// Package table reads the output of the benchmarks. It prints a table of the cost of a step in
// each loop, and whether the goals are met. It uses medians, so that a single disturbed run
// does not count.
package table

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Case is a measured loop in a variant, with its work.
type Case struct {
	Loop, Tools, Sink string
	Stream            bool // of BenchmarkStream
	N, K              int  // steps, and calls per step
}

// Cost is the cost of one step. A value that was not measured is -1.
type Cost struct {
	NS, Bytes, Allocs, CPU float64 // CPU is the processor time in ns
	Runs                   int     // number of measurements
}

// Results are the costs of all cases.
type Results map[Case]Cost

// units are the metrics in the order of the fields of Cost.
var units = [...]string{"ns/step", "B/step", "allocs/step", "cpu-ns/step"}

// Read reads lines of `go test -bench` and skips all others. It returns the median of each
// metric of a case.
func Read(r io.Reader) (Results, error) {
	samples := map[Case]*[len(units)][]float64{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		name, rest, _ := strings.Cut(lines.Text(), "\t")
		name, _, _ = strings.Cut(name, " ")
		path, ok := strings.CutPrefix(name, "BenchmarkStep/")
		stream := false
		if !ok {
			path, stream = strings.CutPrefix(name, "BenchmarkStream/")
		}
		if !ok && !stream || rest == "" {
			continue
		}
		c, err := parseCase(path)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		c.Stream = stream
		if samples[c] == nil {
			samples[c] = &[len(units)][]float64{}
		}
		if err := addMetrics(samples[c], rest); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	res := Results{}
	for c, s := range samples {
		if len(s[0]) > 0 {
			res[c] = Cost{median(s[0]), median(s[1]), median(s[2]), median(s[3]), len(s[0])}
		}
	}
	return res, lines.Err()
}

// parseCase reads a name such as loop=eino/tools=raw/sink=none/N=10/K=1-2.
func parseCase(path string) (c Case, err error) {
	for _, part := range strings.Split(path, "/") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "loop":
			c.Loop = value
		case "tools":
			c.Tools = value
		case "sink":
			c.Sink = value
		case "N":
			c.N, err = strconv.Atoi(value)
		case "K":
			value, _, _ = strings.Cut(value, "-") // the number of CPUs
			c.K, err = strconv.Atoi(value)
		default:
			err = errors.New("unknown key")
		}
		if err != nil {
			return c, fmt.Errorf("the benchmark %q: %q: %w", path, part, err)
		}
	}
	return c, nil
}

func addMetrics(s *[len(units)][]float64, rest string) error {
	fields := strings.Fields(rest)
	for i := 1; i+1 < len(fields); i += 2 {
		at := slices.Index(units[:], fields[i+1])
		if at < 0 {
			continue
		}
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return fmt.Errorf("the metric %s: %w", fields[i+1], err)
		}
		s[at] = append(s[at], v)
	}
	return nil
}

// median returns -1 for no values.
func median(v []float64) float64 {
	if len(v) == 0 {
		return -1
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// Markdown writes the costs as tables: one for each kind of tool and response mode, with a row
// for each loop and sink and a column for each work.
func (r Results) Markdown(w io.Writer) error {
	type work struct{ n, k int }
	type row struct{ loop, sink string }
	type mode struct {
		stream bool
		tools  string
	}
	works, rows, modes := map[work]bool{}, map[row]bool{}, map[mode]bool{}
	for c := range r {
		works[work{c.N, c.K}], rows[row{c.Loop, c.Sink}], modes[mode{c.Stream, c.Tools}] = true, true, true
	}
	columns := slices.SortedFunc(maps.Keys(works), func(a, b work) int { return cmp.Or(a.k-b.k, a.n-b.n) })
	lines := slices.SortedFunc(maps.Keys(rows), func(a, b row) int {
		return cmp.Or(place(a.loop)-place(b.loop), cmp.Compare(a.loop, b.loop), -cmp.Compare(a.sink, b.sink))
	})
	var b strings.Builder
	inOrder := func(a, b mode) int {
		return cmp.Or(cmp.Compare(responses(a.stream), responses(b.stream)), cmp.Compare(a.tools, b.tools))
	}
	for _, m := range slices.SortedFunc(maps.Keys(modes), inOrder) {
		fmt.Fprintf(&b, "\nTools: %s. Responses: %s. A step: µs; kB; allocations.\n\n| loop | sink |", m.tools, responses(m.stream))
		for _, c := range columns {
			fmt.Fprintf(&b, " K=%d N=%d |", c.k, c.n)
		}
		b.WriteString("\n| --- | --- |" + strings.Repeat(" ---: |", len(columns)) + "\n")
		for _, l := range lines {
			cells := ""
			found := false
			for _, c := range columns {
				cost, ok := r[Case{l.loop, m.tools, l.sink, m.stream, c.n, c.k}]
				found = found || ok
				cells += " " + cell(cost, ok) + " |"
			}
			if found {
				fmt.Fprintf(&b, "| %s | %s |%s\n", l.loop, l.sink, cells)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// responses returns the name of a response mode.
func responses(stream bool) string {
	if stream {
		return "streaming"
	}
	return "non-streaming"
}

// place sorts looptape first and the floor last.
func place(loop string) int {
	switch loop {
	case ours:
		return 0
	case floor:
		return 2
	}
	return 1
}

func cell(c Cost, ok bool) string {
	if !ok {
		return "–"
	}
	s := format(c.NS / 1000)
	if c.Bytes >= 0 {
		s += "; " + format(c.Bytes/1000)
	}
	if c.Allocs >= 0 {
		s += fmt.Sprintf("; %.0f", c.Allocs)
	}
	return s
}

// format writes a number with at least two digits.
func format(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
