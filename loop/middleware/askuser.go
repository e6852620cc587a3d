package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/looptape/looptape/loop"
)

// Question is what a model wants to know of a person.
type Question struct {
	Text    string       `json:"question"`
	Kind    QuestionKind `json:"type"`
	Options []string     `json:"options,omitempty"` // to choose from; of a choice there are some
}

// QuestionKind is how a question is answered.
type QuestionKind string

// The kinds of question.
const (
	QuestionText   QuestionKind = "text"            // in one's own words
	QuestionChoice QuestionKind = "multiple_choice" // by one of the options
	QuestionMulti  QuestionKind = "multi_select"    // by any number of them
)

// AskUserFunc asks a person. It waits for the answers, one a question, in their
// order; what was chosen of several options it joins as it likes. An error is an
// error result for the model. It may be called by several goroutines at once, and
// has to heed its context.
type AskUserFunc func(ctx context.Context, questions []Question) (answers []string, err error)

// AskUser offers ask_user, by which a model asks a person: the run goes on with the
// answers. The result says each question and its answer again.
func AskUser(ask AskUserFunc) (loop.Middleware, error) {
	if ask == nil {
		return loop.Middleware{}, errors.New("middleware: AskUser needs a function that asks, got nil")
	}
	tools, err := toolsOf(loop.Tool{
		Name:        "ask_user",
		Description: "Asks the user, and waits for the answers. Use it where only the user can know or decide how to go on.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"questions":{"type":"array","minItems":1,"items":{"type":"object","properties":{` +
			`"question":{"type":"string","minLength":1},"type":{"type":"string","enum":["text","multiple_choice","multi_select"]},` +
			`"options":{"type":"array","items":{"type":"string"}}},"required":["question"]}}},"required":["questions"]}`),
	})
	if err != nil {
		return loop.Middleware{}, fmt.Errorf("middleware: AskUser: %w", err)
	}
	return loop.Middleware{Name: "ask_user", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{Tools: running(tools, ask.run)}
	}}, nil
}

func (ask AskUserFunc) run(ctx context.Context, call loop.Call) (loop.Output, error) {
	questions, err := readQuestions(call.Arguments)
	if err != nil {
		return loop.Output{}, err
	}
	answers, err := ask(ctx, questions)
	switch {
	case err != nil:
		return loop.Output{}, err
	case len(answers) != len(questions):
		return loop.Output{}, fmt.Errorf("there were %d questions, and %d answers came", len(questions), len(answers))
	}
	texts := make([]string, len(questions))
	for i, q := range questions {
		texts[i] = "Q: " + q.Text + "\nA: " + answers[i]
	}
	return loop.TextOutput(strings.Join(texts, "\n\n")), nil
}

func readQuestions(args string) ([]Question, error) {
	var in struct{ Questions []Question }
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		return nil, err
	}
	for i, q := range in.Questions {
		switch {
		case q.Kind == "":
			in.Questions[i].Kind = QuestionText
		case q.Kind != QuestionText && len(q.Options) == 0:
			return nil, fmt.Errorf("the question %q is of the type %s and has no options to choose from", q.Text, q.Kind)
		}
	}
	return in.Questions, nil
}
