package evals_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals"
)

// hostile returns a gate result with names that are syntax in each output.
func hostile(t *testing.T) *evals.GateResult {
	t.Helper()
	base := baseline(t, rowsOf(t, each5("m|m=1")...))
	now := rowsOf(t, append(each5("m|m=0")[1:], "<b>x</b>::%0A,@all m|m=!no", "z m|m=1")...)
	now.Change(func(_ int, row *evals.Row) {
		row.File = "a,b:c\n.jsonl"
		if row.Errors.Has("m|m") {
			row.Errors = evals.NewByName(map[string]string{"m|m": "]]>&\"\x00`no`\n::error::"})
		}
	})
	now.Unreadable = []evals.Unreadable{{File: "<f>", Line: 3, Error: "*no*"}}
	return evaluate(t, &evals.Gate{Alpha: 0.07, MustPass: []string{"b"}}, base, now)
}

func TestGateGitHub(t *testing.T) {
	const want = `::error title=looptape eval gate::drop: m|m: the mean of 4 cases went from 1.0000 to 0.0000, p = 0.0625
::error file=a%2Cb%3Ac%0A.jsonl,line=1,title=looptape eval gate::must pass: m|m: b: the run run-1 failed
::error title=looptape eval gate::missing: a: the case has no run
::error file=a%2Cb%3Ac%0A.jsonl,line=5,title=looptape eval gate::scorer error: m|m: <b>x</b>::%250A,@all: ]]>&"\x00` + "`no`" + `%0A::error::
::error file=a%2Cb%3Ac%0A.jsonl,line=1,title=looptape eval gate::worse: m|m: b: the mean of the case went from 1.0000 to 0.0000 (1 and 1 runs), 95 %25 of the difference -1.0000 to +0.1221
::error file=a%2Cb%3Ac%0A.jsonl,line=2,title=looptape eval gate::worse: m|m: c: the mean of the case went from 1.0000 to 0.0000 (1 and 1 runs), 95 %25 of the difference -1.0000 to +0.1221
::error file=a%2Cb%3Ac%0A.jsonl,line=3,title=looptape eval gate::worse: m|m: d: the mean of the case went from 1.0000 to 0.0000 (1 and 1 runs), 95 %25 of the difference -1.0000 to +0.1221
::error file=a%2Cb%3Ac%0A.jsonl,line=4,title=looptape eval gate::worse: m|m: e: the mean of the case went from 1.0000 to 0.0000 (1 and 1 runs), 95 %25 of the difference -1.0000 to +0.1221
::error file=<f>,line=3,title=looptape eval gate::unreadable: *no*
::warning title=looptape eval gate::m|m: this gate finds no drop with a probability of 0.8: use more runs of each case, or more cases
`
	if diff := cmp.Diff(want, text(t, hostile(t).GitHub)); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

func TestGateMarkdown(t *testing.T) {
	const want = `### looptape eval gate: failed (4)

| metric | cases | baseline | new | difference | 95 % | p | finds |
| --- | --- | --- | --- | --- | --- | --- | --- |
| m\|m | 4 | 1.0000 | 0.0000 | -1.0000 | -1.0000 to -0.0202 | 0.0625 | none |

| finding | metric | case | message |
| --- | --- | --- | --- |
| drop | m\|m |  | the mean of 4 cases went from 1.0000 to 0.0000, p = 0.0625 |
| must pass | m\|m | b | the run run-1 failed |
| missing |  | a | the case has no run |
| scorer error | m\|m | \<b\>x\</b\>::%0A,\@&#8203;all | \]\]\>\&" ` + "\\`no\\`" + ` ::error:: |

| metric | worse case | baseline | new | difference | 95 % | runs |
| --- | --- | --- | --- | --- | --- | --- |
| m\|m | b | 1.0000 | 0.0000 | -1.0000 | -1.0000 to 0.1221 | 1, 1 |
| m\|m | c | 1.0000 | 0.0000 | -1.0000 | -1.0000 to 0.1221 | 1, 1 |
| m\|m | d | 1.0000 | 0.0000 | -1.0000 | -1.0000 to 0.1221 | 1, 1 |
| m\|m | e | 1.0000 | 0.0000 | -1.0000 | -1.0000 to 0.1221 | 1, 1 |

Unreadable: \<f\>:3: \*no\*
`
	if diff := cmp.Diff(want, text(t, hostile(t).Markdown)); diff != "" {
		t.Errorf("Markdown (-want +got):\n%s", diff)
	}
	passed := evaluate(t, &evals.Gate{}, baseline(t, rowsOf(t, "a m=1 n=1")), rowsOf(t, "a m=1"))
	passed.Findings, passed.Passed = nil, true
	const short = `### looptape eval gate: passed

| metric | cases | baseline | new | difference | 95 % | p | p (Holm) | finds | missing |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| m | 1 | 1.0000 | 1.0000 | 0.0000 | - | 1.0000 | 1.0000 | none |  |
| n | 0 | - | - | - | - | - | - |  | 1 |
`
	if diff := cmp.Diff(short, text(t, passed.Markdown)); diff != "" {
		t.Errorf("Markdown of a gate that passed (-want +got):\n%s", diff)
	}
}

func TestGateJUnit(t *testing.T) {
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="looptape eval gate" tests="9" failures="6" errors="2" skipped="0">
  <testcase classname="metric" name="m|m" time="0">
    <failure type="drop" message="the mean of 4 cases went from 1.0000 to 0.0000, p = 0.0625">drop: m|m: the mean of 4 cases went from 1.0000 to 0.0000, p = 0.0625&#xA;</failure>
    <system-out>this gate finds no drop with a probability of 0.8: use more runs of each case, or more cases</system-out>
  </testcase>
  <testcase classname="case" name="&lt;b&gt;x&lt;/b&gt;::%0A,@all" time="0">
    <error type="scorer_error" message="]]&gt;&amp;&#34;\x00` + "`no`" + `&#xA;\::error::">scorer error: m|m: &lt;b&gt;x&lt;/b&gt;::%0A,@all: ]]&gt;&amp;&#34;\x00` + "`no`" + `&#xA;\::error::&#xA;</error>
  </testcase>
  <testcase classname="case" name="a" time="0">
    <failure type="missing" message="the case has no run">missing: a: the case has no run&#xA;</failure>
  </testcase>
  <testcase classname="case" name="b" time="0">
    <failure type="must_pass" message="the run run-1 failed">must pass: m|m: b: the run run-1 failed&#xA;worse: m|m: b: the mean of the case went from 1.0000 to 0.0000 (1 and 1 runs), 95 % of the difference -1.0000 to +0.1221&#xA;</failure>
  </testcase>
  <testcase classname="case" name="c" time="0">
    <failure type="worse" message="the mean of the case went from 1.0000 to 0.0000 (1 and 1 runs), 95 % of the difference -1.0000 to +0.1221">worse: m|m: c: the mean of the case went from 1.0000 to 0.0000 (1 and 1 runs), 95 % of the difference -1.0000 to +0.1221&#xA;</failure>
  </testcase>
  <testcase classname="case" name="d" time="0">
    <failure type="worse" message="the mean of the case went from 1.0000 to 0.0000 (1 and 1 runs), 95 % of the difference -1.0000 to +0.1221">worse: m|m: d: the mean of the case went from 1.0000 to 0.0000 (1 and 1 runs), 95 % of the difference -1.0000 to +0.1221&#xA;</failure>
  </testcase>
  <testcase classname="case" name="e" time="0">
    <failure type="worse" message="the mean of the case went from 1.0000 to 0.0000 (1 and 1 runs), 95 % of the difference -1.0000 to +0.1221">worse: m|m: e: the mean of the case went from 1.0000 to 0.0000 (1 and 1 runs), 95 % of the difference -1.0000 to +0.1221&#xA;</failure>
  </testcase>
  <testcase classname="case" name="z" time="0"></testcase>
  <testcase classname="file" name="&lt;f&gt;:3" time="0">
    <error type="unreadable" message="*no*">unreadable: *no*&#xA;</error>
  </testcase>
</testsuite>
`
	got := text(t, hostile(t).JUnit)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JUnit (-want +got):\n%s", diff)
	}
	followsSchema(t, got)
}

// A gate that passes says what it could have found in each format, also if that is nothing. A mean below the
// worst that passes fails the cases that declined, unless the mean of the cases in both sets rose.
func TestGateSaysWhatItFinds(t *testing.T) {
	many := baseline(t, rowsOf(t, "a m=1", "a m=1", "a m=1", "a m=1", "a m=1", "b m=0", "b m=0", "b m=0", "b m=0", "b m=0"))
	now := rowsOf(t, "a m=1", "a m=1", "a m=1", "a m=1", "a m=0", "b m=0", "b m=0", "b m=0", "b m=0", "b m=0")
	v := evaluate(t, &evals.Gate{}, many, now)
	const finds = "the smallest drop that this gate finds with a probability of 0.8 is 0."
	if got := text(t, v.GitHub); !strings.HasPrefix(got, "::notice title=looptape eval gate::m: "+finds) || strings.Count(got, "\n") != 1 {
		t.Errorf("GitHub: got %q", got)
	}
	if got := text(t, v.JUnit); !strings.Contains(got, "<system-out>"+finds) {
		t.Errorf("JUnit: got %q", got)
	}
	least := &evals.Gate{Min: map[string]float64{"m": 0.9}}
	got := text(t, evaluate(t, least, many, now).GitHub)
	for _, want := range []string{"::min: m: the mean of 2 cases is 0.4000", "::worse: m: a: the mean of the case went from 1.0000 to 0.8000"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	rose := rowsOf(t, "a m=1", "a m=1", "a m=1", "a m=1", "a m=0", "b m=1", "b m=1", "b m=0", "b m=0", "b m=0")
	if got := text(t, evaluate(t, least, many, rose).GitHub); strings.Contains(got, "worse") || !strings.Contains(got, "::min") {
		t.Errorf("got %q, want no worse case", got)
	}
}

// The drop of a metric has no case. It is not reported for the case with an empty name either.
func TestGateJUnitEmptyCase(t *testing.T) {
	base, now := baseline(t, rowsOf(t, each5("m=1")...)), rowsOf(t, each5("m=0")...)
	got := text(t, evaluate(t, &evals.Gate{MustPass: []string{""}}, base, now).JUnit)
	const want = `  <testcase classname="case" name="" time="0">
    <failure type="missing" message="the case has no run">missing: the case has no run&#xA;</failure>
`
	if !strings.Contains(got, want) {
		t.Errorf("got %s, want it to contain %s", got, want)
	}
}

// followsSchema checks XML against the common part of the schemas of the JUnit plugin of Jenkins and
// of Maven Surefire: the allowed elements and their attributes.
func followsSchema(t *testing.T, text string) {
	t.Helper()
	within := map[string]string{"testsuite": "", "testcase": "testsuite", "failure": "testcase", "error": "testcase", "system-out": "testcase"}
	attributes := map[string]string{"testsuite": "name tests failures errors skipped", "testcase": "classname name time", "failure": "type message", "error": "type message"}
	open := []string{""}
	for dec := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		switch e := token.(type) {
		case nil:
			t.Fatal(err)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.StartElement:
			var names []string
			for _, a := range e.Attr {
				names = append(names, a.Name.Local)
			}
			got := []string{open[len(open)-1], strings.Join(names, " ")}
			if diff := cmp.Diff([]string{within[e.Name.Local], attributes[e.Name.Local]}, got); diff != "" {
				t.Errorf("<%s> in, with (-want +got):\n%s", e.Name.Local, diff)
			}
			open = append(open, e.Name.Local)
		}
	}
}
