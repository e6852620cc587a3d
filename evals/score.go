package evals

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/looptape/looptape/trace/importer"
)

// Input is a file to score: a recording in any format of package importer, or the file
// of a result, whose rows are taken as they are.
type Input struct {
	Name string // stands in rows and errors
	// Open is called once, by any goroutine.
	Open func() (io.ReadCloser, error)
	// Found says that nobody has named the file, so that it is passed over if it is no
	// recording.
	Found bool
}

// Options of scoring; the zero value takes the scores that the recordings carry.
type Options struct {
	Scorers []Scoring // none: Recorded, as "recorded"
	// Rows tells that recordings are rows of any shape, and what is where in them; nil
	// lets their content tell what they are.
	Rows *importer.Mapping
	// Names tells where recordings that are no such rows say the case, the epoch and the
	// cluster; nil takes what they are known to say.
	Names *importer.Naming
	// Passed is called with the name of each input that is passed over, in order; nil
	// does nothing.
	Skipped func(name string)
	// Journal keeps what inputs score, and knows what they have scored; nil does neither.
	Journal *Journal
	// Brief leaves out of rows what explains scores, and what models said that graded; not
	// so where Journal keeps them.
	Brief bool
	// Seen is called with each run that was read, and its whole row, by several goroutines
	// at once, but for inputs that Journal knows; nil does nothing. The row of a run that a
	// call of another run started, which comes before that one, has no scores. Neither may
	// be changed or kept.
	Seen func(row *Row, run *importer.Run)
}

// ScoreFiles scores the runs of all inputs, several inputs and several runs of one at once.
// In memory are at most twice as many runs as there are processors, and of those over 16 MB
// one of each input that is being read. What cannot be read is in the result; the
// error is that of [Merge], of a context that has ended, or of a journal that cannot be
// written.
//
// Of a trace, runs that a call of another run started have no row: they are part of
// that run. A run that cannot be read to its end has none either.
func ScoreFiles(ctx context.Context, inputs []Input, o *Options) (*Result, error) {
	if o == nil {
		o = &Options{}
	}
	scorers := o.Scorers
	if len(scorers) == 0 {
		scorers = []Scoring{{"recorded", ScorerFunc(Recorded)}}
	}
	parts := make([]*inputResult, len(inputs))
	helpers := make(chan struct{}, runtime.GOMAXPROCS(0))
	each(len(inputs), func(i int) {
		parts[i] = newInputResult(scorers, o, helpers)
		parts[i].input(ctx, &inputs[i], o.Journal)
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("scoring stopped: %w", err)
	}
	if err := o.Journal.err(); err != nil {
		return nil, err
	}
	results := make([]*Result, len(parts))
	for i, p := range parts {
		if p.skipped && o.Skipped != nil {
			o.Skipped(inputs[i].Name)
		}
		results[i] = &p.Result
	}
	return Merge(results...)
}

// each calls do for all numbers below n, as many at once as there are processors.
func each(n int, do func(i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}
