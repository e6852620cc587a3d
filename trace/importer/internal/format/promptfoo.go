package format

import (
	"encoding/json"
	"errors"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffPromptfoo recognizes results of promptfoo: an output file, or its results alone.
func SniffPromptfoo(h *Head) (Layout, bool) {
	if h.Object && h.Has("results") && (h.Has("evalId") || h.Contains(`"vars"`)) {
		return Layout{Path: []string{"results", "results"}}, true
	}
	return runsInArray, h.Has("success") && h.Has("vars", "testCase")
}

// PromptfooResults returns how many results a file with this head must have: the tests that its statistics count.
func PromptfooResults(head map[string]json.RawMessage) (n int) {
	for _, name := range []string{"successes", "failures", "errors"} {
		n += int(tree.Count(head["results.stats"], name))
	}
	return n
}

// Promptfoo reads an EvaluateResult (src/types/index.ts in github.com/promptfoo/promptfoo).
// The case is the variables of the test: repetitions, prompts and providers share them. The
// scores of a test that ended with an error are errors.
func Promptfoo(d *jsonio.Dec, run *Run) {
	run.Members(d, nil)
	for _, name := range []string{"cost", "latencyMs", "failureReason"} {
		run.number(&record{line: run.Line}, name, run.Meta[name])
	}
	for _, name := range []string{"response", "namedScores", "testCase"} {
		run.reportNotObject(name, run.Meta[name])
	}
	if usage := tree.Member(run.Meta["response"], "tokenUsage"); usage != nil && run.Meta["tokenUsage"] == nil { // as -o writes it
		run.Meta["tokenUsage"] = usage
	}
	test, prompt := tree.Scalar(run.Meta["testIdx"]), tree.Scalar(run.Meta["promptIdx"])
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
	for _, assert := range run.Objects("testCase.assert", tree.Member(run.Meta["testCase"], "assert")) {
		if tree.Scalar(assert, "type") == "equals" {
			run.Expected.Answers = append(run.Expected.Answers, ExpectedOf(tree.Member(assert, "value")).Answers...)
		}
	}
	run.Ask(promptOf(run.Meta["prompt"]))
	run.Reply(tree.Member(run.Meta["response"], "output"))
	run.promptfooScores()
}

// variables returns the text of the only variable, or the JSON of several; empty for none.
func variables(vars json.RawMessage) string {
	var only json.RawMessage
	n := 0
	for _, value := range tree.Members(vars) {
		only = value
		n++
	}
	switch n {
	case 0:
		return ""
	case 1:
		return tree.String(only)
	}
	return jsonval.Canonical(string(vars))
}

// promptOf returns the prompt: a string, or the messages that the string contains as JSON.
func promptOf(prompt json.RawMessage) json.RawMessage {
	if raw := tree.Member(prompt, "raw"); raw != nil {
		prompt = raw
	}
	if text, ok := tree.Text(prompt); ok && text != "" && text[0] == '[' && jsonio.ValidText(text) {
		return json.RawMessage(text)
	}
	if tree.IsNull(prompt) {
		return nil
	}
	return prompt
}

func (r *Run) promptfooScores() {
	r.addScore("success", r.Meta["success"])
	r.addScore("score", r.Meta["score"])
	for name, raw := range tree.Members(r.Meta["namedScores"]) {
		r.addScore("namedScores/"+name, raw)
	}
	const failed = "2" // ResultFailureReason.ERROR
	if string(r.Meta["failureReason"]) != failed {
		return
	}
	for i := range r.Scores {
		r.Scores[i].Value, r.Scores[i].Err = 0, errors.New("the test ended with an error: "+tree.String(r.Meta["error"]))
	}
}
