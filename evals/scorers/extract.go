package scorers

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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
	const (
		open, shut = "[\\s(\\[{*\"'`$_]*", "[)\\]}*\"'`$_]*"
		named      = `(?i:(?:answer|choice|option)(?:\s+is\s*:?|\s*:)[*_]*\s*(?:option\s+|choice\s+)?)`
	)
	bare := "([" + letters + "])"
	alone := open + `(?i:` + bare + `)` + shut + `[.:]?` + shut
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)\\boxed\{(?:\\text\{)?\s*\(?` + bare + `\)?\s*\}`),
		regexp.MustCompile(named + open + bare + shut + `(?:[^\pL\pN'’]|$)`),
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

// numericSettings scores 1 if the last number in the final answer is the last one in an expected
// string. A number may have commas between groups of three digits, a fraction and an exponent. A
// minus before it, or before its currency as in -$5, counts unless a letter, a digit or a closing
// bracket precedes. A following % divides it by 100.
type numericSettings struct {
	// Expected are the accepted strings; empty means those of the recording.
	Expected []string `json:"expected,omitempty"`
	// Absolute and Relative are tolerances, the latter as a share of the expected number. The
	// larger one applies.
	Absolute float64 `json:"absolute,omitempty"`
	Relative float64 `json:"relative,omitempty"`
	// IgnorePercent reads 12% as 12.
	IgnorePercent bool `json:"ignore_percent,omitempty"`
}

func (s numericSettings) scorer() (scoreFunc, error) {
	for _, tolerance := range []float64{s.Absolute, s.Relative} {
		if !(tolerance >= 0) {
			return nil, fmt.Errorf("the tolerance %v: want 0 or more", tolerance)
		}
	}
	return answered(s.Expected, func(answer, want string) (bool, error) {
		should, ok := s.last(want)
		if !ok {
			return false, errors.New("the expected text has no number: " + quote(want))
		}
		is, ok := s.last(answer)
		const rounding = 1e-9 // of the tolerance: in floating point 1.1 is more than 0.1 from 1
		tolerance := max(s.Absolute, s.Relative*math.Abs(should))
		return ok && math.Abs(is-should) <= (1+rounding)*tolerance, nil
	}), nil
}

var numberPattern = regexp.MustCompile(`(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?`)

// last returns the last number in a text that a float64 can hold.
func (s numericSettings) last(text string) (float64, bool) {
	all := numberPattern.FindAllStringIndex(text, -1)
	if len(all) == 0 {
		return 0, false
	}
	from, to := all[len(all)-1][0], all[len(all)-1][1]
	v, err := strconv.ParseFloat(strings.ReplaceAll(text[from:to], ",", ""), 64)
	if err != nil {
		return 0, false
	}
	if negative(text[:from]) {
		v = -v
	}
	if !s.IgnorePercent && strings.HasPrefix(strings.TrimPrefix(text[to:], " "), "%") {
		v /= 100
	}
	return v, true
}

// negative reports whether a text ends in a minus sign, or in a minus sign and a currency.
func negative(text string) bool {
	if r, size := utf8.DecodeLastRuneInString(text); unicode.Is(unicode.Sc, r) {
		text = text[:len(text)-size]
	}
	before, minus := strings.CutSuffix(text, "-")
	if !minus {
		before, minus = strings.CutSuffix(text, "−")
	}
	r, _ := utf8.DecodeLastRuneInString(before)
	return minus && !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != ')' && r != ']'
}
