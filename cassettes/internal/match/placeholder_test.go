package match

import (
	"strings"
	"testing"
)

// A placeholder equals its secret at every position.
func TestEqualExceptPlaceholders(t *testing.T) {
	one, two := "s3cret key", "pässwörd"
	for was, now := range map[string]string{
		"":                                   "",
		Placeholder(one):                     one,
		Placeholder(one) + Placeholder(two):  one + two,
		"a" + Placeholder(two) + "b":         "a" + two + "b",
		"a" + Placeholder(one) + " ":         "a" + Placeholder(one) + " ",
		Placeholder("short"):                 Placeholder("short"),
		EscapedPlaceholder(Placeholder(one)): EscapedPlaceholder(Placeholder(one)),
		Placeholder(one) + "[redacted":       one + "[redacted",
	} {
		if !equalExceptPlaceholders(was, now) {
			t.Errorf("%q does not match %q", now, was)
		}
		for _, other := range []string{now + "x", "x" + now, strings.ToUpper(now) + "X"} {
			if equalExceptPlaceholders(was, other) {
				t.Errorf("%q matches %q", other, was)
			}
		}
	}
	for was, now := range map[string]string{Placeholder("short"): "short", Placeholder(one): "", EscapedPlaceholder(Placeholder(one)): one} {
		if equalExceptPlaceholders(was, now) {
			t.Errorf("%q matches %q", now, was)
		}
	}
}
