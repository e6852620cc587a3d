package explore

import (
	"fmt"
	"iter"
	"regexp"
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
	over      func(explored bool) string // why the time is over, or ""
	invariant string
	form      string // of the message, or "" if any message is right
	runs      int
	list      []Choice
	options   map[string][]string
	outcome   Outcome // of the last run that violated the invariant
	text      string  // of the last such run of repeat
}

// fails makes a run, and keeps its choices if it violates the invariant. They are those that the run had: others
// have no effect.
func (s *shrinker) fails(list []Choice) bool {
	s.runs++
	if s.over(true) != "" {
		s.runs = max(s.runs, maxShrink)
	}
	c := named(list)
	c.options = map[string][]string{}
	o := s.program.Run(c)
	if s.violation(o) < 0 {
		return false
	}
	s.list, s.options, s.outcome = taken(c.points), c.options, o
	return true
}

// violation returns the index of the violation that is shrunk, or -1.
func (s *shrinker) violation(o Outcome) int {
	return slices.IndexFunc(o.Violations, func(v check.Violation) bool {
		return v.Invariant == s.invariant && (s.form == "" || s.form == form(v.Message))
	})
}

// form returns a message without what another script changes: strings, objects, numbers, and what the tasks of a deadlock wait for.
func form(message string) string { return values.ReplaceAllString(message, "_") }

var values = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\{[^{}]*\}|[0-9]+|tasks wait, for [^:]*`)

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

// explain shrinks a failing run and finds its passing neighbor. It repeats the run repeat times. unstable is not empty if
// the choices of the run do not give it again.
func explain(program Program, f *found, repeat int, over func(explored bool) string) (out *Failure, unstable string) {
	s := &shrinker{program: program, over: over, invariant: f.violation.Invariant}
	out = &Failure{Violation: f.violation, Run: f.run, Count: f.count, ByFault: f.byFault, Found: f.choices, Choices: f.choices}
	shown, why := 0, over(true)
	if why == "" {
		if shown = s.repeat(f.choices, max(1, repeat)); shown < max(1, repeat) {
			why = over(true)
		}
	}
	switch {
	case why != "":
		out.Text = "not repeated: " + why + "\n"
		return out, ""
	case shown == 0 && repeat > 1:
		return nil, fmt.Sprintf("%s was violated with [%s], and %d runs with the same choices do not violate it: %s", f.violation.Invariant, labels(f.choices), repeat, f.violation.Message)
	case shown == 0:
		return nil, fmt.Sprintf("%s was violated with [%s], and the same choices do not violate it again", f.violation.Invariant, labels(f.choices))
	case shown < repeat:
		out.Shown, out.Repeated, out.Shrunk, out.Text = shown, repeat, s.runs, s.text
		return out, ""
	}
	out.Repeated, out.Minimal = repeat, s.shrink()
	out.describe(s)
	if repeat > 0 {
		out.Shown = s.repeat(out.Choices, repeat)
	}
	return out, ""
}

// repeat makes n runs with these choices, and returns how many violate the invariant.
func (s *shrinker) repeat(list []Choice, n int) (shown int) {
	for range n {
		if s.fails(list) {
			shown++
			s.text = textOf(s.outcome)
		}
	}
	return shown
}

// describe repeats the run with the choices of a shrinker, and describes it and its passing neighbor.
func (f *Failure) describe(s *shrinker) {
	f.Choices, f.Shrunk = s.list, s.runs
	o, _ := Replay(s.program, s.list)
	if i := s.violation(o); i >= 0 {
		f.Violation = o.Violations[i]
	}
	f.Text, f.Flipped, f.Neighbor = textOf(o), nil, ""
	for i := len(s.list) - 1; i >= 0 && f.Flipped == nil; i-- {
		o, _ := Replay(s.program, slices.Delete(slices.Clone(s.list), i, i+1))
		if len(o.Violations) == 0 {
			f.Flipped, f.Neighbor = &s.list[i], textOf(o)
		}
	}
}

// Reduce makes the script of a failure smaller, as long as a run violates the same invariant with the same message, apart
// from strings and numbers, and needs the same number of choices, and returns the smaller script and the failure with it.
// smaller yields scripts with one change each, and how the change renames choices.
// start makes the program of a script, or returns an error if the script is invalid. The runs of Reduce and those that
// shrank the choices are at most 200.
func Reduce[S any](f *Failure, script S, smaller func(S) iter.Seq2[S, func(at, option string) (string, string)], start func(S) (Program, error)) (S, *Failure) {
	s := &shrinker{over: never, invariant: f.Invariant, form: form(f.Message), runs: f.Shrunk, list: f.Choices}
	try := func(script S, then func()) bool {
		program, err := start(script)
		if err != nil {
			return false
		}
		defer program.Close()
		s.program = program
		if !s.fails(s.list) || len(s.list) != len(f.Choices) {
			return false
		}
		then()
		return true
	}
	reduced := false
	for changed := true; changed; {
		changed = false
		for at := 0; s.runs < maxShrink-reserve; {
			candidate, rename := nth(smaller(script), at)
			if rename == nil {
				break
			}
			was := s.list
			s.list = renamed(was, rename)
			if try(candidate, func() {}) {
				script, changed, reduced = candidate, true, true
				continue
			}
			s.list = was
			at++
		}
	}
	out := *f
	if reduced {
		try(script, func() {
			s.omit()
			out.Minimal = s.runs < maxShrink
			out.describe(s)
		})
	}
	return script, &out
}

// reserve is the number of runs that Reduce leaves to omit choices at the end.
const reserve = 20

// nth returns element n of a sequence, or zero values.
func nth[K, V any](seq iter.Seq2[K, V], n int) (key K, value V) {
	for k, v := range seq {
		if n == 0 {
			return k, v
		}
		n--
	}
	return key, value
}

func renamed(list []Choice, rename func(at, option string) (string, string)) (out []Choice) {
	for _, c := range list {
		at, option := rename(c.At, c.Option)
		out = append(out, Choice{at, option})
	}
	return out
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
