package jsonval

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// CanonicalNumber returns one representation of equal numbers. It removes needless zeros, and uses
// an exponent only instead of 18 zeros or more. It does not change a number with an exponent beyond
// 2⁶¹.
func CanonicalNumber(n json.Number) json.Number {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	positive, minus := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(positive, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	e, err := strconv.ParseInt(cmp.Or(exponent, "0"), 10, 62) // so that it can be added to
	if err != nil {
		return n
	}
	significant := strings.TrimRight(digits, "0")
	text := pointed(significant, e+int64(len(digits)-len(significant)-len(fraction)))
	if minus {
		text = "-" + text
	}
	return json.Number(text)
}

// pointed writes digits times a power of ten.
func pointed(digits string, e int64) string {
	const most = 18
	point := int64(len(digits)) + e // digits before it
	switch {
	case e >= 0 && e <= most:
		return digits + strings.Repeat("0", int(e))
	case e < 0 && point > 0:
		return digits[:point] + "." + digits[point:]
	case e < 0 && point > -most:
		return "0." + strings.Repeat("0", int(-point)) + digits
	}
	return digits + "e" + strconv.FormatInt(e, 10)
}
