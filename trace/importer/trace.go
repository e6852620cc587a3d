package importer

import (
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/looptape/looptape/trace"
)

// Events yields the events of a trace in the order of the file, those of interleaved runs as
// they were written. It holds none of them in memory, while Runs holds the open runs. Each
// trace.RunStart has what the header declares for all runs. An error is an [*Error] for a
// line that cannot be read; the next events follow if possible. Sources of other formats
// have no events. Either Events or Runs may be used, once.
func (s *Source) Events() iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		if s.Format.Name != "trace" {
			return
		}
		r, err := trace.NewReader(s.in)
		if err != nil {
			yield(trace.Event{}, s.errorAt(1, "", err))
			return
		}
		for ev, err := range r.Events() {
			if line, ok := errors.AsType[*trace.LineError](err); ok {
				err = &Error{File: s.name, Line: line.Line, Run: line.Run, Err: line.Err}
			} else if err != nil {
				err = s.errorAt(r.Line(), "", err)
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

// withHeader adds what the header declares for every run. The run's own values take
// precedence.
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

// trace gives each run when it has ended, and last the runs without an end.
func (w *walker) trace() {
	open := map[string]*Run{}
	var order []*Run
	for ev, err := range w.Events() {
		if len(order) == 0 {
			w.in.measureRun(true)
		}
		if err != nil {
			for _, r := range order { // the line may belong to any of them
				r.Partial = true
			}
			if !w.give(Run{}, err) {
				return
			}
			continue
		}
		r := open[ev.Run]
		if r == nil {
			r = &Run{Name: ev.Run, Line: w.line, Epoch: NoEpoch}
			open[ev.Run] = r
			order = append(order, r)
		}
		r.Events = append(r.Events, ev)
		switch body := ev.Body.(type) {
		case trace.Custom:
			r.setCase(body)
		case trace.RunEnd:
			delete(open, ev.Run)
			order = slices.DeleteFunc(order, func(o *Run) bool { return o == r })
			if !w.give(*r, nil) {
				return
			}
		default:
		}
	}
	for _, r := range order {
		if !w.give(*r, nil) {
			return
		}
	}
}
