package explore

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"

	"github.com/looptape/looptape/trace/check"
)

// RandomOptions are the options of [Random].
type RandomOptions struct {
	// Seed determines the choices: the same seed gives the same runs, and run n is the same whatever Runs is.
	Seed uint64
	// Bounds.Runs is the number of runs; 0 means 1,000.
	Bounds
	// Depth is the depth of the bugs that the order of answers and goroutines is drawn for: the number of events
	// whose order matters. 0 means 3.
	Depth int
	// Only, if not 0, is the number of the only run that is made.
	Only int
}

// Random makes runs whose order is drawn by priorities: each goroutine or answer gets a random priority, the highest
// one is next, and at Depth-1 random points the highest one becomes the lowest. This is PCT (Burckhardt, Kothari,
// Musuvathi and Nagarakatte, A randomized scheduler with probabilistic guarantees of finding bugs, ASPLOS 2010).
// Faults come at random points. Their number is drawn from 0 to Bounds.Faults.
func Random(start func() Program, o RandomOptions) *Result {
	if o.Runs == 0 {
		o.Runs = 1000
	}
	if o.Depth == 0 {
		o.Depth = 3
	}
	e := &search{start: start, bounds: o.Bounds, over: never}
	program := start()
	e.both(program, nil)
	p := priorities{depth: o.Depth}
	m := measurer{&p, map[string]bool{}}
	program.Run(&Choices{bounds: o.Bounds, pick: m})
	program.Close()
	p.tasks = len(m.names)
	first, last := 1, o.Runs
	if o.Only != 0 {
		first, last = o.Only, o.Only
	}
	parts := make([]*part, runtime.GOMAXPROCS(0))
	concurrently(start, len(parts), func(program Program, worker int) {
		q := newPart(nil, o.Bounds)
		parts[worker] = q
		for n := first + worker; n <= last; n += len(parts) {
			pick := p.begin(rand.New(rand.NewPCG(o.Seed, uint64(n))), o.Faults) //nolint:gosec // not for security
			c := &Choices{bounds: o.Bounds, pick: pick}
			q.runs = n - 1
			o := program.Run(c)
			q.add(o, c)
			if n-first < twiceRandom && q.unstable == "" {
				q.unstable = again(program, c, o.Digest)
			}
		}
	})
	for _, q := range parts[1:] {
		parts[0].join(q)
	}
	parts[0].runs = last - first + 1
	r := e.merge(parts[:1])
	r.Complete = false
	r.Random = &Guarantee{Depth: o.Depth, Tasks: p.tasks, Points: p.orders, Faults: o.Faults}
	for _, f := range r.Failures {
		f.Seed = o.Seed
	}
	return r
}

// twiceRandom is the number of first runs of [Random] that are made again, about that of [Exhaust].
const twiceRandom = 16 * twice

// Guarantee is what PCT guarantees for a bug of a depth.
type Guarantee struct {
	Depth  int
	Tasks  int // goroutines and answers that are an option of a point
	Points int // at which the next one is chosen
	Faults int // the highest number of faults of a run
}

// Chance is the least probability that a run has the order that shows a bug of the depth: 1/(n·k^(d-1)·(f+1)), with n
// tasks, k points and f faults. PCT gives it without f+1, for a run without a fault. Such runs are one of f+1, since the
// number of faults is drawn from 0 to f, and a run with a fault can have other points.
func (g *Guarantee) Chance() float64 {
	return 1 / (float64(max(g.Tasks, 1)) * math.Pow(float64(max(g.Points, 1)), float64(g.Depth-1)) * float64(max(g.Faults, 0)+1))
}

// Runs is the number of runs that show such a bug with this probability.
func (g *Guarantee) Runs(probability float64) int {
	p := g.Chance()
	if p >= 1 {
		return 1
	}
	return int(math.Ceil(math.Log1p(-probability) / math.Log1p(-p)))
}

// priorities draws choices.
type priorities struct {
	depth, tasks, orders int
	faults               int // options of all fault points

	random   *rand.Rand
	priority map[string]float64
	changes  []int // order points at which the highest priority becomes the lowest
	faultAt  []int // the faults of the run, by their number among all options of fault points
	order    int   // order points that were
	fault    int   // options of the fault points that were
}

// measurer counts the points and the tasks of a run, and picks no other option.
type measurer struct {
	*priorities

	names map[string]bool // of tasks
}

func (m measurer) pick(p *point, options []string) int {
	if p.kind == fault {
		m.faults += p.n - 1
		return 0
	}
	m.orders++
	for i := range options {
		m.names[optionName(p.kind, options, i)] = true
	}
	return 0
}

// begin returns the picker of a run.
func (p priorities) begin(random *rand.Rand, faults int) *priorities {
	p.random, p.priority = random, map[string]float64{}
	for range p.depth - 1 {
		p.changes = append(p.changes, random.IntN(max(p.orders, 1)))
	}
	for range random.IntN(faults + 1) {
		p.faultAt = append(p.faultAt, random.IntN(max(p.faults, 1)))
	}
	return &p
}

func (p *priorities) pick(pt *point, options []string) int {
	if pt.kind == fault {
		first := p.fault
		p.fault += len(options) - 1
		for _, at := range p.faultAt {
			if at >= first && at < p.fault {
				return 1 + at - first
			}
		}
		return 0
	}
	p.order++
	for _, o := range options {
		if _, known := p.priority[o]; !known {
			p.priority[o] = 1 + p.random.Float64()
		}
	}
	best := p.highest(options)
	for i, at := range p.changes {
		if at == p.order-1 {
			p.priority[options[best]] = -float64(i)
			best = p.highest(options)
		}
	}
	return best
}

func (p *priorities) highest(options []string) (best int) {
	for i, o := range options {
		if p.priority[o] > p.priority[options[best]] {
			best = i
		}
	}
	return best
}

// Draw makes one run, whose choices are drawn from data. It is for a fuzz test, in which coverage guides the data: equal
// data give equal choices, a longer common beginning gives a longer common beginning of the run, and no data give the run
// of the script. It returns the choices, which [Replay] and [Explain] repeat.
func Draw(program Program, data []byte, b Bounds) (Outcome, []Choice) {
	c := &Choices{bounds: b, pick: &drawn{data}}
	o := program.Run(c)
	return o, c.Taken()
}

// Explain reduces the choices of a run that violates an invariant, as an exploration does. The error is not nil if the
// run does not violate it again.
func Explain(program Program, v check.Violation, list []Choice) (*Failure, error) {
	f, unstable := explain(program, &found{violation: v, choices: list, run: 1, count: 1}, 0, never)
	if unstable != "" {
		return nil, errors.New(unstable)
	}
	return f, nil
}

// drawn picks choices by bytes.
type drawn struct{ data []byte }

// noFault is the number of values of a byte, of 256, that choose no fault.
const noFault = 224

func (d *drawn) pick(p *point, options []string) int {
	if p.kind == order {
		return int(d.next()) % len(options)
	}
	if b := d.next(); b < noFault {
		return 0
	}
	return (int(d.next())<<8 | int(d.next())) % len(options)
}

// next returns the next byte, 0 at the end.
func (d *drawn) next() byte {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return b
}
