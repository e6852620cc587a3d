package looptape_test

import (
	"strings"
	"testing"

	"github.com/looptape/looptape/internal/docpage"
)

// maxReaderLines limits what a reader of docs/go.md writes up to a test that fails.
const maxReaderLines = 15

func TestGoPage(t *testing.T) {
	const page = "docs/go.md"
	lines := 0
	for _, bl := range docpage.Blocks(read(t, page)) {
		for line := range strings.Lines(bl.Text) {
			if bl.Lang == "go" && strings.TrimSpace(line) != "" {
				lines++
			}
		}
	}
	if lines == 0 || lines > maxReaderLines {
		t.Errorf("%s has %d lines of Go, want at most %d", page, lines, maxReaderLines)
	}
}
