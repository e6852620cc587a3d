package assertions

import "encoding/json"

// KnownDifference is a case in which the results of the tools differ.
type KnownDifference struct {
	Case
	Ours, Theirs Result
	Why          string
}

// KnownDifferences are all known differences.
var KnownDifferences = []KnownDifference{
	{Case{"equals", "Bern\n", "Bern"}, Pass, Fail, "`exact` ignores white space around an answer"},
	{Case{"equals", "{{city}}", "{{city}}"}, Pass, Fail, "promptfoo expands templates in the expected value"},
	{Case{"json", "```json\n{\"n\":1}\n```", map[string]any{"n": 1}}, Pass, Fail, "`json` reads a fenced code block; promptfoo requires JSON alone"},
	{Case{"json", `{"n":9007199254740993}`, json.RawMessage(`{"n":9007199254740992}`)}, Fail, Pass, "numbers in JavaScript have 53 bits; `json` compares the digits"},
	{Case{"json", `{"n":-0}`, map[string]any{"n": 0}}, Pass, Fail, "strict equality in JavaScript distinguishes −0 and 0"},
	{Case{"icontains", "İzmir", "izmir"}, Pass, Fail, "the lower case of İ is i in Go, and i with a combining dot in JavaScript"},
	{Case{"icontains", "ΟΔΟΣ", "οδος"}, Fail, Pass, "JavaScript converts Σ at the end of a word to ς"},
	{Case{"regex", "a\u00a0b", `a\sb`}, Fail, Pass, `\s is ASCII in RE2 and includes the no-break space in JavaScript`},
	{Case{"regex", "😀", `^.$`}, Pass, Fail, "a dot matches a character in RE2, and here half of one in JavaScript"},
	{Case{"regex", "BERN", `(?i)bern`}, Pass, Fail, "RE2 supports flags in the pattern; JavaScript before Node 23 does not"},
	{Case{"regex", "Bern", `B(?=ern)`}, Error, Pass, "RE2 has no look-ahead, so that the time of each pattern is linear; `regexp` rejects it"},
	{Case{"regex", "toto", `(to)\1`}, Error, Pass, "RE2 has no back-references"},
}
