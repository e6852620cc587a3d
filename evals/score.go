package evals

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/looptape/looptape/trace/importer"
)

// Input is a file to score: a recording in any format of package importer, or a score file.
type Input struct {
	Name string // for rows and errors
	// Open is called once, by any goroutine.
	Open func() (io.ReadCloser, error)
	// Found is true for a file that the user did not name; it is skipped if it is not a
	// recording.
	Found bool
}

// Options configure scoring. The zero value uses the scores in the recordings.
type Options struct {
	Scorers []Scoring // none: the scores in the recordings, as "recorded"
	// Rows maps the columns or members of recordings that are rows of any shape; nil detects the
	// format.
	Rows *importer.Mapping
	// Names locates the case, the epoch and the cluster in other recordings; nil uses the
	// defaults of the formats.
	Names *importer.Mapping
	// Dataset has what is expected of the runs of each case; may be nil. A run that has no case in it is
	// scored without, and reported as unreadable; a case without a run is a row with NoRun.
	Dataset *Dataset
	// MissingAsZero counts missing and failed scores as 0, those of cases without a run among them.
	MissingAsZero bool
	// Skipped is called with the name of each skipped input, in order; may be nil.
	Skipped func(name string)
	// Journal stores and reuses the rows of inputs; may be nil.
	Journal *Journal
	// Brief omits explanations and grader responses from rows, unless Journal is set.
	Brief bool
	// Seen is called with each run and its complete row, concurrently, except for inputs from the
	// Journal; may be nil. A run that a call of another run started comes before that run and has
	// no scores. Seen must not change or keep its arguments.
	Seen func(row *Row, run *importer.Run)
}

// ScoreFiles scores the runs of all inputs, several inputs and runs concurrently. It keeps at
// most two runs per processor in memory, and one run over 16 MB per open input. Unreadable
// records are in the result. ScoreFiles returns the errors of [Merge], of a canceled context and
// of the journal.
//
// Runs that a call of another run started have no row: they are part of that run. Truncated runs
// have none either.
func ScoreFiles(ctx context.Context, inputs []Input, o *Options) (*Result, error) {
	options := Options{}
	if o != nil {
		options = *o
	}
	if len(options.Scorers) == 0 {
		options.Scorers = []Scoring{{Name: "recorded"}}
	}
	if options.Seen == nil {
		options.Seen = func(*Row, *importer.Run) {}
	}
	parts := make([]*inputResult, len(inputs))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	files := make(chan struct{}, runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for i := range inputs {
		files <- struct{}{}
		workers.Go(func() {
			parts[i] = newInputResult(&options, slots)
			parts[i].input(ctx, &inputs[i])
			<-files
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("scoring stopped: %w", err)
	}
	if err := options.Journal.err(); err != nil {
		return nil, err
	}
	results := make([]*Result, len(parts))
	for i, p := range parts {
		if p.skipped && options.Skipped != nil {
			options.Skipped(inputs[i].Name)
		}
		results[i] = &p.Result
	}
	if d := options.Dataset; d != nil {
		results = append(results, d.withoutRun(newInputResult(&options, slots).Scorers))
	}
	return Merge(results...)
}
