package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/looptape/looptape/loop"
)

// Question is a question of the model for a person.
type Question struct {
	Text    string       `json:"question"`
	Kind    QuestionKind `json:"type"`
	Options []string     `json:"options,omitempty"` // to choose from; required for a choice
}

// QuestionKind is the form of the reply to a [Question].
type QuestionKind string

// Kinds of questions.
const (
	QuestionText   QuestionKind = "text"            // free text
	QuestionChoice QuestionKind = "multiple_choice" // exactly one option
	QuestionMulti  QuestionKind = "multi_select"    // any number of options
)

// AskUserFunc asks a person and waits for the replies. It returns one string per question, in
// their order, and may join several chosen options in any form. An error becomes an error
// result for the model. The function must be safe for concurrent use and must honor its
// context.
type AskUserFunc func(ctx context.Context, questions []Question) (answers []string, err error)

// AskUser adds the tool ask_user, which lets a model ask a person. The run continues with the
// replies. The result contains each question and its reply. AskUser returns an error if ask is
// nil.
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
