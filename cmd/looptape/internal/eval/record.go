package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// recordingPlan counts what a recording of graders needs, before any request.
type recordingPlan struct {
	models int // opened models with a cassette
}

// parseFunc makes a scorer, as [scorers.Maker.Parse] does.
type parseFunc func(kind, metric string, settings json.RawMessage) (evals.Scorer, error)

// graded returns a parseFunc whose scorers do nothing unless they have a grader with a cassette.
func (p *recordingPlan) graded(parse parseFunc) parseFunc {
	return func(kind, metric string, settings json.RawMessage) (evals.Scorer, error) {
		before := p.models
		s, err := parse(kind, metric, settings)
		if err == nil && p.models == before {
			s = evals.ScorerFunc(func(context.Context, *importer.Run) []evals.Score { return nil })
		}
		return s, err
	}
}

// plannedModel sends no request. Its response is no grade of a rubric.
type plannedModel struct{}

func (plannedModel) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		_ = yield(llm.TextDelta{Text: `{"grade": "tie"}`}, nil) && yield(llm.Finish{Reason: llm.FinishStop}, nil)
	}
}

// planRecording reads the runs once without a request. It returns the errors of [evals.Merge],
// and prints unreadable records.
func planRecording(w *cli.World, c *cobra.Command, args []string, flags *rowFlags) error {
	p := &recordingPlan{}
	set, err := flags.set(w, args, graders{record: true, plan: p})
	if err != nil {
		return err
	}
	if p.models == 0 {
		return errors.New("--record: no scorer has a grader with a cassette: use a suite that has one")
	}
	set.Brief = true
	r, err := scoreSet(c.Context(), w, set)
	if err != nil {
		return err
	}
	unread := 0
	for _, u := range r.Unreadable {
		if u.Place == "" { // other runs are scored without the part that was not understood
			w.Warn("%s", u)
			unread++
		}
	}
	if unread > 0 {
		return fmt.Errorf("--record: %s: no request was sent: repair or remove them", cli.Count(unread, "unreadable record"))
	}
	return nil
}
