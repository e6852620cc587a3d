package scorers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/atomicfile"
	"github.com/looptape/looptape/trace/importer"
)

// rubricSettings scores by a model that grades the run by criteria. The row stores its responses.
// A response without a valid grade is an error of the score, never a number.
//
// Texts of the run are between lines with a code that they cannot contain. So they cannot look
// like a part of the rubric. This does not prevent the model from believing them.
type rubricSettings struct {
	Grader Grader `json:"grader"`
	// Criteria describe what is graded, and the grades. The rubric of the case in the dataset follows.
	Criteria string `json:"criteria,omitempty"`
	// Labels are the grades and their values. Scale is the smallest and the largest number instead. With
	// neither, pass is 1 and fail 0.
	Labels map[string]float64 `json:"labels,omitempty"`
	Scale  []float64          `json:"scale,omitempty"`
	// Conversation shows the whole conversation instead of the prompt and the final answer.
	Conversation bool `json:"conversation,omitempty"`
	// Prompt is the whole prompt with the placeholders {criteria}, {question}, {answer},
	// {conversation}, {expected} and {format}; empty means the default.
	Prompt string `json:"prompt,omitempty"`
	// Samples is the number of responses; 0 means 1. The score is their mean, or with Majority
	// the value of more than half of them; without a majority it is an error.
	Samples  int  `json:"samples,omitempty"`
	Majority bool `json:"majority,omitempty"`
}

func (s rubricSettings) locate(m *Maker) (_ settings, err error) {
	s.Grader, err = s.Grader.open(m)
	return s, err
}

func (s rubricSettings) scorer() (scoreFunc, error) {
	const most = 100
	has := func(place string) bool { return strings.Contains(s.Prompt, place) }
	switch {
	case s.Prompt != "" && !(has("{format}") && (has("{answer}") || has("{conversation}"))):
		return nil, errors.New("the prompt needs the placeholders {format}, and {answer} or {conversation}")
	case s.Prompt != "" && (s.Conversation || s.Criteria != "" && !has("{criteria}")):
		return nil, errors.New("the prompt selects its content: remove conversation, and criteria unless the prompt has {criteria}")
	case s.Samples < 0 || s.Samples > most:
		return nil, fmt.Errorf("samples %d: want a number up to %d", s.Samples, most)
	}
	if err := s.checkGrades(); err != nil {
		return nil, err
	}
	if len(s.Labels) == 0 {
		s.Labels = map[string]float64{"pass": 1, "fail": 0}
	}
	a, err := s.Grader.asker()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, run *importer.Run) []evals.Score {
		question, err := s.question(run)
		if err != nil {
			return []evals.Score{{Err: err}}
		}
		grading, err := a.ask(ctx, question, max(1, s.Samples))
		score := evals.Score{Grading: &grading, Err: err}
		if err == nil {
			score.Value, score.Explanation, score.Err = s.score(grading.Responses)
		}
		return []evals.Score{score}
	}, nil
}

func (s rubricSettings) checkGrades() error {
	if len(s.Labels) > 0 && s.Scale != nil {
		return errors.New("labels and scale exclude each other: set one of them")
	}
	if s.Scale != nil && (len(s.Scale) != 2 || !(s.Scale[0] < s.Scale[1])) {
		return fmt.Errorf("scale %v: want the smallest and the largest number, as in [1, 5]", s.Scale)
	}
	for label := range s.Labels {
		if label == "" || strings.TrimSpace(label) != label || strings.Contains(label, "\n") {
			return fmt.Errorf("the label %q: want a few words without surrounding space", label)
		}
	}
	return nil
}

var rubricPlace = regexp.MustCompile(`\{(?:criteria|question|answer|conversation|expected|format)\}`)

// question returns the prompt for a run.
func (s rubricSettings) question(run *importer.Run) (string, error) {
	var failed error
	text := rubricPlace.ReplaceAllStringFunc(s.template(run), func(place string) string {
		text, err := s.fill(place, run)
		if failed == nil {
			failed = err
		}
		return text
	})
	return text, failed
}

// template returns the prompt with placeholders.
func (s rubricSettings) template(run *importer.Run) string {
	if s.Prompt != "" {
		return s.Prompt
	}
	all := []string{"{criteria}", "{question}", "{answer}", "{expected}", "{format}"}
	if s.Conversation {
		all = []string{"{criteria}", "{conversation}", "{expected}", "{format}"}
	}
	_, missing := question(run)
	all = slices.DeleteFunc(all, func(place string) bool {
		return place == "{question}" && missing != nil || place == "{expected}" && len(expectedAnswers(run)) == 0
	})
	return strings.Join(all, "\n\n")
}

func (s rubricSettings) fill(place string, run *importer.Run) (string, error) {
	switch place {
	case "{criteria}":
		return criteria(s.Criteria, run)
	case "{question}":
		return question(run)
	case "{answer}":
		text, err := finalAnswer(run)
		return block("answer", text), err
	case "{conversation}":
		_, err := finalAnswer(run)
		return block("conversation", transcript(conversation(run))), err
	case "{expected}":
		all := expectedAnswers(run)
		if len(all) == 0 {
			return "", errNoExpected
		}
		return block("expected answer", strings.Join(all, "\nor\n")), nil
	}
	return formatOf(s.grades()), nil
}

// criteria returns those of the settings, and then the rubric of the case in the dataset.
func criteria(all string, run *importer.Run) (string, error) {
	own := run.Expected.Criteria
	switch {
	case all+own == "":
		return "", errors.New("missing criteria: describe what is graded, and the grades, in the settings or as rubric in a dataset")
	case all == "" || own == "":
		return all + own, nil
	}
	return all + "\n\n" + own, nil
}

func (s rubricSettings) grades() string {
	if s.Scale != nil {
		return fmt.Sprintf("a number from %v to %v", s.Scale[0], s.Scale[1])
	}
	labels := slices.Sorted(maps.Keys(s.Labels))
	for i, label := range labels {
		labels[i] = strconv.Quote(label)
	}
	return "one of " + strings.Join(labels, ", ")
}

// formatOf describes the form of a response with one of these grades.
func formatOf(grades string) string {
	return `Answer with one JSON object and nothing else: {"reason": "…", "grade": …}, first the reason in a sentence or two, then the grade, ` + grades + "."
}

// score combines all responses. Each must have a valid grade.
func (s rubricSettings) score(answers []string) (sum float64, why string, err error) {
	var grades []string
	var reason string
	count := map[float64]int{}
	for _, text := range answers {
		g, err := readGrade(text)
		var v float64
		if err == nil {
			v, err = s.value(g.text)
		}
		if err != nil {
			return 0, "", err
		}
		count[v]++
		sum += v
		grades = append(grades, g.text)
		reason = cmp.Or(reason, g.reason)
	}
	all := strings.Join(grades, ", ")
	why = all
	if reason != "" {
		why += ": " + reason
	}
	if !s.Majority {
		return sum / float64(len(answers)), why, nil
	}
	for v, n := range count {
		if 2*n > len(answers) {
			return v, why, nil
		}
	}
	return 0, "", errors.New("the grader responses have no majority for one grade: " + all)
}

func (s rubricSettings) value(text string) (float64, error) {
	if s.Scale != nil {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= s.Scale[0] && v <= s.Scale[1]) {
			return 0, fmt.Errorf("invalid grade %s: want %s", quote(text), s.grades())
		}
		return v, nil
	}
	v, ok := s.Labels[text]
	if !ok {
		return 0, fmt.Errorf("unknown grade %s: want %s", quote(text), s.grades())
	}
	return v, nil
}

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
	// Criteria describe what makes an answer better. The rubric of the case in the dataset follows.
	Criteria string `json:"criteria,omitempty"`
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

func (s *pairwiseSettings) read(files fs.FS, name string) (err error) {
	if err := atomicfile.CheckInput(name, func(name string) (fs.FileInfo, error) { return fs.Stat(files, name) }); err != nil {
		return err
	}
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	src, err := importer.Open(name, f)
	if err != nil {
		return err
	}
	for run, err := range src.Runs() {
		if err != nil {
			return err
		}
		s.Base = append(s.Base, &run)
	}
	return nil
}

func (s pairwiseSettings) scorer() (scoreFunc, error) {
	if len(s.Base) == 0 {
		return nil, errors.New("missing runs to compare with: name their recordings in against")
	}
	a, err := s.Grader.asker()
	if err != nil {
		return nil, err
	}
	base := map[string][]*importer.Run{} // by case
	for _, run := range s.Base {
		name := run.CaseName()
		base[name] = append(base[name], run)
	}
	return func(ctx context.Context, run *importer.Run) []evals.Score {
		now, err := s.text(run)
		old := ""
		if err == nil {
			all := base[run.CaseName()]
			if all == nil { // the dataset gave the run its case
				all = base[run.Prompt()]
			}
			old, err = s.other(all, run.Epoch)
		}
		if err != nil {
			return []evals.Score{{Err: err}}
		}
		return s.compare(ctx, a, run, old, now)
	}, nil
}

// text returns the compared text of a run.
func (s pairwiseSettings) text(run *importer.Run) (string, error) {
	text, err := finalAnswer(run)
	if s.Conversation {
		text = transcript(conversation(run))
	}
	return text, err
}

// other returns the text of the other set for a run of a case.
func (s pairwiseSettings) other(all []*importer.Run, epoch int) (string, error) {
	found := all
	if len(all) > 1 {
		found = slices.DeleteFunc(slices.Clone(all), func(r *importer.Run) bool { return r.Epoch != epoch })
	}
	switch {
	case len(all) == 0:
		return "", errors.New("the other set has no run of the case")
	case len(found) != 1:
		return "", fmt.Errorf("the other set has %d runs of the case, of which %d are of the epoch", len(all), len(found))
	}
	text, err := s.text(found[0])
	if err != nil {
		err = fmt.Errorf("the run of the other set: %w", err)
	}
	return text, err
}

// compare sends the prompt in both orders.
func (s pairwiseSettings) compare(ctx context.Context, a *asker, run *importer.Run, old, now string) []evals.Score {
	both := &evals.Grading{}
	var first [2]float64
	var words [2]string
	rules, err := criteria(s.Criteria, run)
	if err != nil {
		return []evals.Score{{Err: err}}
	}
	for i, texts := range [2][2]string{{old, now}, {now, old}} {
		grading, err := a.ask(ctx, s.question(rules, run, texts), 1)
		both.Responses, both.Usage = append(both.Responses, grading.Responses...), both.Usage.Add(grading.Usage)
		if err == nil {
			first[i], words[i], err = readPreference(grading.Responses[0])
		}
		if err != nil {
			return []evals.Score{{Err: err, Grading: both}}
		}
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
func (s pairwiseSettings) question(criteria string, run *importer.Run, texts [2]string) string {
	name := "answer"
	all := []string{criteria}
	if s.Conversation {
		name = "conversation"
	} else if text, err := question(run); err == nil {
		all = append(all, text)
	}
	return strings.Join(append(all, block(name+" A", texts[0]), block(name+" B", texts[1]),
		"Which "+name+` is better by the criteria? `+formatOf(`"A", "B" or "tie"`)), "\n\n")
}

// readPreference returns 1 for A, 0 for B and 0.5 for a tie, with the grade and its reason.
func readPreference(answer string) (first float64, words string, err error) {
	g, err := readGrade(answer)
	if err != nil {
		return 0, "", err
	}
	first, ok := map[string]float64{"A": 1, "B": 0, "tie": 0.5}[g.text]
	if !ok {
		return 0, "", fmt.Errorf("unknown grade %s: want A, B or tie", quote(g.text))
	}
	return first, strings.TrimSpace(g.text + " " + g.reason), nil
}
