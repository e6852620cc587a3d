package scorers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/trace/importer"
)

// exactSettings scores 1 if the final answer is one of the expected strings, except for white
// space around them.
type exactSettings struct {
	// Expected are the accepted strings; empty means those of the recording.
	Expected []string `json:"expected,omitempty"`
	// IgnoreCase ignores case, as strings.EqualFold does.
	IgnoreCase bool `json:"ignore_case,omitempty"`
}

func (s exactSettings) scorer() (scoreFunc, error) {
	return answered(s.Expected, func(answer, want string) (bool, error) {
		answer, want = strings.TrimSpace(answer), strings.TrimSpace(want)
		return answer == want || s.IgnoreCase && strings.EqualFold(answer, want), nil
	}), nil
}

// containsSettings scores 1 if the final answer contains one of the expected strings.
type containsSettings struct {
	// Expected are the strings; empty means those of the recording.
	Expected []string `json:"expected,omitempty"`
	// All requires all of them.
	All        bool `json:"all,omitempty"`
	IgnoreCase bool `json:"ignore_case,omitempty"`
}

func (s containsSettings) scorer() (scoreFunc, error) {
	if slices.Contains(s.Expected, "") {
		return nil, errors.New("an expected string is empty: any answer contains it")
	}
	fold := func(text string) string {
		if s.IgnoreCase {
			return strings.ToLower(text)
		}
		return text
	}
	return byAnswer(s.Expected, func(answer string, want []string) (float64, string, error) {
		missing := slices.DeleteFunc(slices.Clone(want), func(text string) bool {
			return strings.Contains(fold(answer), fold(text))
		})
		if len(missing) == 0 || !s.All && len(missing) < len(want) {
			return pass("%s is in %s", quoted(want), quote(answer))
		}
		return fail("want %s in %s", quoted(missing), quote(answer))
	}), nil
}

// regexpSettings scores 1 if a regular expression matches somewhere in the final answer.
type regexpSettings struct {
	// Pattern is as package regexp documents; (?i), (?m) and (?s) set its flags.
	Pattern string `json:"pattern"`
}

func (s regexpSettings) scorer() (scoreFunc, error) {
	if s.Pattern == "" {
		return nil, errors.New("missing pattern: set a regular expression")
	}
	re, err := compile(s.Pattern)
	if err != nil {
		return nil, err
	}
	return single(func(run *importer.Run) (float64, string, error) {
		answer, err := finalAnswer(run)
		if err != nil {
			return 0, "", err
		}
		if found := re.FindString(answer); re.MatchString(answer) {
			return pass("%s matches %s", quote(found), re)
		}
		return fail("want a match of %s in %s", re, quote(answer))
	}), nil
}

func compile(pattern string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern: %w", err)
	}
	return re, nil
}

// normalizedSettings scores 1 if the final answer is an expected text after normalization of
// both, as in the evaluation of SQuAD (Rajpurkar et al., "SQuAD: 100,000+ Questions for Machine
// Comprehension of Text", EMNLP 2016, normalize_answer of its script): lower case, no ASCII
// punctuation, none of the words a, an and the, single spaces.
type normalizedSettings struct {
	// Expected are the accepted strings; empty means those of the recording.
	Expected []string `json:"expected,omitempty"`
}

func (s normalizedSettings) scorer() (scoreFunc, error) {
	for _, text := range s.Expected {
		if _, err := normalizedWant(text); err != nil {
			return nil, err
		}
	}
	return answered(s.Expected, func(answer, want string) (bool, error) {
		should, err := normalizedWant(want)
		return normalize(answer) == should, err
	}), nil
}

// normalizedWant normalizes an expected string. An empty one would match any empty answer.
func normalizedWant(want string) (string, error) {
	text := normalize(want)
	if text == "" {
		return "", fmt.Errorf("the expected text %q is empty without articles and punctuation: use exact or choice", want)
	}
	return text, nil
}

func normalize(text string) string {
	text = strings.Map(func(r rune) rune {
		if r <= unicode.MaxASCII && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			return -1
		}
		return r
	}, strings.ToLower(text))
	words := slices.DeleteFunc(strings.Fields(text), func(word string) bool {
		return word == "a" || word == "an" || word == "the"
	})
	return strings.Join(words, " ")
}

// jsonSettings scores 1 if the final answer is one of the expected JSON values: the whole answer,
// or else its last fenced block. Numbers are compared by value and members in any order.
type jsonSettings struct {
	// Expected is the value; none means that of the recording.
	Expected json.RawMessage `json:"expected,omitempty"`
	// Ignore are JSON pointers (RFC 6901) to ignored values; the name * matches all members or
	// elements.
	Ignore []string `json:"ignore,omitempty"`
}

func (s jsonSettings) scorer() (scoreFunc, error) {
	ignore, err := parsePointers(s.Ignore)
	if err != nil {
		return nil, err
	}
	var want []string
	if len(s.Expected) > 0 {
		want = []string{string(s.Expected)}
	}
	return byAnswer(want, func(answer string, want []string) (_ float64, _ string, err error) {
		should := make([]any, len(want))
		for i, text := range want {
			if should[i], err = parse([]byte(text)); err != nil {
				return 0, "", fmt.Errorf("the expected value is not JSON: %s: %w", quote(text), err)
			}
		}
		is, ok := valueIn(answer)
		if !ok {
			return fail("want %s, got no JSON: %s", quoted(want), quote(answer))
		}
		is = without(is, ignore)
		var diff string
		for _, value := range should {
			if diff = describeDifference(without(value, ignore), is); diff == "" {
				return pass("the value expected")
			}
		}
		return 0, diff, nil
	}), nil
}

var fence = regexp.MustCompile("(?s)```[a-zA-Z]*\\s(.*?)```")

// valueIn returns the JSON that a string is, or else that of its last block.
func valueIn(text string) (any, bool) {
	v, err := parse([]byte(text))
	if blocks := fence.FindAllStringSubmatch(text, -1); err != nil && len(blocks) > 0 {
		v, err = parse([]byte(blocks[len(blocks)-1][1]))
	}
	return v, err == nil
}

// answered scores 1 if the final answer is right by an expected string. An error of right
// concerns the expected string.
func answered(want []string, right func(answer, want string) (bool, error)) scoreFunc {
	return byAnswer(want, func(answer string, want []string) (float64, string, error) {
		for _, text := range want {
			ok, err := right(answer, text)
			if err != nil {
				return 0, "", err
			}
			if ok {
				return pass("%s, as expected", quote(answer))
			}
		}
		if len(want) > 0 && max(len(answer), len(strings.Join(want, ""))) > maxWhole {
			return fail("%s", unlike(nearest(want, answer), answer))
		}
		return fail("want %s, got %s", quoted(want), quote(answer))
	})
}

// byAnswer scores the final answer by the expected ones, from the settings or else from the
// recording.
func byAnswer(want []string, score func(answer string, want []string) (float64, string, error)) scoreFunc {
	return single(func(run *importer.Run) (float64, string, error) {
		want := want
		if len(want) == 0 {
			want = expectedAnswers(run)
		}
		if len(want) == 0 {
			return 0, "", errNoExpected
		}
		answer, err := finalAnswer(run)
		if err != nil {
			return 0, "", err
		}
		return score(answer, want)
	})
}

var errNoExpected = errors.New("expected answer missing in the recording: set expected")

func expectedAnswers(run *importer.Run) []string {
	replies := run.Expected.Replies
	if n := len(replies); len(run.Expected.Answers) == 0 && n > 0 && replies[n-1] != "" {
		return replies[n-1:]
	}
	return run.Expected.Answers
}

// finalAnswer returns the final answer of a run; may be empty.
func finalAnswer(run *importer.Run) (string, error) {
	f := facts.Read(run)
	if f.Steps == 0 && f.Answer == "" {
		return "", errors.New("the recording has no model response")
	}
	return f.Answer, nil
}

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

// chosen returns the letter that a string names, or "".
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

// last returns the last number in a string that a float64 can hold.
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

// negative reports whether a string ends in a minus sign, or in a minus sign and a currency.
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
