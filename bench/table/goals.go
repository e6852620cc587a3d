package table

import (
	"fmt"
	"math"
	"slices"
)

const (
	ours  = "looptape"
	floor = "floor"
)

// Goal is a goal with its measured ratio.
type Goal struct {
	Name string
	Got  float64 // a ratio
	Max  float64
	// Detail has the values of the ratio.
	Detail string
	// Missing is true if a value was not measured; the goal is then not met.
	Missing bool
}

// Met reports whether the goal is met.
func (g Goal) Met() bool { return !g.Missing && g.Got <= g.Max }

// String is a line of a Markdown list.
func (g Goal) String() string {
	mark := "met"
	switch {
	case g.Missing:
		return fmt.Sprintf("- NOT MEASURED: %s: %s", g.Name, g.Detail)
	case !g.Met():
		mark = "MISSED"
	}
	return fmt.Sprintf("- %s: %s: %.2f, goal %.2f (%s)", mark, g.Name, g.Got, g.Max, g.Detail)
}

// steady limits the cost of a step of a long run as a ratio to a step of a short run.
const steady = 1.2

// Goals returns the goals with the results of looptape. The best peer is the fastest loop with the
// same work, kind of tools and response mode, without looptape and the floor.
func (r Results) Goals() []Goal {
	list := []Goal{
		r.againstPeers("raw tools, no sink, 1/4 of the best peer's time", Case{ours, "raw", "none", false, 100, 1}, 1./4),
		r.againstPeers("raw tools, no sink, 2/5 of the best peer's time", Case{ours, "raw", "none", false, 100, 8}, 2./5),
		r.againstPeers("streaming, raw tools, no sink, 2/5 of the best peer's time", Case{ours, "raw", "none", true, 100, 1}, 2./5),
		r.againstPeers("streaming, raw tools, no sink, 1/2 of the best peer's time", Case{ours, "raw", "none", true, 100, 8}, 1./2),
		r.againstPeers("typed tools, sink in memory, less than the best peer's time", Case{ours, "typed", "memory", false, 100, 1}, 1),
		r.againstPeers("typed tools, sink in memory, less than the best peer's time", Case{ours, "typed", "memory", false, 100, 8}, 1),
		r.steady("processor time", Case{ours, "raw", "none", false, 10, 8}, func(c Cost) float64 { return c.CPU }),
	}
	for _, k := range []int{1, 8} {
		for _, tools := range []string{"raw", "typed"} {
			for _, sink := range []string{"none", "memory", "disk"} {
				c := Case{ours, tools, sink, false, 10, k}
				list = append(list,
					r.steady("time", c, func(c Cost) float64 { return c.NS }),
					r.steady("bytes", c, func(c Cost) float64 { return c.Bytes }))
			}
		}
	}
	return list
}

func (r Results) againstPeers(name string, c Case, limit float64) Goal {
	g := Goal{Name: fmt.Sprintf("%s (N=%d, K=%d)", name, c.N, c.K), Max: limit}
	our, ok := r[c]
	best, peer := r.bestPeer(c)
	if !ok || peer == "" {
		g.Missing, g.Detail = true, "needs looptape and a peer"
		return g
	}
	g.Got = our.NS / best.NS
	g.Detail = fmt.Sprintf("%s µs, %s %s µs", format(our.NS/1000), peer, format(best.NS/1000))
	return g
}

// bestPeer returns the fastest peer at the work of c with the same kind of tools and responses;
// the name is empty if there is none.
func (r Results) bestPeer(c Case) (best Cost, name string) {
	best.NS = math.Inf(1)
	for p, cost := range r {
		peer := !slices.Contains([]string{ours, floor}, p.Loop)
		if peer && p.Tools == c.Tools && p.Stream == c.Stream && p.N == c.N && p.K == c.K && cost.NS < best.NS {
			best, name = cost, p.Loop
		}
	}
	return best, name
}

func (r Results) steady(what string, c Case, of func(Cost) float64) Goal {
	g := Goal{Name: fmt.Sprintf("%s of a step at N=1000 against N=10 (%s tools, sink %s, K=%d)", what, c.Tools, c.Sink, c.K), Max: steady}
	long := c
	long.N = 1000
	a, okA := r[c]
	b, okB := r[long]
	if !okA || !okB || of(a) < 0 || of(b) < 0 {
		g.Missing, g.Detail = true, "needs N=10 and N=1000"
		return g
	}
	g.Got = of(b) / of(a)
	g.Detail = fmt.Sprintf("%.0f against %.0f", of(b), of(a))
	return g
}
