package rerun

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace/importer"
)

// Recorded is a run with its file.
type Recorded struct {
	File string
	importer.Run
}

// Runs yields the runs of inputs, in order, one in memory at a time, until ctx ends. It skips
// runs that a call of another run started, recorded requests that a later one continues, and
// found inputs that are not recordings. It uses the options Rows, Names and Skipped. An error is
// an *importer.Error; Runs continues after it if possible.
func Runs(ctx context.Context, inputs []evals.Input, o *evals.Options) iter.Seq2[Recorded, error] {
	return func(yield func(Recorded, error) bool) {
		for _, in := range inputs {
			if !runsOf(ctx, &in, o, yield) {
				return
			}
		}
	}
}

// runsOf yields the runs of an input. It reports whether to continue.
func runsOf(ctx context.Context, in *evals.Input, o *evals.Options, yield func(Recorded, error) bool) bool {
	fail := func(err error) bool {
		if _, ok := errors.AsType[*importer.Error](err); !ok {
			err = &importer.Error{File: in.Name, Err: err}
		}
		return yield(Recorded{}, err)
	}
	f, err := in.Open()
	if err != nil {
		return fail(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	src, err := importer.OpenRows(in.Name, f, o.Rows)
	switch {
	case in.Found && errors.Is(err, importer.ErrFormat):
		if o.Skipped != nil {
			o.Skipped(in.Name)
		}
		return true
	case err != nil:
		return fail(err)
	}
	for run, err := range src.Conversations() {
		more := true
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			more = fail(err)
		case run.Partial:
			more = fail(&importer.Error{File: in.Name, Line: run.Line, Err: fmt.Errorf("the run %q may be incomplete (an event is missing) and is not rerun", run.Name)})
		case run.Parent() == nil:
			if err := o.Names.Name(&run); err != nil {
				more = fail(&importer.Error{File: in.Name, Line: run.Line, Err: err})
			} else {
				more = yield(Recorded{in.Name, run}, nil)
			}
		}
		if !more {
			return false
		}
	}
	return true
}
