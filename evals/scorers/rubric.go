package scorers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace/importer"
)

// rubricSettings scores by a model that grades the run by criteria. The row stores its responses.
// A response without a valid grade is an error of the score, never a number.
//
// Texts of the run are between lines with a code that they cannot contain. So they cannot look
// like a part of the rubric. This does not prevent the model from believing them.
type rubricSettings struct {
	Grader Grader `json:"grader"`
	// Criteria describe what is graded, and the grades.
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
	switch {
	case s.Prompt == "" && s.Criteria == "":
		return nil, errors.New("missing criteria: describe what is graded, and the grades")
	case s.Prompt != "" && (!strings.Contains(s.Prompt, "{format}") || !strings.Contains(s.Prompt, "{answer}") && !strings.Contains(s.Prompt, "{conversation}")):
		return nil, errors.New("the prompt needs the placeholders {format}, and {answer} or {conversation}")
	case s.Prompt != "" && (s.Conversation || s.Criteria != "" && !strings.Contains(s.Prompt, "{criteria}")):
		return nil, errors.New("the prompt selects its content: remove conversation, and criteria unless the prompt has {criteria}")
	case s.Samples < 0 || s.Samples > most:
		return nil, fmt.Errorf("samples %d: want a number up to %d", s.Samples, most)
	}
	if err := s.checkGrades(); err != nil {
		return nil, err
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

func (s rubricSettings) labels() map[string]float64 {
	if len(s.Labels) == 0 {
		return map[string]float64{"pass": 1, "fail": 0}
	}
	return s.Labels
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
	all := []string{"{criteria}"}
	_, err := question(run)
	switch {
	case s.Conversation:
		all = append(all, "{conversation}")
	case err == nil:
		all = append(all, "{question}", "{answer}")
	default:
		all = append(all, "{answer}")
	}
	if len(expectedAnswers(run)) > 0 {
		all = append(all, "{expected}")
	}
	return strings.Join(append(all, "{format}"), "\n\n")
}

func (s rubricSettings) fill(place string, run *importer.Run) (string, error) {
	switch place {
	case "{criteria}":
		return s.Criteria, nil
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

func (s rubricSettings) grades() string {
	if s.Scale != nil {
		return fmt.Sprintf("a number from %v to %v", s.Scale[0], s.Scale[1])
	}
	labels := slices.Sorted(maps.Keys(s.labels()))
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
func (s rubricSettings) score(answers []string) (value float64, explanation string, err error) {
	var grades []string
	var reason string
	count := map[float64]int{}
	for _, text := range answers {
		g, err := readGrade(text)
		if err != nil {
			return 0, "", err
		}
		v, err := s.value(g.text)
		if err != nil {
			return 0, "", err
		}
		count[v]++
		value += v
		grades = append(grades, g.text)
		if reason == "" {
			reason = g.reason
		}
	}
	explanation = strings.Join(grades, ", ")
	if reason != "" {
		explanation += ": " + reason
	}
	if !s.Majority {
		return value / float64(len(answers)), explanation, nil
	}
	for v, n := range count {
		if 2*n > len(answers) {
			return v, explanation, nil
		}
	}
	return 0, "", errors.New("the grader responses have no majority for one grade: " + strings.Join(grades, ", "))
}

func (s rubricSettings) value(text string) (float64, error) {
	if s.Scale != nil {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= s.Scale[0] && v <= s.Scale[1]) {
			return 0, fmt.Errorf("invalid grade %s: want %s", quote(text), s.grades())
		}
		return v, nil
	}
	v, ok := s.labels()[text]
	if !ok {
		return 0, fmt.Errorf("unknown grade %s: want %s", quote(text), s.grades())
	}
	return v, nil
}
