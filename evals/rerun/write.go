package rerun

import (
	"fmt"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace"
)

// Write writes the events of a rerun of run to a trace, with the case, the epoch, the cluster and the
// expectations of run (see importer.CaseEvent), but without its scores. A sink takes the reruns of one
// report; number distinguishes them.
func (run *Recorded) Write(sink trace.Sink, number int, events []trace.Event) error {
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
