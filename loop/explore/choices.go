package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kind is the kind of a choice.
type kind int8

const (
	order   kind = iota // of answers; free
	preempt             // of goroutines: an option above 0 counts as a preemption
	fault               // an option above 0 counts as a fault
)

// point is a choice that was made.
type point struct {
	kind     kind
	at, name string
	n, taken int
	option   string // the one that was taken
}

// Choices makes the choices of one run. It implements the Chooser of package fake.
type Choices struct {
	bounds Bounds
	prefix []int             // the first choices
	named  map[string]string // choices by label, in place of prefix
	pick   picker            // makes the others; nil takes option 0

	points   []point
	faults   int
	preempts int
	seen     map[string]int      // how often a label came, with named
	options  map[string][]string // the options by label, if not nil
	was      []point             // the points of the run before, which prefix is from
	diverged string              // why the run is not the one that prefix is from
}

// picker makes choices.
type picker interface {
	pick(p *point, options []string) int
}

// Order chooses which of the options comes next.
func (c *Choices) Order(at, name string, options []string) int {
	return c.choose(order, at, name, options)
}

// Switch chooses which goroutine runs next; 0 is no preemption.
func (c *Choices) Switch(at, name string, options []string) int {
	if c.preempts >= c.bounds.Preemptions {
		return 0
	}
	i := c.choose(preempt, at, name, options)
	if i > 0 {
		c.preempts++
	}
	return i
}

// Fault chooses a fault; 0 is none.
func (c *Choices) Fault(at, name string, options []string) int {
	if c.faults >= c.bounds.Faults {
		return 0
	}
	i := c.choose(fault, at, name, options)
	if i > 0 {
		c.faults++
	}
	return i
}

func (c *Choices) choose(k kind, at, name string, options []string) int {
	i := len(c.points)
	c.points = append(c.points, point{kind: k, at: at, name: name, n: len(options)})
	p := &c.points[i]
	switch {
	case c.named != nil:
		p.taken = c.byName(p, options)
	case i < len(c.prefix):
		p.taken = c.prefix[i]
		if p.taken >= p.n || i < len(c.was) && !c.was[i].same(p) {
			c.diverge(i, p)
			p.taken = 0
		}
	case c.pick != nil:
		p.taken = c.pick.pick(p, options)
	}
	p.option = optionName(k, options, p.taken)
	return p.taken
}

// diverge records that point i is another one than in the run before.
func (c *Choices) diverge(i int, p *point) {
	switch {
	case c.diverged != "":
	case i < len(c.was):
		c.diverged = fmt.Sprintf("the same choices gave two runs: choice %d was %q with %d options, and is %q with %d", i+1, c.was[i].label(), c.was[i].n, p.label(), p.n)
	default:
		c.diverged = fmt.Sprintf("the same choices gave two runs: choice %d had more than %d options, and has %d", i+1, c.prefix[i], p.n)
	}
}

// byName returns the option that is named for this point; points with one label are numbered.
func (c *Choices) byName(p *point, options []string) int {
	label := p.label()
	c.seen[label]++
	label = numbered(label, c.seen[label])
	if c.options != nil {
		names := slices.Clone(options)
		for i := range names {
			names[i] = optionName(p.kind, options, i)
		}
		c.options[label] = names
	}
	want, ok := c.named[label]
	if !ok {
		return 0
	}
	for i := range options {
		if strings.HasPrefix(want, options[i]) && optionName(p.kind, options, i) == want {
			return i
		}
	}
	return 0
}

// optionName returns the name of an option. Answers with one name, such as the results of two calls with one id, are numbered.
func optionName(k kind, options []string, i int) string {
	n := 1
	if k != fault { // faults have different names
		for _, o := range options[:i] {
			if o == options[i] {
				n++
			}
		}
	}
	return numbered(options[i], n)
}

// lastFault returns the index of the last fault that was taken, or -1.
func lastFault(points []point) int {
	i := len(points) - 1
	for i >= 0 && (points[i].kind != fault || points[i].taken == 0) {
		i--
	}
	return i
}

func (p *point) same(q *point) bool {
	return p.kind == q.kind && p.at == q.at && p.name == q.name && p.n == q.n
}

func (p *point) label() string { return strings.TrimSpace(p.at + " " + p.name) }

// numbered returns a label with the number of its occurrence.
func numbered(label string, n int) string {
	if n == 1 {
		return label
	}
	return fmt.Sprintf("%s #%d", label, n)
}

// Choice is a choice of a run that differs from what the script says.
type Choice struct {
	// At is the point of the run, such as "tool call c1" or "next answer #2".
	At string
	// Option is what was chosen there.
	Option string
}

// String returns "AT: OPTION". An option that contains ": ", such as the id of a call, is quoted.
func (c Choice) String() string {
	if strings.Contains(c.Option, ": ") {
		return c.At + ": " + strconv.Quote(c.Option)
	}
	return c.At + ": " + c.Option
}

// taken returns the choices that are not option 0.
func taken(points []point) (list []Choice) {
	seen := map[string]int{}
	for i := range points {
		label := points[i].label()
		seen[label]++
		if points[i].taken != 0 {
			list = append(list, Choice{numbered(label, seen[label]), points[i].option})
		}
	}
	return list
}

// faultsOf returns the faults among choices, for [Failure.ByFault].
func faultsOf(points []point) string {
	var list []string
	for i := range points {
		if p := &points[i]; p.kind == fault && p.taken != 0 {
			list = append(list, p.at+": "+p.option)
		}
	}
	return strings.Join(list, "; ")
}

// MayFault reports whether the bounds allow another fault.
func (c *Choices) MayFault() bool { return c.faults < c.bounds.Faults }

// Few reports whether at most n choices of the run so far are not option 0.
func (c *Choices) Few(n int) bool {
	for i := range c.points {
		if c.points[i].taken != 0 {
			n--
		}
	}
	return n >= 0
}

// Taken returns the choices of the run so far that are not option 0.
func (c *Choices) Taken() []Choice { return taken(c.points) }
