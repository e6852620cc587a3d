package scorers

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

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
	return single(func(run *importer.Run) (float64, string, error) {
		answer, want, err := expected(run, s.Expected)
		if err != nil {
			return 0, "", err
		}
		missing := slices.DeleteFunc(slices.Clone(want), func(text string) bool {
			if s.IgnoreCase {
				return strings.Contains(strings.ToLower(answer), strings.ToLower(text))
			}
			return strings.Contains(answer, text)
		})
		if len(missing) == 0 || !s.All && len(missing) < len(want) {
			return 1, fmt.Sprintf("%s is in %s", quoted(want), quote(answer)), nil
		}
		return 0, fmt.Sprintf("want %s in %s", quoted(missing), quote(answer)), nil
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
	re, err := regexp.Compile(s.Pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern: %w", err)
	}
	return single(func(run *importer.Run) (float64, string, error) {
		answer, err := finalAnswer(run)
		if err != nil {
			return 0, "", err
		}
		if found := re.FindString(answer); re.MatchString(answer) {
			return 1, fmt.Sprintf("%s matches %s", quote(found), s.Pattern), nil
		}
		return 0, fmt.Sprintf("want a match of %s in %s", s.Pattern, quote(answer)), nil
	}), nil
}

// normalizedSettings scores 1 if the final answer is an expected text after normalization of both, as
// in the evaluation of SQuAD (Rajpurkar et al., "SQuAD: 100,000+
// Questions for Machine Comprehension of Text", EMNLP 2016, normalize_answer of its
// script): lower case, no ASCII punctuation, none of the words a, an and the, single
// spaces.
type normalizedSettings struct {
	// Expected are the accepted strings; empty means those of the recording.
	Expected []string `json:"expected,omitempty"`
}

func (s normalizedSettings) scorer() (scoreFunc, error) {
	for _, text := range s.Expected {
		if _, err := something(text); err != nil {
			return nil, err
		}
	}
	return answered(s.Expected, func(answer, want string) (bool, error) {
		should, err := something(want)
		return normal(answer) == should, err
	}), nil
}

// something returns the normalized expected string. An empty one would match any empty answer.
func something(want string) (string, error) {
	text := normal(want)
	if text == "" {
		return "", fmt.Errorf("the expected text %q is empty without articles and punctuation: use exact or choice", want)
	}
	return text, nil
}

func normal(text string) string {
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

// answered compares the final answer with each expected string. An error of right concerns the
// expected string.
func answered(want []string, right func(answer, want string) (bool, error)) scoreFunc {
	return single(func(run *importer.Run) (float64, string, error) {
		answer, want, err := expected(run, want)
		if err != nil {
			return 0, "", err
		}
		for _, text := range want {
			ok, err := right(answer, text)
			if err != nil {
				return 0, "", err
			}
			if ok {
				return 1, fmt.Sprintf("%s, as expected", quote(answer)), nil
			}
		}
		return 0, fmt.Sprintf("want %s, got %s", quoted(want), quote(answer)), nil
	})
}

// expected returns the final answer of a run and the expected ones, from the settings or else
// from the recording.
func expected(run *importer.Run, want []string) (answer string, texts []string, err error) {
	if len(want) == 0 {
		want = run.Expected.Answers
	}
	if n := len(run.Expected.Replies); len(want) == 0 && n > 0 && run.Expected.Replies[n-1] != "" {
		want = run.Expected.Replies[n-1:]
	}
	if len(want) == 0 {
		return "", nil, errors.New("expected answer missing in the recording: set expected")
	}
	answer, err = finalAnswer(run)
	return answer, want, err
}

// finalAnswer returns the final answer of a run; may be empty.
func finalAnswer(run *importer.Run) (string, error) {
	f := facts.Read(run)
	if f.Steps == 0 && f.Answer == "" {
		return "", errors.New("the recording has no model response")
	}
	return f.Answer, nil
}

// quote shortens and quotes a string for an explanation.
func quote(text string) string {
	const most = 80 // characters
	if r := []rune(text); len(r) > most {
		text = string(r[:most-1]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

func quoted(texts []string) string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = quote(text)
	}
	return strings.Join(all, " or ")
}
