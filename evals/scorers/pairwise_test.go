package scorers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// of is a run of a case and an epoch that answered this.
func sideRun(name string, epoch int, text string) *importer.Run {
	run := answerRun(text)
	run.Case, run.Epoch = name, epoch
	return run
}

func TestPairwise(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"B", "A", "m 1 as B: B x; as A: A x\nm.first 0.5\nm.split 0"},
		{"A", "B", "m 0 as B: A x; as A: B x\nm.first 0.5\nm.split 0"},
		{"tie", "tie", "m 0.5 as B: tie x; as A: tie x\nm.first 0.5\nm.split 0"},
		{"A", "A", "m 0.5 as B: A x; as A: A x\nm.first 1\nm.split 1"},
		{"B", "B", "m 0.5 as B: B x; as A: B x\nm.first 0\nm.split 1"},
		{"B", "tie", "m 0.5 as B: B x; as A: tie x\nm.first 0.25\nm.split 1"},
		{"tie", "B", "m 0.5 as B: tie x; as A: B x\nm.first 0.25\nm.split 1"},
		{"b", "A", `m error: unknown grade "b": want A, B or tie`},
		{"B", "C", `m error: unknown grade "C": want A, B or tie`},
	} {
		j := &fakeGrader{answers: []string{fmt.Sprintf(`{"reason":"x","grade":%q}`, c.first), fmt.Sprintf(`{"reason":"x","grade":%q}`, c.second)}}
		s := pairwiseSettings{Grader: Grader{LLM: j}, Criteria: "better", Base: []*importer.Run{sideRun("a", 0, "old")}}
		got := gradeRun(t, s, sideRun("a", 0, "new"))
		wantPrefix(t, c.first+" "+c.second, describeScores(got), c.want)
		want := evals.Grading{Responses: j.answers[:len(j.asked)], Usage: llm.Usage{InputTokens: int64(10 * len(j.asked)), OutputTokens: int64(len(j.asked))}}
		if diff := cmp.Diff(want, *got[0].Grading); diff != "" {
			t.Errorf("what was kept (-want +got):\n%s", diff)
		}
	}
	for _, answer := range []string{"!", "what?"} {
		s := pairwiseSettings{Grader: Grader{LLM: &fakeGrader{answers: []string{answer}}}, Criteria: "better", Base: []*importer.Run{sideRun("a", 0, "old")}}
		wantPrefix(t, answer, describeScores(gradeRun(t, s, sideRun("a", 0, "new"))), "m error: the grader")
	}
}

// Both answers are shown in both orders.
func TestPairwiseQuestion(t *testing.T) {
	j := &fakeGrader{answers: []string{"grade: tie"}}
	s := pairwiseSettings{Grader: Grader{LLM: j}, Criteria: "The shorter one.", Base: []*importer.Run{sideRun("a", 0, "old")}}
	wantPrefix(t, "asked", describeScores(gradeRun(t, s, sideRun("a", 0, "new"))), "m 0.5")
	const old, now = " cba06b5736faf67e", " 11507a0e2f5e69d5"
	for i, texts := range [][2]string{{"A" + old + "\nold", "B" + now + "\nnew"}, {"A" + now + "\nnew", "B" + old + "\nold"}} {
		want := "The shorter one.\n\nBEGIN question 8a0a68ff967e4a16\nWell?\nEND question 8a0a68ff967e4a16"
		for _, text := range texts {
			mark, _, _ := strings.Cut(text, "\n")
			want += "\n\nBEGIN answer " + text + "\nEND answer " + mark
		}
		want += "\n\n" + `Which answer is better by the criteria? Answer with one JSON object and nothing else: {"reason": "…", "grade": …}, first the reason in a sentence or two, then the grade, "A", "B" or "tie".`
		if diff := cmp.Diff(want, j.asked[i].Messages[0].Text()); diff != "" {
			t.Errorf("prompt %d (-want +got):\n%s", i, diff)
		}
	}
	j = &fakeGrader{answers: []string{"grade: tie"}}
	s.Grader.LLM, s.Conversation = j, true
	wantPrefix(t, "conversations", describeScores(gradeRun(t, s, sideRun("a", 0, "new"))), "m 0.5")
	if text := j.asked[0].Messages[0].Text(); !strings.Contains(text, "\nuser: Well?\n\nassistant: old\nEND conversation A") || !strings.Contains(text, "Which conversation is better") || strings.Contains(text, "BEGIN question") {
		t.Errorf("got the prompt %s", text)
	}
}

// A run is compared with that of its case and epoch, or with the only one of its case.
func TestPairwisePairs(t *testing.T) {
	prefers := func(text string) *fakeGrader {
		return &fakeGrader{of: func(question string) string {
			a, _, _ := strings.Cut(question, "BEGIN answer B")
			if strings.Contains(a, "\n"+text+"\n") {
				return "grade: A"
			}
			return "grade: B"
		}}
	}
	base := []*importer.Run{sideRun("a", 0, "a0"), sideRun("b", 0, "b0"), sideRun("b", 1, "b1"), sideRun("c", importer.NoEpoch, "c"), sideRun("c", importer.NoEpoch, "d"),
		{Case: "e", Messages: []llm.Message{llm.User("x")}}}
	for _, c := range []struct {
		run  *importer.Run
		old  string
		want string
	}{
		{sideRun("a", 3, "new"), "a0", "m 0 "},
		{sideRun("a", importer.NoEpoch, "new"), "a0", "m 0 "},
		{sideRun("b", 0, "new"), "b0", "m 0 "},
		{sideRun("b", 1, "new"), "b1", "m 0 "},
		{sideRun("b", 1, "new"), "new", "m 1 "},
		{sideRun("b", 2, "new"), "new", "m error: the other set has 2 runs of the case, of which 0 are of the epoch"},
		{sideRun("c", importer.NoEpoch, "new"), "new", "m error: the other set has 2 runs of the case, of which 2 are of the epoch"},
		{sideRun("d", 0, "new"), "new", "m error: the other set has no run of the case"},
		{sideRun("e", 0, "new"), "new", "m error: the run of the other set: the recording has no model response"},
		{&importer.Run{Case: "a", Messages: []llm.Message{llm.User("x")}}, "new", "m error: the recording has no model response"},
		{&importer.Run{Case: "e", Messages: []llm.Message{llm.User("x")}}, "new", "m error: the recording has no model response"},
	} {
		s := pairwiseSettings{Grader: Grader{LLM: prefers(c.old)}, Criteria: "x", Base: base}
		wantPrefix(t, fmt.Sprint(c.run.Case, c.run.Epoch), describeScores(gradeRun(t, s, c.run)), c.want)
	}
}

// The other set is read from files in the folder of the suite.
func TestPairwiseAgainst(t *testing.T) {
	m := Maker{
		Files: fstest.MapFS{
			"b/1.jsonl": {Data: []byte(`{"case":"a","messages":[{"role":"user","content":"?"},{"role":"assistant","content":"one"}]}` + "\n")},
			"b/2.jsonl": {Data: []byte(`{"case":"b","messages":[{"role":"user","content":"?"},{"role":"assistant","content":"two"}]}` + "\n")},
			"bad.jsonl": {Data: []byte(`{"case":"b","messages":[{"role":"user","content":"?"},{"role":"assistant","content":"two"}]}` + "\n{\"messages\":[7]}\n")},
			"none.txt":  {Data: []byte("hello")},
		},
		Grader: func(*Grader) (llm.Model, error) { return &fakeGrader{answers: []string{"grade: tie"}}, nil },
	}
	parse := func(against string) (evals.Scorer, error) {
		return m.Parse("pairwise", "m", json.RawMessage(`{"criteria":"x","grader":{},"against":[`+against+`]}`))
	}
	s, err := parse(`"b/*.jsonl"`)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		wantPrefix(t, name, describeScores(s.Score(t.Context(), sideRun(name, 0, "new"))), "m 0.5 ")
	}
	for against, want := range map[string]string{
		`"c/*"`:                   `scorer "m": against: no file matches c/* in the folder of the suite`,
		`"["`:                     `scorer "m": against: no file matches [ in the folder of the suite`,
		`"b"`:                     `scorer "m": against: `,
		`"none.txt"`:              `scorer "m": against: none.txt: `,
		`"b/1.jsonl","bad.jsonl"`: `scorer "m": against: bad.jsonl:2: `,
		``:                        `scorer "m": missing runs to compare with: name their recordings in against`,
	} {
		_, err := parse(against)
		wantPrefix(t, against, fmt.Sprint(err), want)
	}
	m.Files = nil
	_, err = parse(`"a"`)
	wantPrefix(t, "no files", fmt.Sprint(err), `scorer "m": against: missing files: set Maker.Files`)
	_, err = newScorer("m", pairwiseSettings{Criteria: "x", Base: []*importer.Run{sideRun("a", 0, "x")}})
	wantPrefix(t, "no model", fmt.Sprint(err), `scorer "m": missing grading model: set Grader.LLM`)
}
