package scorers

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// Choice scores 1 if the final answer names the letter expected. The letter that an
// answer names is, by the first of these that is there: the last in \boxed{B}; the last
// behind "answer is", "answer:" or "choice is" and the like; the answer itself, as in
// B, (B), B. or B); the last line that is nothing but such a letter; and a letter that
// the answer begins with, as in "B) Paris" or "B: Paris". Brackets, quotes, asterisks and
// a $ around a letter do not count, nor does case where nothing else stands beside it:
// behind "answer is", and at the beginning of an answer, it has to be a capital. An answer
// that names none scores 0.
type choiceSettings struct {
	// Want is the letter; "": what the recording says, which may be any text that names
	// one.
	Expected string `json:"expected,omitempty"`
	// Letters are those to choose from; "" is ABCDE.
	Letters string `json:"letters,omitempty"`
}

func (s choiceSettings) scorer() (scoreFunc, error) {
	letters := strings.ToUpper(cmp.Or(s.Letters, "ABCDE"))
	if strings.Trim(letters, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil, fmt.Errorf("the letters %q: give them as in ABCD", s.Letters)
	}
	patterns := choicePatterns(letters)
	var want []string
	if s.Expected != "" {
		want = []string{s.Expected}
	}
	return answered(want, func(answer, want string) (bool, error) {
		should := chosen(patterns, want)
		if should == "" {
			return false, fmt.Errorf("%s names none of the letters %s", quote(want), letters)
		}
		return chosen(patterns, answer) == should, nil
	}), nil
}

func choicePatterns(letters string) []*regexp.Regexp {
	const open, shut = "[\\s(\\[{*\"'`$_]*", "[)\\]}*\"'`$_]*"
	bare := "([" + letters + "])"
	alone := open + `(?i:` + bare + `)` + shut + `[.:]?` + shut
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)\\boxed\{(?:\\text\{)?\s*\(?` + bare + `\)?\s*\}`),
		regexp.MustCompile(`(?i:(?:answer|choice|option)(?:\s+is\s*:?|\s*:)[*_]*\s*(?:option\s+|choice\s+)?)` + open + bare + shut + `(?:[^\pL\pN'’]|$)`),
		regexp.MustCompile(`^` + alone + `\s*$`),
		regexp.MustCompile(`(?m)^` + alone + `[ \t\r]*$`),
		regexp.MustCompile(`^` + open + bare + shut + `[):.](?:\s|$)`),
	}
}

// chosen returns the letter that a text names, or "".
func chosen(patterns []*regexp.Regexp, text string) string {
	for _, p := range patterns {
		if all := p.FindAllStringSubmatch(text, -1); len(all) > 0 {
			return strings.ToUpper(all[len(all)-1][1])
		}
	}
	return ""
}
