package scorers

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// choiceSettings scores 1 if the final answer names the expected letter. The first rule that
// matches selects the letter of an answer: the last in \boxed{B}; the last after "answer is",
// "answer:", "choice is" and similar words; the whole answer, as in B, (B), B. or B); the last
// line with only a letter; a letter at the beginning, as in "B) Paris" or "B: Paris". Brackets,
// quotes, asterisks and $ around a letter are ignored. Case is ignored where the letter is alone;
// after "answer is" and at the beginning it must be a capital. An answer without a letter scores
// 0.
type choiceSettings struct {
	// Expected is the letter; empty means that of the recording, which may be any text that names
	// one.
	Expected string `json:"expected,omitempty"`
	// Letters are the choices; empty means ABCDE.
	Letters string `json:"letters,omitempty"`
}

func (s choiceSettings) scorer() (scoreFunc, error) {
	letters := strings.ToUpper(cmp.Or(s.Letters, "ABCDE"))
	if strings.Trim(letters, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil, fmt.Errorf("the letters %q: want capitals such as ABCD", s.Letters)
	}
	patterns := choicePatterns(letters)
	var want []string
	if s.Expected != "" {
		want = []string{s.Expected}
	}
	return answered(want, func(answer, want string) (bool, error) {
		should := chosen(patterns, want)
		if should == "" {
			return false, fmt.Errorf("the expected text %s contains none of the letters %s", quote(want), letters)
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
