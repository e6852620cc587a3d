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
	Text string `json:"question"`
	// Kind is text for free text, multiple_choice for exactly one option, or multi_select for
	// any number of options.
	Kind    string   `json:"type"`
	Options []string `json:"options,omitempty"` // to choose from; required for a choice
}

// AskUser adds the tool ask_user, which lets a model ask a person. The run continues with the
// replies. The result contains each question and its reply.
//
// The function ask waits for the replies of the person. It returns one string per question, in
// their order, and may join several chosen options in any form. An error becomes an error
// result for the model. The function must be safe for concurrent use and must honor its
// context. AskUser returns an error if ask is nil.
func AskUser(ask func(ctx context.Context, questions []Question) (replies []string, err error)) (loop.Middleware, error) {
	if ask == nil {
		return loop.Middleware{}, errors.New("middleware: AskUser: missing function: set ask")
	}
	tool := prepared("ask_user", "Asks the user, and waits for the answers. Use it where only the user can know or decide how to go on.",
		`{"type":"object","properties":{"questions":{"type":"array","minItems":1,"items":{"type":"object","properties":{`+
			`"question":{"type":"string","minLength":1},"type":{"type":"string","enum":["text","multiple_choice","multi_select"]},`+
			`"options":{"type":"array","items":{"type":"string"}}},"required":["question"]}}},"required":["questions"]}`)
	return loop.Middleware{Name: "ask_user", New: func(loop.RunInfo) loop.Hooks {
		return withTools(func(ctx context.Context, call loop.Call) (loop.Output, error) {
			questions, err := readQuestions(call.Arguments)
			if err != nil {
				return loop.Output{}, err
			}
			replies, err := ask(ctx, questions)
			switch {
			case err != nil:
				return loop.Output{}, err
			case len(replies) != len(questions):
				return loop.Output{}, fmt.Errorf("there were %d questions, and %d answers came", len(questions), len(replies))
			}
			texts := make([]string, len(questions))
			for i, q := range questions {
				texts[i] = "Q: " + q.Text + "\nA: " + replies[i]
			}
			return loop.TextOutput(strings.Join(texts, "\n\n")), nil
		}, tool)
	}}, nil
}

func readQuestions(args string) ([]Question, error) {
	var in struct{ Questions []Question }
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		return nil, err
	}
	for i, q := range in.Questions {
		switch {
		case q.Kind == "":
			in.Questions[i].Kind = "text"
		case q.Kind != "text" && len(q.Options) == 0:
			return nil, fmt.Errorf("the question %q is of the type %s and has no options to choose from", q.Text, q.Kind)
		}
	}
	return in.Questions, nil
}
