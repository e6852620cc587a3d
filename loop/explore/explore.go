// Package explore runs a program again and again, each time with other choices, and finds the runs that violate
// an invariant. A choice is a point of a run at which something may happen in several ways: which tool returns
// next, whether a model call fails, when the run is canceled. The program asks a [Choices] at each such point, and
// is a function of the answers.
//
// [Exhaust] makes all runs within its [Bounds]. [Random] draws runs from a seed. [Replay] makes one run again.
// A run that fails is reduced to few choices, none of which can be omitted.
//
// # Which runs are the same
//
// The program asks for the order of answers only while it waits for all of them, so orders that no event
// distinguishes are made once: a step of the loop commutes with an answer that comes while the loop is not
// waiting, and takes precedence over it. Such a set of next steps is called ample (Peled, All from one, one for
// all, CAV 1993; Godefroid, Partial-order methods, 1996). With [Bounds].Preemptions the program asks at
// other points, too: as in Musuvathi and Qadeer, Iterative context bounding, PLDI 2007.
package explore

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/looptape/looptape/internal/linediff"
	"github.com/looptape/looptape/trace/check"
)

// Program makes runs, one at a time.
type Program interface {
	// Run makes a run with these choices. It is a function of the choices.
	Run(c *Choices) Outcome
	// Close ends what the program has started.
	Close()
}

// ProgramFunc is a [Program] that has nothing to close.
type ProgramFunc func(c *Choices) Outcome

// Run calls f.
func (f ProgramFunc) Run(c *Choices) Outcome { return f(c) }

// Close does nothing.
func (ProgramFunc) Close() {}

// Outcome is what a run of a program showed.
type Outcome struct {
	// Digest is a hash of all that was observed, in its order.
	Digest uint64
	// Violations are errors only, in order.
	Violations []check.Violation
	// Text returns the run for people. It is called before the next run of the program, if at all.
	Text func() string
}

// Bounds limit the runs of an exploration.
type Bounds struct {
	// Faults is the highest number of faults of a run: errors, quirks, cancels, and time that passes while an
	// answer could come.
	Faults int
	// Preemptions is the highest number of times that another goroutine runs than the one that has been ready
	// longest, or that an answer comes while the loop does not wait for it.
	Preemptions int
	// Runs is the highest number of runs. 0 means [DefaultRuns].
	Runs int
	// Repeat is the number of times that a failure is repeated, for a program that may not be a function of its choices. 0 means
	// once.
	Repeat int
}

// DefaultRuns is the highest number of runs of [Exhaust] if [Bounds] has none.
const DefaultRuns = 1_000_000

// Result is the result of an exploration.
type Result struct {
	Bounds Bounds
	// Runs is the number of runs, those that checked determinism and those of shrinking not included.
	Runs int
	// Traces is the number of different runs, and Hash identifies the set of them. It does not depend on the order
	// of the runs.
	Traces int
	Hash   string
	// Orders is the number of different runs without a fault.
	Orders int
	// Interleavings is the number of all interleavings of goroutines and answers without a fault, of which Orders are different; 0 if
	// it is unknown. The caller of Exhaust sets it, for Summary.
	Interleavings int
	// Complete is true if all runs within the bounds were made. Unfinished has the reasons if they were not.
	Complete   bool
	Unfinished []string
	// Failures has the first failure of each invariant, in the order of the choices.
	Failures []*Failure
	// Random is what a random exploration guarantees, or nil.
	Random *Guarantee
	// Unstable describes runs that differed although their choices were the same.
	Unstable []string
}

// Failure is a violation that an exploration has found, with few choices.
type Failure struct {
	check.Violation
	Seed  uint64 // of a random exploration
	Run   int    // the number of the run that found it, from 1
	Count int    // the number of runs with a violation of this invariant
	// ByFault is Count by the faults of these runs, such as "tool call: fails", without the names of answers. Several
	// faults of a run are joined by "; ". The runs without a fault are at "".
	ByFault map[string]int
	Choices []Choice
	Found   []Choice // before shrinking
	Shrunk  int      // runs of shrinking
	// Shown is how many of Repeated runs with the Choices violate the invariant. If not all do, the choices found are not
	// shrunk. Both are 0 unless Bounds.Repeat is set, and if the time was over.
	Shown, Repeated int
	// Minimal is true if the run does not violate the invariant without any one of the Choices.
	Minimal bool
	Text    string
	// Flipped is the choice without which the run is the passing neighbor, whose text is Neighbor.
	Flipped  *Choice
	Neighbor string
}

// Exhaust makes all runs within the bounds, on all processors. start makes a program for each. If 1,000 runs of one part
// with the same faults violate an invariant, the other orders with these faults are skipped: a faulty loop that takes more
// steps than the script has would have more and more of them. Which runs are made does not depend on the number of
// processors.
func Exhaust(start func() Program, b Bounds) *Result { return ExhaustUntil(start, b, never) }

// never is the end of an exploration that has no limit of time.
func never(bool) string { return "" }

// ExhaustUntil is [Exhaust] with a limit of time. over returns why the time is over, or "". It is called concurrently: with false
// before a run, and with true before a run that repeats or shrinks a failure, which has time after that.
func ExhaustUntil(start func() Program, b Bounds, over func(explored bool) string) *Result {
	e := &search{start: start, bounds: b, over: over}
	parts := e.divide(minParts)
	b.Runs = cmp.Or(b.Runs, DefaultRuns)
	for _, p := range parts {
		p.open = true
	}
	open := slices.Clone(parts)
	for left := b.Runs; len(open) > 0 && left > 0 && over(false) == ""; {
		for i, p := range open {
			p.limit = p.runs + left/len(open)
			if i < left%len(open) {
				p.limit++
			}
		}
		var next atomic.Int64
		concurrently(start, len(open), func(program Program, _ int) {
			for i := int(next.Add(1)) - 1; i < len(open); i = int(next.Add(1)) - 1 {
				open[i].explore(program, over)
			}
		})
		left = b.Runs
		for _, p := range parts {
			left -= p.runs
		}
		open = slices.DeleteFunc(open, func(p *part) bool { return !p.open })
	}
	return e.merge(parts)
}

// reserved is a number of bytes.
const reserved = 32 << 20

// minParts is the least number of parts of an exploration that begin without a fault, unless it has fewer orders.
const minParts = 16

// concurrently calls work with a program for each processor, at most n, and with their number.
func concurrently(start func() Program, n int, work func(program Program, worker int)) {
	// The heap of runs is so small that the garbage collector would run after a few of them. It runs when the heap has
	// doubled. Memory that nothing writes takes no space.
	reserve := make([]byte, reserved)
	defer runtime.KeepAlive(reserve)
	var workers sync.WaitGroup
	var returned atomic.Int64
	n = min(runtime.GOMAXPROCS(0), n)
	for i := range n {
		workers.Go(func() {
			program := start()
			defer program.Close()
			work(program, i)
			returned.Add(1)
		})
	}
	workers.Wait()
	if returned.Load() < int64(n) { // a run has ended its goroutine, such as by FailNow of a test
		runtime.Goexit()
	}
}

// search is an exploration.
type search struct {
	start    func() Program
	bounds   Bounds
	over     func(explored bool) string // why the time is over, or ""
	unstable []string
}

// divide returns parts, in order, such that each run is in one of them. At least n begin without a fault, unless there are
// fewer orders: most runs with a fault have it after some orders. The faults of one point are one part. It makes its runs
// twice.
func (e *search) divide(n int) (parts []*part) {
	program := e.start()
	defer program.Close()
	parts = []*part{newPart(nil, e.bounds)}
	for open := 1; open > 0 && open < n; {
		open = 0
		var next []*part
		for _, p := range parts {
			if !p.divisible {
				next = append(next, p)
				continue
			}
			points := e.both(program, p.root)
			if len(points) <= len(p.root) {
				p.divisible = false
				next = append(next, p)
				continue
			}
			at := points[len(p.root)]
			options := at.n
			if at.kind == fault {
				options = 1
			}
			for i := range options {
				next = append(next, newPart(append(slices.Clone(p.root), i), e.bounds))
			}
			open += options
			if options < at.n {
				next = append(next, newPart(p.root, e.bounds, options))
			}
		}
		parts = next
	}
	return parts
}

// both makes a run twice and returns its points.
func (e *search) both(program Program, prefix []int) []point {
	c := Choices{bounds: e.bounds, prefix: prefix}
	a := program.Run(&c)
	first := textOf(a)
	b, diverged := c.again(program)
	if a.Digest != b.Digest || diverged != "" {
		e.unstable = append(e.unstable, c.heading(diverged)+difference(first, textOf(b)))
	}
	return c.points
}

func takenOf(points []point) (list []int) {
	for i := range points {
		list = append(list, points[i].taken)
	}
	return list
}

// part is the result of the runs with one beginning.
type part struct {
	root      []int    // the choices that each run begins with
	divisible bool     // into the options of the next point
	open      bool     // there are other runs
	next      *Choices // of the next run
	violating int      // runs that violate an invariant, with the last fault of the next run
	limit     int      // of runs

	runs     int
	faults   map[[2]string]bool // of the runs
	traces   map[uint64]bool    // true if a run without a fault had it
	failures map[string]*found
	skipped  string // the faults of the first runs whose other orders were skipped
	diverged string
	unstable string
}

// newPart returns the part of the runs with the choices of root. With first, it has only the runs in which the next choice is
// first or a later option.
func newPart(root []int, b Bounds, first ...int) *part {
	return &part{
		root: root, divisible: len(first) == 0, next: &Choices{bounds: b, prefix: slices.Concat(root, first)},
		faults: map[[2]string]bool{}, traces: map[uint64]bool{}, failures: map[string]*found{},
	}
}

// twice is the number of first runs of a part that are made again. So is the first run with each fault.
const twice = 10

// again makes a run again, and describes the difference, if there is one. It has no text of the first run, as that
// would take time for each run, so it makes the run a few more times to find the first difference.
func again(program Program, c *Choices, digest uint64) string {
	o, diverged := c.again(program)
	if o.Digest == digest && diverged == "" {
		return ""
	}
	heading, last, equal := c.heading(diverged), o.Digest, true
	text := textOf(o)
	const more = 5
	for range more {
		o, _ := c.again(program)
		if other := textOf(o); other != text {
			return heading + difference(text, other)
		}
		equal = equal && o.Digest == last
	}
	if equal {
		return fmt.Sprintf("%s%d more runs with these choices do not differ", heading, more)
	}
	return heading + difference("", "")
}

// again makes the run of the choices again. diverged is why it is another one.
func (c *Choices) again(program Program) (o Outcome, diverged string) {
	d := Choices{bounds: c.bounds, prefix: takenOf(c.points), was: c.points}
	o = program.Run(&d)
	return o, d.diverged
}

// heading begins the description of runs with these choices that differ.
func (c *Choices) heading(diverged string) string {
	return cmp.Or(diverged, "the same choices gave two runs: ["+labels(c.Taken())+"]") + "\n"
}

// difference describes where two runs differ.
func difference(a, b string) string {
	lines, _ := linediff.Lines(a, b)
	return cmp.Or(lines, "the runs differ in content that the text does not show")
}

// found is the first run that violates an invariant.
type found struct {
	violation check.Violation
	choices   []Choice
	run       int // within the part
	count     int
	byFault   map[string]int // count by faults
}

// maxViolating is the number of runs with the same faults that violate an invariant, after which other orders with these faults are
// skipped.
const maxViolating = 1000

// explore makes the next runs, up to the limit.
func (p *part) explore(program Program, over func(explored bool) string) {
	for p.open && p.runs < p.limit && over(false) == "" {
		c := p.next
		o := program.Run(c)
		p.add(o, c)
		if p.unstable == "" && (p.newFault(c) || p.runs <= twice) {
			p.unstable = again(program, c, o.Digest)
		}
		if c.diverged != "" {
			p.diverged, p.open = c.diverged, false
			return
		}
		i, last := len(c.points)-1, lastFault(c.points)
		if len(o.Violations) > 0 {
			p.violating++
		}
		if p.violating == maxViolating {
			p.skipped = cmp.Or(p.skipped, "["+faultsOf(c.points)+"]")
			i = last
		}
		for i >= len(p.root) && c.points[i].taken+1 == c.points[i].n {
			i--
		}
		if i < len(p.root) {
			p.open = false
			return
		}
		if i <= last {
			p.violating = 0
		}
		c.prefix = c.prefix[:0]
		for j := range i {
			c.prefix = append(c.prefix, c.points[j].taken)
		}
		c.prefix = append(c.prefix, c.points[i].taken+1)
		c.was = append(c.was[:0], c.points[:i+1]...)
		c.points, c.faults, c.preempts = c.points[:0], 0, 0
	}
}

// newFault reports whether no run before had the last fault of this one, whichever answer it is of.
func (p *part) newFault(c *Choices) bool {
	i := lastFault(c.points)
	if i < 0 {
		return false
	}
	fault := [2]string{c.points[i].at, c.points[i].option}
	if p.faults[fault] {
		return false
	}
	p.faults[fault] = true
	return true
}

func (p *part) add(o Outcome, c *Choices) {
	p.runs++
	p.traces[o.Digest] = p.traces[o.Digest] || c.faults == 0
	for i, v := range o.Violations {
		if slices.ContainsFunc(o.Violations[:i], func(w check.Violation) bool { return w.Invariant == v.Invariant }) {
			continue
		}
		f := p.failures[v.Invariant]
		if f == nil {
			f = &found{violation: v, choices: taken(c.points), run: p.runs, byFault: map[string]int{}}
			p.failures[v.Invariant] = f
		}
		f.count++
		f.byFault[faultsOf(c.points)]++
	}
}

// merge adds up the parts, in order, and shrinks the failures.
func (e *search) merge(parts []*part) *Result {
	r := &Result{Bounds: e.bounds, Complete: true, Unstable: e.unstable}
	all := newPart(nil, e.bounds)
	cut, skipped := false, ""
	for _, p := range parts {
		for _, f := range p.failures {
			f.run += r.Runs
		}
		all.join(p)
		r.Runs += p.runs
		cut, skipped = cut || p.open, cmp.Or(skipped, p.skipped)
		r.Complete = r.Complete && p.diverged == ""
		for _, u := range []string{p.diverged, p.unstable} {
			if u != "" {
				r.Unstable = append(r.Unstable, u)
			}
		}
	}
	if cut {
		r.Unfinished = append(r.Unfinished, cmp.Or(e.over(false), fmt.Sprintf("the number of runs reached the highest one, %d", cmp.Or(e.bounds.Runs, DefaultRuns))))
	}
	if skipped != "" {
		r.Unfinished = append(r.Unfinished, fmt.Sprintf("%d runs with the same faults violate an invariant, and the other orders with these faults were skipped: %s", maxViolating, skipped))
	}
	r.Complete = r.Complete && r.Unfinished == nil
	for _, plain := range all.traces {
		if plain {
			r.Orders++
		}
	}
	r.Traces, r.Hash = len(all.traces), hashOf(all.traces)
	program := e.start()
	defer program.Close()
	e.addFailures(r, program, all.failures)
	return r
}

// join adds the traces and failures of q. The earlier run of a failure remains.
func (p *part) join(q *part) {
	p.unstable = cmp.Or(p.unstable, q.unstable)
	for d, plain := range q.traces {
		p.traces[d] = p.traces[d] || plain
	}
	for id, g := range q.failures {
		f := p.failures[id]
		if f == nil {
			p.failures[id] = g
			continue
		}
		if g.run < f.run {
			f, g = g, f
		}
		f.count += g.count
		for faults, n := range g.byFault {
			f.byFault[faults] += n
		}
		p.failures[id] = f
	}
}

func hashOf(digests map[uint64]bool) string {
	h := sha256.New()
	var b [8]byte
	for _, d := range slices.Sorted(maps.Keys(digests)) {
		binary.BigEndian.PutUint64(b[:], d)
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func (e *search) addFailures(r *Result, program Program, failures map[string]*found) {
	list := slices.SortedFunc(maps.Values(failures), func(a, b *found) int {
		return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.violation.Invariant, b.violation.Invariant))
	})
	for _, f := range list {
		out, unstable := explain(program, f, r.Bounds.Repeat, e.over)
		if unstable != "" {
			r.Unstable = append(r.Unstable, unstable)
			continue
		}
		r.Failures = append(r.Failures, out)
	}
}

// Replay makes one run with these choices. A point that they do not name takes option 0. unused are the choices
// that no point of the run had.
func Replay(program Program, list []Choice) (o Outcome, unused []Choice) {
	c := named(list)
	o = program.Run(c)
	came := map[string]bool{}
	for _, ch := range taken(c.points) {
		came[ch.String()] = true
	}
	for _, ch := range list {
		if !came[ch.String()] {
			unused = append(unused, ch)
		}
	}
	return o, unused
}

func named(list []Choice) *Choices {
	c := &Choices{bounds: Bounds{Faults: unlimited, Preemptions: unlimited}, named: map[string]string{}, seen: map[string]int{}}
	for _, ch := range list {
		c.named[ch.At] = ch.Option
	}
	return c
}

const unlimited = 1 << 30

// ParseChoice reads "AT: OPTION", as [Choice.String] writes it.
func ParseChoice(s string) (Choice, error) {
	for i := range s {
		if i > 0 && strings.HasPrefix(s[i:], `: "`) {
			if option, err := strconv.Unquote(s[i+2:]); err == nil && strings.Contains(option, ": ") {
				return Choice{s[:i], option}, nil
			}
		}
	}
	i := strings.LastIndex(s, ": ")
	if i <= 0 || i+2 == len(s) {
		return Choice{}, fmt.Errorf("choice %q: want POINT: OPTION, such as %q", s, "tool call c1: fails")
	}
	return Choice{s[:i], s[i+2:]}, nil
}

func labels(list []Choice) string {
	var s []string
	for _, c := range list {
		s = append(s, c.String())
	}
	return strings.Join(s, "; ")
}
