package scorers

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// numericSettings scores 1 if the last number in the final answer is the last one in an expected
// string. A number may have commas between groups of three digits, a fraction and an exponent. A
// minus before it, or before its currency as in -$5, counts unless a letter, a digit or a closing
// bracket precedes. A following % divides it by 100.
type numericSettings struct {
	// Expected are the accepted strings; empty means those of the recording.
	Expected []string `json:"expected,omitempty"`
	// Absolute and Relative are tolerances, the latter as a share of the expected number. The larger
	// one applies.
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
		return ok && math.Abs(is-should) <= (1+rounding)*max(s.Absolute, s.Relative*math.Abs(should)), nil
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
