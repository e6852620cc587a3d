package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace/importer"
)

// recordMode is the value of the flag --record. The zero value sends no request.
type recordMode string

// Modes of recording.
const (
	recordAll     recordMode = "all"     // asks for all responses
	recordMissing recordMode = "missing" // asks for those that the cassette does not contain
)

// of adds the flag --record.
func (m *recordMode) of(c *cobra.Command) {
	f := c.Flags()
	f.StringVar((*string)(m), "record", "", "send requests to the grading models and record the responses: `all`, or those missing in the cassette; needs their keys")
	f.Lookup("record").NoOptDefVal = string(recordAll)
}

// parse checks the value. The flag has a default value, so that pflag takes the word after it as an
// argument; a suite has no other argument.
func (m *recordMode) parse(args []string) ([]string, error) {
	isMode := func(arg string) bool { return arg == string(recordAll) || arg == string(recordMissing) }
	if at := slices.IndexFunc(args, isMode); *m == recordAll && at >= 0 && len(args) > 1 {
		*m = recordMode(args[at])
		args = slices.Delete(slices.Clone(args), at, at+1)
	}
	if *m != "" && !isMode(string(*m)) {
		return nil, fmt.Errorf("--record %q: want all or missing", *m)
	}
	return args, nil
}

// kept returns the recordings whose responses a recording into a cassette does not ask for again:
// the journal of an interrupted recording, and with recordMissing the cassette.
func (g *graders) kept(file string) ([]*cassettes.File, error) {
	list := []*cassettes.File{}
	if g.record == recordMissing {
		f, err := cassettes.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w; --record=all records it again", err)
		}
		if err == nil {
			list = append(list, f)
		}
	}
	f, err := cassettes.Load(file) // an unreadable journal is an error of opening the cassette
	if err == nil && f.Incomplete() != nil && f.Len() > 0 {
		if g.plan == nil {
			journal := cassettes.JournalPath(file)
			g.w.Warn("%s: continuing an interrupted recording with %s: remove the file to begin again", journal, cli.Count(f.Len(), "response"))
		}
		list = append(list, f)
	}
	return list, nil
}

// parseFunc makes a scorer, as [scorers.Maker.Parse] does.
type parseFunc func(kind, metric string, settings json.RawMessage) (evals.Scorer, error)

// graded returns a parseFunc whose scorers do nothing unless they have a grader with a cassette.
func (p *recordingPlan) graded(parse parseFunc) parseFunc {
	return func(kind, metric string, settings json.RawMessage) (evals.Scorer, error) {
		before := p.opened
		s, err := parse(kind, metric, settings)
		if err == nil && p.opened == before {
			s = evals.ScorerFunc(func(context.Context, *importer.Run) []evals.Score { return nil })
		}
		return s, err
	}
}

// planRecording reads the runs once without a request and counts the requests. It returns the errors of [evals.Merge],
// and prints unreadable records.
func planRecording(w *cli.World, c *cobra.Command, args []string, flags *rowFlags, mode recordMode) (*recordingPlan, error) {
	p := newRecordingPlan()
	set, err := flags.set(w, args, graders{record: mode, plan: p})
	if err != nil {
		return nil, err
	}
	if p.opened == 0 {
		return nil, errors.New("--record: no scorer has a grader with a cassette: use a suite that has one")
	}
	set.Brief = true
	r, err := scoreSet(c.Context(), w, set)
	if err != nil {
		return nil, err
	}
	unread := 0
	for _, u := range r.Unreadable {
		if u.Place == "" { // other runs are scored without the part that was not understood
			w.Warn("%s", u)
			unread++
		}
	}
	if unread > 0 {
		return nil, fmt.Errorf("--record: %s: no request was sent: repair or remove them", cli.Count(unread, "unreadable record"))
	}
	return p, nil
}
