package evals

import (
	"regexp"
	"testing"
)

// The name of a scorer has no arguments of its program, and names of other arguments differ.
func TestScorerName(t *testing.T) {
	seen := map[string]string{}
	for name, want := range map[string]string{
		`exact`:                                             `^exact$`,
		`exact{"expected":["a","b"]}`:                       `^exact\{"expected":\["a","b"\]\}$`,
		`program{"command":["./judge.sh"]}`:                 `^program\{"command":\["./judge.sh"\]\}$`,
		`program{"command":["sh","-c","a"]}`:                `^program\{"command":\["sh","2 arguments, checksum [0-9a-f]{8}"\]\}$`,
		`program{"command":["sh","-c","b"]}`:                `^program\{"command":\["sh","2 arguments, checksum [0-9a-f]{8}"\]\}$`,
		`program{"command":["sh","<&>\u2028"],"timeout":1}`: `^program\{"command":\["sh","1 argument, checksum [0-9a-f]{8}"\],"timeout":1\}$`,
		`program{"command":7}`:                              `^program\{"command":7\}$`,
		`rows{`:                                             `^rows\{$`,
	} {
		got := scorerName(name)
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if again := scorerNames([]string{got})[0]; again != got {
			t.Errorf("%s: the name of the name is %s", got, again)
		}
		if other, twice := seen[got]; twice {
			t.Errorf("%s and %s have one name", name, other)
		}
		seen[got] = name
	}
}
