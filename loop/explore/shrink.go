package explore

import (
	"fmt"
	"slices"

	"github.com/looptape/looptape/internal/linediff"
	"github.com/looptape/looptape/trace/check"
)

// maxShrink is the highest number of runs of shrinking.
const maxShrink = 200

// shrinker makes a failing list of choices smaller. It omits choices in groups of falling size, as delta debugging
// does (Zeller and Hildebrandt, Simplifying and isolating failure-inducing input, 2002), and takes earlier
// options, as Hypothesis lowers its choices (MacIver and Donaldson, Test-case reduction via test-case generation,
// ECOOP 2020).
type shrinker struct {
	program   Program
	invariant string
	runs      int
	list      []Choice
	options   map[string][]string
}

// fails makes a run, and keeps its choices if it violates the invariant. They are those that the run had: others
// have no effect.
func (s *shrinker) fails(list []Choice) bool {
	s.runs++
	c := named(list)
	c.options = map[string][]string{}
	o := s.program.Run(c)
	if !slices.ContainsFunc(o.Violations, func(v check.Violation) bool { return v.Invariant == s.invariant }) {
		return false
	}
	s.list, s.options = taken(c.points), c.options
	return true
}

// shrink returns true if the result is minimal.
func (s *shrinker) shrink() (minimal bool) {
	for {
		was := slices.Clone(s.list)
		s.omit()
		s.join()
		s.lower()
		if s.runs >= maxShrink {
			return false
		}
		if slices.Equal(was, s.list) {
			return true
		}
	}
}

// omit omits groups of choices until no single one can be omitted.
func (s *shrinker) omit() {
	for size := max(1, len(s.list)/2); ; size = max(1, size/2) {
		changed := false
		for i := 0; i < len(s.list) && s.runs < maxShrink; {
			shorter := slices.Concat(s.list[:i], s.list[min(i+size, len(s.list)):])
			if s.fails(shorter) {
				changed = true
			} else {
				i += size
			}
		}
		if size == 1 && !changed || s.runs >= maxShrink {
			return
		}
	}
}

// join replaces two choices by one: another option of the first or the second.
func (s *shrinker) join() {
	for i := 0; i < len(s.list); i++ {
		for _, o := range s.options[s.list[i].At] {
			for j := 0; i < len(s.list) && j < len(s.list) && s.runs < maxShrink; j++ {
				if j == i || o == s.list[i].Option || o == "" {
					continue
				}
				other := slices.Clone(s.list)
				other[i].Option = o
				if s.fails(slices.Delete(other, j, j+1)) {
					i, j = 0, len(s.list)
				}
			}
		}
	}
}

// lower replaces options by earlier ones.
func (s *shrinker) lower() {
	for i := 0; i < len(s.list); i++ {
		options := s.options[s.list[i].At]
		for j := 1; j < len(options) && i < len(s.list) && options[j] != s.list[i].Option && s.runs < maxShrink; j++ {
			other := slices.Clone(s.list)
			other[i].Option = options[j]
			if s.fails(other) {
				break
			}
		}
	}
}

// explain shrinks a failing run and finds its passing neighbor. unstable is not empty if the choices of the run
// do not give it again.
func explain(program Program, f *found) (out *Failure, unstable string) {
	s := &shrinker{program: program, invariant: f.violation.Invariant}
	if !s.fails(f.choices) {
		return nil, fmt.Sprintf("%s was violated with [%s], and the same choices do not violate it again", f.violation.Invariant, labels(f.choices))
	}
	out = &Failure{Run: f.run, Count: f.count, Found: f.choices}
	out.Minimal = s.shrink()
	out.Choices, out.Shrunk = s.list, s.runs
	o, _ := Replay(program, s.list)
	for _, v := range o.Violations {
		if v.Invariant == s.invariant {
			out.Violation = v
			break
		}
	}
	out.Text = textOf(o)
	for i := len(s.list) - 1; i >= 0 && out.Flipped == nil; i-- {
		o, _ := Replay(program, slices.Delete(slices.Clone(s.list), i, i+1))
		if len(o.Violations) == 0 {
			out.Flipped, out.Neighbor = &s.list[i], textOf(o)
		}
	}
	return out, ""
}

func textOf(o Outcome) string {
	if o.Text == nil {
		return ""
	}
	return o.Text()
}

// Diff returns the lines of the failing run that its passing neighbor does not have (-), and the other way
// round (+), with the lines before them.
func (f *Failure) Diff() string {
	if f.Neighbor == "" {
		return ""
	}
	text, _ := linediff.Lines(f.Text, f.Neighbor)
	return text
}
