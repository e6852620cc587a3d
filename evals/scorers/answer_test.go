package scorers

import (
	"strings"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		kind, settings, answer string
		want                   string // of the recording; parts are parted by |
		score                  string
	}{
		{"exact", ``, " Paris\n", "Paris", `1 " Paris\n", as expected`},
		{"exact", ``, "paris", "Paris|Rome", `0 want "Paris" or "Rome", got "paris"`},
		{"exact", `{"ignore_case":true}`, "paris", "Rome|Paris", `1 `},
		{"exact", `{"expected":["Rome"]}`, "Paris", "Paris", `0 want "Rome", got "Paris"`},
		{"exact", ``, "x", "", `error: expected answer missing`},
		{"exact", ``, "", "x", `0 want "x", got ""`},
		{"exact", ``, strings.Repeat("é", 300), "x", `0 want "x", got "` + strings.Repeat("é", 300) + `"`},
		{"exact", ``, strings.Repeat("é", 301), "éx", `0 from character 2 on: want "éx", got "` + strings.Repeat("é", 141) + `…"`},
		{"exact", ``, strings.Repeat("é", 500) + "b" + strings.Repeat("c", 200), "x|" + strings.Repeat("é", 500) + "d", `0 from character 501 on: want "…` + strings.Repeat("é", 60) + `d", got "…` + strings.Repeat("é", 60) + "b" + strings.Repeat("c", 139) + `…"`},
		{"contains", ``, strings.Repeat("a", 200) + strings.Repeat("b", 41) + strings.Repeat("c", 60), "x", `0 want "x" in "` + strings.Repeat("a", 200) + "… (41 more characters) …" + strings.Repeat("c", 60) + `"`},
		{"exact", ``, strings.Repeat("é", 80), "x", `0 want "x", got "` + strings.Repeat("é", 80) + `"`},
		{"contains", ``, "It is Paris.", "Rome|Paris", `1 "Rome" or "Paris" is in "It is Paris."`},
		{"contains", `{"all":true}`, "It is Paris.", "Rome|Paris", `0 want "Rome" in "It is Paris."`},
		{"contains", `{"all":true}`, "Rome, Paris", "Rome|Paris", `1 `},
		{"contains", ``, "PARIS", "Rome|Paris", `0 want "Rome" or "Paris" in "PARIS"`},
		{"contains", `{"ignore_case":true}`, "PARIS", "Paris", `1 `},
		{"contains", ``, "x", "", `error: expected answer missing`},
		{"regexp", `{"pattern":"^(?i)par"}`, "Paris", "", `1 "Par" matches ^(?i)par`},
		{"regexp", `{"pattern":"x*"}`, "Paris", "", `1 "" matches x*`},
		{"regexp", `{"pattern":"^is"}`, "Paris", "", `0 want a match of ^is in "Paris"`},
		{"normalized", ``, "The  Eiffel-Tower!", "eiffeltower", `1 `},
		{"normalized", ``, "an apple, a day", "Apple day$", `1 `},
		{"normalized", ``, "theatre", "atre", `0 `},
		{"normalized", ``, "", "A", `error: the expected text "A" is empty without articles and punctuation`},
		{"normalized", ``, "«Paris»", "Paris", `0 `},
		{"json", ``, `{"b":[1.0,"x"],"a":1e2}`, `{"a":100,"b":[1,"x"]}`, `1 the value expected`},
		{"json", ``, "Here:\n```json\n[1]\n```\nand\n```\n[2]\n```", `[2]`, `1 `},
		{"json", ``, "[1]", `[2]|[1]`, `1 `},
		{"json", ``, "[1,2]", `[1]`, `0 : want [1], got [1,2]`},
		{"json", ``, `{"a":{"x/~":1},"b":1,"c":1,"d":1,"e":[1]}`, `{"a":{},"b":2,"c":2,"e":[2]}`, `0 /a/x~1~0: want nothing, got 1; /b: want 2, got 1; /c: want 2, got 1; /d: want nothing, got 1; /e/0: want 2, got 1`},
		{"json", ``, `{"a":null}`, `{}`, `0 /a: want nothing, got null`},
		{"json", ``, `{}`, `{"a":"` + strings.Repeat("x", 90) + `"}`, `0 /a: want "` + strings.Repeat("x", 90) + `", got nothing`},
		{"json", ``, "none", `[1]`, `0 want "[1]", got no JSON: "none"`},
		{"json", ``, "[1] [2]", `[1]`, `0 want "[1]", got no JSON: "[1] [2]"`},
		{"json", ``, "[1]", `no`, `error: the expected value is not JSON: "no": invalid character`},
		{"json", ``, "none", `[1]|no`, `error: the expected value is not JSON: "no": invalid character`},
		{"json", ``, "[1]", ``, `error: expected answer missing`},
		{"json", `{"expected":{"a":[1,2]},"ignore":["/a/1","/t","/l/*/id"]}`, `{"a":[1,3],"t":4,"l":[{"id":1}]}`, ``, `0 /l: want nothing, got [{}]`},
		{"json", `{"expected":{"l":[{"id":5,"x":1},{"x":2}]},"ignore":["/l/*/id"]}`, `{"l":[{"id":1,"x":1},{"x":2,"id":7}]}`, ``, `1 `},
		{"json", `{"expected":1,"ignore":[""]}`, `2`, ``, `1 `},
		{"json", ``, `[1e18,1e19,1e-18,1e-19]`, `[]`, `0 : want [], got [1000000000000000000,1e19,0.000000000000000001,1e-19]`},
		{"json", ``, `[100,-1.50,0.01,1e30,12e-40,-0.0]`, `[]`, `0 : want [], got [100,-1.5,0.01,1e30,12e-40,0]`},
		{"choice", ``, "B", "B", `1 `},
		{"choice", ``, "**(b).**", "B) Paris", `1 `},
		{"choice", ``, `so \boxed{\text{C}}, not \boxed{(d)}`, "D", `1 `},
		{"choice", ``, "The answer is: **(B)** since A is wrong.", "B", `1 `},
		{"choice", ``, "Answer: A\nNo. The correct answer is C", "C", `1 `},
		{"choice", ``, "The answer is a matter of taste", "A", `0 `},
		{"choice", ``, "Let me think about A and B.\n\nC)\n", "C", `1 `},
		{"choice", ``, "C) Paris", "C", `1 `},
		{"choice", ``, "c) Paris", "C", `0 `},
		{"choice", ``, "A dog", "A", `0 want "A", got "A dog"`},
		{"choice", `{"letters":"AB"}`, "C", "B", `0 `},
		{"choice", `{"letters":"ab","expected":"B"}`, "B", "A", `1 `},
		{"choice", ``, "B", "Paris", `error: the expected text "Paris" contains none of the letters ABCDE`},
	} {
		run := answerRun(c.answer)
		if c.want != "" {
			run.Expected.Answers = strings.Split(c.want, "|")
		}
		wantPrefix(t, c.kind+" "+c.settings+" "+c.answer, scoreText(t, c.kind, c.settings, run), c.score)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ settings, answer, want, score string }{
		{``, "First 3, then 18.", "18", "1 "},
		{``, "18 of 20", "18", "0 "},
		{``, "$1,234,567.50", "1234567.5", "1 "},
		{``, "1,23", "23", "1 "},
		{``, "it is 12,3456", "6", "1 "},
		{``, "3-5", "5", "1 "},
		{``, "x = -5", "-5", "1 "},
		{``, "−5", "-5", "1 "},
		{``, "-$5", "-5", "1 "},
		{``, "(3)-5", "5", "1 "},
		{``, "[3]-5", "5", "1 "},
		{``, "a-5", "5", "1 "},
		{``, "about 1.5e3 m", "1500", "1 "},
		{``, "-.5", "-0.5", "1 "},
		{``, "12%", "0.12", "1 "},
		{``, "12 %", "0.12", "1 "},
		{``, "12  %", "12", "1 "},
		{`{"ignore_percent":true}`, "12%", "12", "1 "},
		{``, "none", "18", `0 want "18", got "none"`},
		{``, "1e999", "18", `0 `},
		{``, "18", "a dozen", `error: the expected text has no number: "a dozen"`},
		{``, "18", "He has 5. So #### 18", "1 "},
		{``, "18.01", "18", "0 "},
		{`{"absolute":0.5}`, "18.5", "18", "1 "},
		{`{"absolute":0.5}`, "17.25", "18", "0 "},
		{`{"absolute":0.1}`, "1.1", "1", "1 "},
		{`{"absolute":0.1}`, "1.1000001", "1", "0 "},
		{`{"relative":0.1}`, "-1.1", "-1", "1 "},
		{`{"relative":0.5}`, "-15", "-10", "1 "},
		{`{"relative":0.5}`, "-4", "-10", "0 "},
		{`{"absolute":1,"relative":0.5}`, "14", "10", "1 "},
		{`{"absolute":4,"relative":0.1}`, "14", "10", "1 "},
	} {
		wantPrefix(t, c.settings+" "+c.answer, scoreText(t, "numeric", c.settings, answerRun(c.answer, c.want)), c.score)
	}
}

// Numbers in JSON are the same if their values are.
func TestNumbersOfJSON(t *testing.T) {
	for _, same := range [][]string{
		{"100", "1e2", "1.0E+2", "0.01e4", "100.00"},
		{"0", "-0", "0.0", "0e5"},
		{"-1.5", "-15e-1", "-0.15e1"},
		{"0.0012", "12e-4", "0.12E-2"}, {"1e18", "1000000000000000000"}, {"1e19", "10e18"}, {"1.5e-30", "15e-31"},
		{"10000000000000001"}, {"10000000000000000"},
		{"1e999999999999999999", "10e999999999999999998"},
		{"1e9999999999999999999"}, {"10e9999999999999999998"}, // too long to be looked at
	} {
		for _, a := range same {
			for _, b := range append(same, "7") {
				want := "1 "
				if b == "7" {
					want = "0 "
				}
				wantPrefix(t, a+" and "+b, scoreText(t, "json", "", answerRun(a, b)), want)
			}
		}
	}
	wantPrefix(t, "digits", scoreText(t, "json", "", answerRun("10000000000000001", "10000000000000000")), "0 ")
}

// TestExpectedReplies checks that the expected last reply is the expected answer if no other is
// recorded.
func TestExpectedReplies(t *testing.T) {
	run := answerRun("bye")
	run.Expected.Replies = []string{"hi", "bye"}
	wantPrefix(t, "replies", scoreText(t, "exact", "", run), "1 ")
	run.Expected.Replies = []string{"bye", ""}
	wantPrefix(t, "no last reply", scoreText(t, "exact", "", run), "error: expected answer missing")
	run.Expected.Answers = []string{"no"}
	wantPrefix(t, "both", scoreText(t, "exact", "", run), "0 ")
	run.Expected.Replies = []string{"bye"}
	wantPrefix(t, "answers before replies", scoreText(t, "exact", "", run), "0 ")
}

// A recording without a model response has no answer to score.
func TestNoAnswer(t *testing.T) {
	run := &importer.Run{Messages: []llm.Message{llm.User("Well?")}, Expected: importer.Expected{Answers: []string{"x"}}}
	wantPrefix(t, "no answer", scoreText(t, "exact", "", run), "error: the recording has no model response")
	wantPrefix(t, "no answer", scoreText(t, "regexp", `{"pattern":"x"}`, run), "error: the recording has no model response")
	run.Answer = "x"
	wantPrefix(t, "named", scoreText(t, "exact", "", run), "1 ")
}
