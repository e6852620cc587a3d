package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	pageBlock   = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	pageFile    = regexp.MustCompile("`([A-Za-z0-9_./-]+)`:\n*$")
	pageCommand = regexp.MustCompile(`(?m)^\$ (.*)\n((?:[^$\n].*\n|\n)*)`)
	pageTimes   = regexp.MustCompile(`\b\d+(\.\d+)?(m?s)\b`)
	pageURLs    = regexp.MustCompile(`\b127\.0\.0\.1:\d+(/[a-z2-7]{26})?`)
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
	for _, m := range pageBlock.FindAllStringSubmatchIndex(page, -1) {
		language, block := page[m[2]:m[3]], page[m[4]:m[5]]
		file := pageFile.FindStringSubmatch(page[:m[0]])
		switch {
		case language == "console":
			for _, c := range pageCommand.FindAllStringSubmatch(block, -1) {
				want, got := steady(c[2]), steady(shell(c[1]))
				pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…\n", "(?s:.*)") + "$"
				if !regexp.MustCompile(pattern).MatchString(got) {
					t.Errorf("%s: %s: got\n%s\nwant\n%s", name, c[1], got, want)
				}
			}
			tested = true
		case language == "sh":
			for line := range strings.Lines(block) {
				command, ok := installs[strings.TrimSpace(line)]
				if !ok {
					t.Errorf("%s: nothing runs %q", name, line)
				}
				shell(command)
			}
		case file != nil:
			if err := os.WriteFile(filepath.Join(dir, file[1]), []byte(block), 0o600); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(block) {
				if !tested && strings.TrimSpace(line) != "" {
					written++
				}
			}
		default:
			t.Errorf("%s: nothing runs a block of %s; name its file in the line above:\n%s", name, language, block)
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
