package assertions

import "encoding/json"

// Corner is a case on which the two differ.
type Corner struct {
	Case
	Ours, Theirs Verdict
	Why          string
}

// Corners are the known differences.
var Corners = []Corner{
	{Case{"equals", "Bern\n", "Bern"}, Pass, Fail, "`exact` leaves out white space around an answer"},
	{Case{"equals", "{{city}}", "{{city}}"}, Pass, Fail, "promptfoo fills in templates in what is expected"},
	{Case{"json", "```json\n{\"n\":1}\n```", map[string]any{"n": 1}}, Pass, Fail, "`json` reads a block that is fenced off; promptfoo asks for JSON alone"},
	{Case{"json", `{"n":9007199254740993}`, json.RawMessage(`{"n":9007199254740992}`)}, Fail, Pass, "numbers of JavaScript have 53 bits; `json` compares the digits"},
	{Case{"json", `{"n":-0}`, map[string]any{"n": 0}}, Pass, Fail, "JavaScript's strict equality tells −0 from 0"},
	{Case{"icontains", "İzmir", "izmir"}, Pass, Fail, "the small letter of İ is i in Go, and an i with one more dot in JavaScript"},
	{Case{"icontains", "ΟΔΟΣ", "οδος"}, Fail, Pass, "JavaScript knows that a Σ at the end of a word becomes ς"},
	{Case{"regex", "a\u00a0b", `a\sb`}, Fail, Pass, `\s is ASCII in RE2 and has the no-break space in JavaScript`},
	{Case{"regex", "😀", `^.$`}, Pass, Fail, "a dot is a character in RE2 and half of one here in JavaScript"},
	{Case{"regex", "BERN", `(?i)bern`}, Pass, Fail, "flags stand in the pattern in RE2; for JavaScript before Node 23 it is none"},
	{Case{"regex", "Bern", `B(?=ern)`}, Error, Pass, "RE2 has no look-ahead, so that no pattern takes time that grows with the square of the text; `regexp` refuses it"},
	{Case{"regex", "toto", `(to)\1`}, Error, Pass, "nor has it back-references"},
}
