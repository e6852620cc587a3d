package cassettes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
)

// In the file, each server-sent event stands on a line with its delay, whatever ends its
// lines, and however it came.
func TestEventLines(t *testing.T) {
	for newline, form := range map[string]string{"\n": "events", "\r\n": "events-crlf"} {
		t.Run(form, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parts := strings.SplitAfter(strings.ReplaceAll("data: 1\n\n|event: a\nda|ta: 2\n\n: ping\n\n|\n\n|data: ☕\ndata:\n\n|data: 3\n", "\n", newline), "|")
				for i := range parts {
					parts[i] = strings.TrimSuffix(parts[i], "|") // one comes each second
				}
				path := filepath.Join(t.TempDir(), "e.tape")
				c := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: streaming{parts}})
				watch(t.Context(), t, c, nil)
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				_, body, _ := strings.Cut(string(text), "\n<\n")
				body, words, _ := strings.Cut(body, "\n--- ")
				want := []string{
					"< +1000ms data: 1",
					"< +2000ms event: a␊data: 2",
					"< +0ms : ping",
					"< +1000ms ",
					"< +1000ms data: ☕␊data:",
					"< …+1000ms data: 3␊",
					`<! cut "unexpected EOF"`,
				}
				if diff := cmp.Diff(want, strings.Split(body, "\n")); diff != "" {
					t.Errorf("the lines (-want +got):\n%s", diff)
				}
				if !strings.Contains(words, " < "+form+" ") {
					t.Errorf("the form is not %s: %s", form, words)
				}
			})
		})
	}
}
