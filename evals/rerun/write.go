package rerun

import (
	"fmt"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace"
)

// Write writes the events of a rerun to a trace, with the case, the epoch and the cluster
// of the run that was rerun, and what was expected of it: see importer.CaseEvent. The
// scores of that run are not written, since the rerun has earned none of them. A sink
// takes the reruns of one report alone; number tells them apart there.
func Write(sink trace.Sink, run *Recorded, number int, events []trace.Event) error {
	name := fmt.Sprintf("r%d", number)
	about := run.Run
	about.Case = evals.CaseOf(&run.Run)
	seq := 0
	put := func(ev trace.Event) error {
		ev.Run, ev.Seq = name, seq
		seq++
		return sink.Write(ev)
	}
	for _, ev := range events {
		if err := put(ev); err != nil {
			return err
		}
		if _, ok := ev.Body.(trace.RunStart); ok {
			if err := put(trace.Event{Step: trace.NoStep, Body: about.About()}); err != nil {
				return err
			}
		}
	}
	return nil
}
