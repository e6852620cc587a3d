package scorers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace/importer"
)

// pairwiseSettings scores by a model that compares two answers: that of the run, and that of the
// run of the same case and epoch in another set, or of its only run of the case. The model
// compares them twice, in both orders. The score is 1 for a run that is better in both orders, 0
// for one that is worse in both, and else 0.5, a tie.
//
// Two more scores, with .first and .split after the name, measure the effect of the order: the
// share of responses that prefer the first answer (a tie counts half), and 1 if the two responses
// disagree, else 0.
type pairwiseSettings struct {
	Grader Grader `json:"grader"`
	// Criteria describe what makes an answer better.
	Criteria string `json:"criteria"`
	// Against are the recordings of the other set: names or patterns, as of [path.Match], in the
	// folder of the suite.
	Against []string `json:"against,omitempty"`
	// Conversation shows whole conversations, not only the prompt and the final answers.
	Conversation bool `json:"conversation,omitempty"`
	// Base are the runs of the other set.
	Base []*importer.Run `json:"-"`
}

func (s pairwiseSettings) locate(m *Maker) (_ settings, err error) {
	if s.Grader, err = s.Grader.open(m); err != nil {
		return s, err
	}
	for _, pattern := range s.Against {
		if m.Files == nil {
			return s, errors.New("against: missing files: set Maker.Files")
		}
		names, err := fs.Glob(m.Files, pattern)
		if err != nil || len(names) == 0 {
			return s, fmt.Errorf("against: no file matches %s in the folder of the suite", pattern)
		}
		for _, name := range names {
			if err := s.read(m.Files, name); err != nil {
				return s, fmt.Errorf("against: %w", err)
			}
		}
	}
	return s, nil
}

func (s *pairwiseSettings) read(files fs.FS, name string) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	src, err := importer.Open(name, f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	for run, err := range src.Runs() {
		if err != nil {
			return errors.Join(err, f.Close())
		}
		s.Base = append(s.Base, &run)
	}
	return f.Close()
}

type side struct {
	epoch int
	text  string
	err   error
}

func (s pairwiseSettings) scorer() (scoreFunc, error) {
	if s.Criteria == "" {
		return nil, errors.New("missing criteria: describe what makes an answer better")
	}
	if len(s.Base) == 0 {
		return nil, errors.New("missing runs to compare with: name their recordings in against")
	}
	a, err := s.Grader.asker()
	if err != nil {
		return nil, err
	}
	base := map[string][]side{}
	for _, run := range s.Base {
		name := evals.CaseOf(run)
		old := s.side(run)
		if old.err != nil {
			old.err = fmt.Errorf("the run of the other set: %w", old.err)
		}
		base[name] = append(base[name], old)
	}
	return func(ctx context.Context, run *importer.Run) []evals.Score {
		old, now := other(base[evals.CaseOf(run)], run.Epoch), s.side(run)
		if err := cmp.Or(now.err, old.err); err != nil {
			return []evals.Score{{Err: err}}
		}
		return s.compare(ctx, a, run, old.text, now.text)
	}, nil
}

// side returns the text of a run.
func (s pairwiseSettings) side(run *importer.Run) side {
	text, err := finalAnswer(run)
	if s.Conversation {
		text = transcript(conversation(run))
	}
	return side{run.Epoch, text, err}
}

// other returns the text to compare a run of this epoch with.
func other(all []side, epoch int) side {
	var found []side
	for _, s := range all {
		if s.epoch == epoch {
			found = append(found, s)
		}
	}
	switch {
	case len(all) == 0:
		return side{err: errors.New("the other set has no run of the case")}
	case len(all) == 1:
		return all[0]
	case len(found) == 1:
		return found[0]
	}
	return side{err: fmt.Errorf("the other set has %d runs of the case, of which %d are of the epoch", len(all), len(found))}
}

// compare sends the prompt in both orders.
func (s pairwiseSettings) compare(ctx context.Context, a *asker, run *importer.Run, old, now string) []evals.Score {
	both := &evals.Grading{}
	var first [2]float64
	var words []string
	for i, texts := range [2][2]string{{old, now}, {now, old}} {
		grading, err := a.ask(ctx, s.question(run, texts), 1)
		both.Responses, both.Usage = append(both.Responses, grading.Responses...), both.Usage.Add(grading.Usage)
		var g grade
		if err == nil {
			g, err = readGrade(grading.Responses[0])
		}
		if err == nil {
			first[i], err = prefersFirst(g.text)
		}
		if err != nil {
			return []evals.Score{{Err: err, Grading: both}}
		}
		words = append(words, strings.TrimSpace(g.text+" "+g.reason))
	}
	value, split := 0.5, 1.0
	if first[0]+first[1] == 1 { // both prefer the same run
		value, split = first[1], 0
	}
	return []evals.Score{
		{Value: value, Explanation: "as B: " + words[0] + "; as A: " + words[1], Grading: both},
		{Metric: ".first", Value: (first[0] + first[1]) / 2},
		{Metric: ".split", Value: split},
	}
}

// question returns the prompt for two texts; the first is A.
func (s pairwiseSettings) question(run *importer.Run, texts [2]string) string {
	name := "answer"
	all := []string{s.Criteria}
	if s.Conversation {
		name = "conversation"
	} else if text, err := question(run); err == nil {
		all = append(all, text)
	}
	return strings.Join(append(all, block(name+" A", texts[0]), block(name+" B", texts[1]),
		"Which "+name+` is better by the criteria? `+formatOf(`"A", "B" or "tie"`)), "\n\n")
}

// prefersFirst returns 1 for A, 0 for B and 0.5 for a tie.
func prefersFirst(grade string) (float64, error) {
	switch grade {
	case "A":
		return 1, nil
	case "B":
		return 0, nil
	case "tie":
		return 0.5, nil
	}
	return 0, fmt.Errorf("unknown grade %s: want A, B or tie", quote(grade))
}
