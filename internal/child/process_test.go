//go:build unix

package child_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/looptape/looptape/internal/child"
)

// exchange sends two lines to a program and ends it. It returns the output lines and errors.
func exchange(ctx context.Context, t *testing.T, script string) string {
	t.Helper()
	var words strings.Builder
	p := shell(script)
	process, err := p.Start(&words)
	if err != nil {
		t.Fatal(err)
	}
	var came []string
	for _, input := range []string{"one\n", "two\n"} {
		text, err := process.Exchange(ctx, []byte(input))
		if err != nil {
			return strings.Join(append(came, "! "+process.Kill(err).Error()), " ")
		}
		came = append(came, strings.TrimSpace(string(text)))
	}
	if err := process.Kill(process.Finish(ctx)); err != nil {
		came = append(came, "! "+err.Error())
	}
	return strings.TrimSpace(strings.Join(came, " ") + " " + strings.TrimSpace(words.String()))
}

func TestProcessExchange(t *testing.T) {
	for script, want := range map[string]string{
		"cat":                                   "one two",
		"cat; echo words >&2":                   "one two words",
		"read a; echo $a; read a; printf %s $a": "one two",
		"read a; echo $a":                       "one ! the program ended without an answer",
		"read a; echo $a; echo why >&2; exit 3": "one ! the program gave no answer: exit status 3; its standard error: why",
		"cat; exit 4":                           "one two ! the program answered all lines and then failed: exit status 4",
		"cat; echo more":                        `one two ! the program wrote more lines than it was asked: "more\n"`,
		"head -c 1001 /dev/zero":                "! the program wrote a line of more than 1000 bytes to its standard output",
		"exec sleep 1000":                       "! the time is over",
		"sleep 1000 & read a; echo $a; exit":    "one ! the program ended without an answer",
		"sleep 1000 & read a; echo $a; read a; echo $a; exit": "one two",
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if strings.HasPrefix(script, "exec sleep") {
			cancel(errors.New("the time is over"))
		}
		if got := exchange(ctx, t, script); got != want {
			t.Errorf("%s: got %q, want %q", script, got, want)
		}
		cancel(nil)
	}
	if _, err := (&child.Program{Args: []string{"/none"}}).Start(nil); fmt.Sprint(err) != "the program cannot be started: fork/exec /none: no such file or directory" {
		t.Errorf("got the error %v", err)
	}
}
