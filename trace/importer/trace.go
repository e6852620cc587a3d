package importer

import (
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/looptape/looptape/trace"
)

// Events yields the events of a trace in the order of the file, those of
// several runs as they were written, and holds none of them: Runs needs memory
// for the runs that are open at the same time, Events does not. What the file's
// header, or that of its part, says for all runs stands in each trace.RunStart. An error is an *Error
// for a line that cannot be read; the events go on after it where that is
// possible. Of a source that is not FormatTrace there are none. Either Events or
// Runs may be ranged over, once.
func (s *Source) Events() iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		if s.Format != FormatTrace {
			return
		}
		r, err := trace.NewReader(s.in)
		if err != nil {
			yield(trace.Event{}, &Error{File: s.name, Line: 1, Err: err})
			return
		}
		for ev, err := range r.Events() {
			if line, ok := errors.AsType[*trace.LineError](err); ok {
				err = &Error{File: s.name, Line: line.Line, Run: line.Run, Err: line.Err}
			} else if err != nil {
				err = &Error{File: s.name, Line: r.Line(), Err: err}
			}
			s.line = r.Line()
			if start, ok := ev.Body.(trace.RunStart); ok {
				ev.Body = withHeader(start, r.Header())
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// withHeader adds what holds for every run in the file; the run's own word
// comes first.
func withHeader(start trace.RunStart, h trace.Header) trace.RunStart {
	if len(h.Declares) > 0 {
		start.Options = slices.Concat(start.Options, h.Declares)
	}
	if len(h.Suppress) > 0 {
		suppress := maps.Clone(h.Suppress)
		maps.Copy(suppress, start.Suppress)
		start.Suppress = suppress
	}
	return start
}

// trace gives each run when it has ended, and those without an end at last.
func (w *walker) trace() {
	open := map[string]*Run{}
	var order []*Run
	for ev, err := range w.Events() {
		if len(order) == 0 {
			w.in.keep(true)
		}
		if err != nil {
			// Whose line it was cannot be known.
			for _, r := range order {
				r.Partial = true
			}
			w.give(Run{}, err)
		} else {
			r := open[ev.Run]
			if r == nil {
				r = &Run{Name: ev.Run, Line: w.line, Epoch: NoEpoch}
				open[ev.Run] = r
				order = append(order, r)
			}
			r.Events = append(r.Events, ev)
			switch body := ev.Body.(type) {
			case trace.Custom:
				r.told(body)
			case trace.RunEnd:
				delete(open, ev.Run)
				order = slices.DeleteFunc(order, func(o *Run) bool { return o == r })
				w.give(*r, nil)
			default: // says nothing of the run
			}
		}
		if w.stopped {
			return
		}
	}
	for _, r := range order {
		if w.stopped {
			return
		}
		w.give(*r, nil)
	}
}
