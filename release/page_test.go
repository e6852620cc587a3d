package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/looptape/looptape/internal/docpage"
)

var (
	pageTimes = regexp.MustCompile(`\b\d+(\.\d+)?(m?s)\b`)
	pageURLs  = regexp.MustCompile(`\b127\.0\.0\.1:\d+(/[a-z2-7]{26})?`)
)

// runPage runs the examples of a page of docs in a folder, in their order. The test of the root package, which runs those of
// the other pages, has no packages. A block after a line that ends in a name in backquotes and a colon is the file of that name. A block of
// sh has commands without output; installs has the commands to run in their place. A block of console has commands and
// their output, in which a line … represents any lines.
func runPage(t *testing.T, name, dir string, env []string, installs map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(text), "\r\n", "\n")
	shell := func(command string) string {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil && !strings.Contains(command, "echo") {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	steady := func(s string) string {
		return pageURLs.ReplaceAllString(pageTimes.ReplaceAllString(s, "0.00$2"), "127.0.0.1:8917/TOKEN")
	}
	start, written, tested := time.Now(), 0, false
	for _, b := range docpage.Blocks(page) {
		switch {
		case b.Lang == "console":
			for _, c := range docpage.Commands(b.Text) {
				want, got := steady(c.Output), steady(shell(c.Text))
				pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…\n", "(?s:.*)") + "$"
				if !regexp.MustCompile(pattern).MatchString(got) {
					t.Errorf("%s: %s: got\n%s\nwant\n%s", name, c.Text, got, want)
				}
			}
			tested = true
		case b.Lang == "sh":
			for line := range strings.Lines(b.Text) {
				command, ok := installs[strings.TrimSpace(line)]
				if !ok {
					t.Errorf("%s: nothing runs %q", name, line)
				}
				shell(command)
			}
		case b.File != "":
			if err := os.WriteFile(filepath.Join(dir, b.File), []byte(b.Text), 0o600); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.Text) {
				if !tested && strings.TrimSpace(line) != "" {
					written++
				}
			}
		default:
			t.Errorf("%s: nothing runs a block of %s; name its file in the line above:\n%s", name, b.Lang, b.Text)
		}
	}
	took := time.Since(start)
	t.Logf("%s: %d lines of the reader, all steps in %.1f s", name, written, took.Seconds())
	if written > maxLines || !tested {
		t.Errorf("%s: the reader writes %d lines up to the first command, want at most %d", name, written, maxLines)
	}
	if took > maxPage {
		t.Errorf("%s: the steps took %v, want at most %v", name, took, maxPage)
	}
}
