package scorers

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// FuzzParse parses anything as the settings of a scorer: it is rejected, or makes a scorer
// that does not crash, changes no run, and returns the same result again.
func FuzzParse(f *testing.F) {
	for kind, all := range settingsOf {
		for _, settings := range all {
			f.Add(kind, settings)
		}
	}
	f.Add("state_diff", `{"before":{"at":"/before"},"after":{"at":"/after"},"expected":[{"op":"add","path":"/l/0/x","value":[]},{"op":"remove","path":""},{"op":"add","path":"/~1","value":null}]}`)
	f.Add("rubric", `{"prompt":"{answer}{format}{expected}","grader":{},"labels":{"a":1e308,"b":-1e308},"samples":2}`)
	m := Maker{Grader: func(*Grader) (llm.Model, error) { return &fakeGrader{of: byHash}, nil }}
	f.Fuzz(func(t *testing.T, kind, settings string) {
		s, err := m.Parse(kind, "m", json.RawMessage(settings))
		if (s == nil) == (err == nil) {
			t.Fatalf("got the scorer %v and the error %v", s, err)
		}
		if err != nil || kind == "program" {
			return // what is drawn is not run
		}
		untouched := runsIn(t, sampleRuns)
		for i, run := range runsIn(t, sampleRuns) {
			said := describeScores(s.Score(t.Context(), run))
			if diff := cmp.Diff(untouched[i], run); diff != "" {
				t.Errorf("%s changes a run (-before +after):\n%s", kind, diff)
			}
			if again := describeScores(s.Score(t.Context(), run)); again != said || !strings.HasPrefix(said, "m") {
				t.Errorf("%s returned %q and then %q", kind, said, again)
			}
		}
	})
}

// FuzzBFCL reads anything for the functions, what is accepted and the arguments of a call.
func FuzzBFCL(f *testing.F) {
	f.Add(propertyJSON(`{"type":"integer"}`), `[{"f.g":{"x":[5],"y":[""]}}]`, `{"x":5}`)
	f.Add(propertyJSON(`{"type":"array","items":{"type":"dict"}}`), `[{"f.g":{"x":[[{"a":[1]}]]}}]`, `{"x":[{"a":1}]}`)
	f.Add(propertyJSON(`{"type":"tuple"}`), `[{"f.g":{"x":[["it's",1.0]]}},{"h":{}}]`, `{"x":["ITS",1]}`)
	f.Add(`[]`, `[]`, ``)
	f.Add(`[{"name":"f.g"}]`, `[{"f.g":{"x":[{"a":["",1e400]}]}}]`, `{"x":{}}`)
	f.Fuzz(func(t *testing.T, function, truth, args string) {
		run := bfclRun(function, truth, "")
		run.Messages = []llm.Message{llm.Assistant(llm.ToolCall{ID: "1", Name: "f.g", Arguments: args})}
		checkNumber(t, scoreText(t, "bfcl", "", run), 0, 1)
	})
}

// number checks that a score is an error or between two numbers.
func checkNumber(t *testing.T, said string, least, most float64) {
	t.Helper()
	if strings.HasPrefix(said, "error: ") {
		return
	}
	text, _, _ := strings.Cut(said, " ")
	var v float64
	if err := json.Unmarshal([]byte(text), &v); err != nil || !(v >= least && v <= most) {
		t.Errorf("the score is %q, want a number from %v to %v", said, least, most)
	}
}

// FuzzNumeric reads the numbers of any texts. Each text has its own number.
func FuzzNumeric(f *testing.F) {
	for _, seed := range [][2]string{{"It is 1,234.5e-3 %", "1.2345%"}, {"-$5", "−5"}, {"(3)-4", "4"}, {"1e999 .5", "0.50"}, {"٣ 1,23", "23"}, {"", "1"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, answer, want string) {
		checkNumber(t, scoreText(t, "numeric", `{"relative":0.01}`, answerRun(answer, want)), 0, 1)
		if same := scoreText(t, "numeric", "", answerRun(want, want)); !strings.HasPrefix(same, "error: ") && same[0] != '1' {
			t.Errorf("%q is not its own number: %s", want, same)
		}
	})
}

// FuzzChoice reads the letters of any texts. Each text names the letter that it names.
func FuzzChoice(f *testing.F) {
	for _, seed := range [][2]string{{`\boxed{\text{B}}`, "B"}, {"The answer is: **(c)**.", "C"}, {"A) Paris", "a"}, {"D\n", "(D)"}, {"Answer: Ä", "A"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, answer, want string) {
		checkNumber(t, scoreText(t, "choice", "", answerRun(answer, want)), 0, 1)
		if same := scoreText(t, "choice", "", answerRun(want, want)); !strings.HasPrefix(same, "error: ") && same[0] != '1' {
			t.Errorf("%q does not name its own letter: %s", want, same)
		}
	})
}

// FuzzGrade reads anything that a grader may send: a score is one of the allowed grades.
func FuzzGrade(f *testing.F) {
	for _, seed := range []string{`{"grade":4}`, "Grade: 4", "```json\n{\"grade\": \"5\"}\n```", `{"grade":1e999}`, "**grade**: 0x2", `{"grade":1,"Grade":2}`, "grade: NaN", "Grade: 1\nGrade: 2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		grader := Grader{LLM: &fakeGrader{answers: []string{answer}}}
		for _, s := range gradeRun(t, rubricSettings{Criteria: "x", Scale: []float64{1, 5}, Grader: grader, Majority: true}, answerRun("y")) {
			if s.Err == nil && !(s.Value >= 1 && s.Value <= 5) {
				t.Errorf("%q: the score is %v", answer, s.Value)
			}
		}
		base := []*importer.Run{answerRun("z")}
		for _, s := range gradeRun(t, pairwiseSettings{Criteria: "x", Grader: grader, Base: base}, answerRun("y")) {
			if s.Err == nil && s.Value != 0 && s.Value != 0.25 && s.Value != 0.5 && s.Value != 0.75 && s.Value != 1 {
				t.Errorf("%q: the score %s is %v", answer, s.Metric, s.Value)
			}
		}
	})
}

// FuzzQuestion checks that the prompt of a grader contains any text unchanged, and that none of its
// lines ends the block.
func FuzzQuestion(f *testing.F) {
	for _, seed := range []string{"Well", "END answer\n", "BEGIN answer 74c526f4553babe7\n\nEND answer 74c526f4553babe7", "{format}{criteria}", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" {
			return
		}
		asked := askedRequest(t, rubricSettings{Prompt: "{answer}\n{format}"}, answerRun(text))
		begin, rest, _ := strings.Cut(asked, "\n")
		mark := strings.TrimPrefix(begin, "BEGIN")
		got, _, ended := strings.Cut(rest, "\nEND"+mark+"\n")
		if got != text || !ended {
			t.Errorf("got %q between the lines, want %q", got, text)
		}
	})
}

// FuzzStates compares any states by any patch.
func FuzzStates(f *testing.F) {
	f.Add(`{"a":[1,2]}`, `{"a":[2]}`, `[{"op":"remove","path":"/a/0"}]`, "/a")
	f.Add(`[[],{}]`, `[]`, `[{"op":"add","path":"/0/-","value":{"":1}},{"op":"replace","path":"/0/0/","value":1}]`, "/*/x")
	f.Add(`1`, `1.0e0`, `[]`, "")
	f.Fuzz(func(t *testing.T, before, after, patch, ignore string) {
		run := messagesRun(map[string]string{"b": before, "a": after, "p": patch})
		settings, err := json.Marshal(map[string]any{
			"before": map[string]string{"at": "/b"}, "after": map[string]string{"at": "/a"}, "expected_at": "/p", "partial": true, "ignore": []string{ignore},
		})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse("state_diff", "m", settings)
		if err != nil {
			return
		}
		for _, score := range s.Score(t.Context(), run) {
			if score.Err == nil && !(score.Value >= 0 && score.Value <= 1) {
				t.Errorf("the score is %v", score.Value)
			}
		}
	})
}
