package importer

import (
	"encoding/json"
	"errors"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// evaluated reads a result of promptfoo: the EvaluateResult of src/types/index.ts in
// github.com/promptfoo/promptfoo, of which an output file has a list and a JSON Lines file
// one a line. The case is the test's variables: what is repeated has the same, and several
// prompts and providers do. Of a test that came to no judgement the scores are errors.
func evaluated(d *jsonio.Dec, run *Run) {
	run.members(d, nil)
	test, prompt := scalar(run.Meta["testIdx"]), scalar(run.Meta["promptIdx"])
	if test != "" {
		run.Name = "test-" + test
	}
	if prompt != "" {
		run.Name += "/prompt-" + prompt
	}
	run.Case = variables(run.Meta["vars"])
	if run.Case == "" {
		run.Case = test
	}
	for _, assert := range elementsOf(memberOf(run.Meta["testCase"], "assert")) {
		if scalar(memberOf(assert, "type")) == "equals" {
			run.Expected.Answers = append(run.Expected.Answers, wanted(memberOf(assert, "value")).Answers...)
		}
	}
	run.ask(promptOf(run.Meta["prompt"]))
	run.answer(memberOf(run.Meta["response"], "output"))
	run.Scores = judgements(run.Meta)
}

// variables returns the text of the only variable, or the JSON of several; "" for none.
func variables(vars json.RawMessage) string {
	var only json.RawMessage
	n := 0
	for _, value := range membersOf(vars) {
		only = value
		n++
	}
	switch n {
	case 0:
		return ""
	case 1:
		return asText(only)
	}
	return llm.Canonical(string(vars))
}

// promptOf returns what a model was asked: a text, or the messages that a text spells.
func promptOf(prompt json.RawMessage) json.RawMessage {
	if raw := memberOf(prompt, "raw"); raw != nil {
		prompt = raw
	}
	if text, ok := textOf(prompt); ok && text != "" && text[0] == '[' && jsonio.ValidText(text) {
		return json.RawMessage(text)
	}
	if isNull(prompt) {
		return nil
	}
	return prompt
}

// judgements returns the scores of a result.
func judgements(meta map[string]json.RawMessage) (scores []Score) {
	for _, name := range []string{"success", "score"} {
		if raw := meta[name]; !isNull(raw) {
			scores = append(scores, scoreOf(name, raw))
		}
	}
	for name, raw := range membersOf(meta["namedScores"]) {
		if !isNull(raw) {
			scores = append(scores, scoreOf("namedScores/"+name, raw))
		}
	}
	const failed = "2" // ResultFailureReason.ERROR
	if string(meta["failureReason"]) == failed {
		for i := range scores {
			scores[i].Value, scores[i].Err = 0, errors.New("the test ended with an error: "+asText(meta["error"]))
		}
	}
	return scores
}
