package middleware

import (
	"cmp"
	"context"
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

// AskUser adds the tool ask_user, which lets a model ask a person. The result contains each
// question and its reply.
//
// ask waits for the replies and returns one string per question, in their order, which may
// join several options in any form. Its error becomes an error result for the model. It must
// be safe for concurrent use and honor its context. AskUser returns an error if ask is nil.
func AskUser(ask func(ctx context.Context, questions []Question) (replies []string, err error)) (m loop.Middleware, err error) {
	if ask == nil {
		return m, errors.New("middleware: AskUser: missing function: set ask")
	}
	tool := prepared("ask_user", "Asks the user, and waits for the answers. Use it where only the user can know or decide how to go on.",
		`{"type":"object","properties":{"questions":{"type":"array","minItems":1,"items":{"type":"object","properties":{`+
			`"question":{"type":"string","minLength":1},"type":{"type":"string","enum":["text","multiple_choice","multi_select"]},`+
			`"options":{"type":"array","items":{"type":"string"}}},"required":["question"]}}},"required":["questions"]}`)
	type arguments struct{ Questions []Question }
	run := func(ctx context.Context, _ loop.Call, in arguments) (string, error) {
		for i := range in.Questions {
			q := &in.Questions[i]
			if q.Kind = cmp.Or(q.Kind, "text"); q.Kind != "text" && len(q.Options) == 0 {
				return "", fmt.Errorf("the question %q is of the type %s and has no options to choose from", q.Text, q.Kind)
			}
		}
		replies, err := ask(ctx, in.Questions)
		switch {
		case err != nil:
			return "", err
		case len(replies) != len(in.Questions):
			return "", fmt.Errorf("there were %d questions, and %d answers came", len(in.Questions), len(replies))
		}
		texts := make([]string, len(replies))
		for i, q := range in.Questions {
			texts[i] = "Q: " + q.Text + "\nA: " + replies[i]
		}
		return strings.Join(texts, "\n\n"), nil
	}
	return loop.Middleware{Name: "ask_user", New: func(loop.RunInfo) loop.Hooks { return withTools(run, tool) }}, nil
}
