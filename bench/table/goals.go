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

// Goal is a goal with what was measured.
type Goal struct {
	Name string
	Got  float64 // a ratio
	Max  float64
	// Detail tells the figures behind the ratio.
	Detail string
	// Missing says that something was not measured; the goal is then not met.
	Missing bool
}

// Met reports whether the goal is reached.
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

// steady is how much more a step of a long run may cost than one of a short run.
const steady = 1.2

// Goals says how looptape stands. The best peer is the cheapest loop but the
// floor and looptape itself, at the same work and with the same kind of tools.
func (r Results) Goals() []Goal {
	list := []Goal{
		r.againstPeers("raw tools, no sink, a fifth of the best peer's time", Case{ours, "raw", "none", 100, 1}, 1./5),
		r.againstPeers("raw tools, no sink, half of the best peer's time", Case{ours, "raw", "none", 100, 8}, 1./2),
		r.againstPeers("typed tools, sink in memory, under the best peer's time", Case{ours, "typed", "memory", 100, 1}, 1),
		r.againstPeers("typed tools, sink in memory, under the best peer's time", Case{ours, "typed", "memory", 100, 8}, 1),
	}
	for _, k := range []int{1, 8} {
		for _, tools := range []string{"raw", "typed"} {
			for _, sink := range []string{"none", "memory", "disk"} {
				c := Case{ours, tools, sink, 10, k}
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
		g.Missing, g.Detail = true, "it takes looptape and a peer"
		return g
	}
	g.Got = our.NS / best.NS
	g.Detail = fmt.Sprintf("%s µs, %s %s µs", figure(our.NS/1000), peer, figure(best.NS/1000))
	return g
}

// bestPeer finds the peer that is fastest at the work of c with the same kind of
// tools; the name is empty if there is none.
func (r Results) bestPeer(c Case) (best Cost, name string) {
	best.NS = math.Inf(1)
	for p, cost := range r {
		peer := !slices.Contains([]string{ours, floor}, p.Loop)
		if peer && p.Tools == c.Tools && p.N == c.N && p.K == c.K && cost.NS < best.NS {
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
	if !okA || !okB {
		g.Missing, g.Detail = true, "it takes N=10 and N=1000"
		return g
	}
	g.Got = of(b) / of(a)
	g.Detail = fmt.Sprintf("%.0f against %.0f", of(b), of(a))
	return g
}
