package general

import (
	"context"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/looptape/looptape/loop"
)

func textGroup(f *folder) group {
	return group{tools: []loop.Tool{
		tool("head", "Returns the first lines of a text file, 10 unless lines says otherwise.", func(_ context.Context, a linesArguments) (string, error) {
			return f.lines(a, func(lines []string, n int) []string { return lines[:n] })
		}),
		tool("tail", "Returns the last lines of a text file, 10 unless lines says otherwise.", func(_ context.Context, a linesArguments) (string, error) {
			return f.lines(a, func(lines []string, n int) []string { return lines[len(lines)-n:] })
		}),
		tool("diff", "Compares two text files and returns the difference in the unified format.", f.diff),
	}}
}

type linesArguments struct {
	Path  string `json:"path"`
	Lines *int   `json:"lines,omitempty"`
}

func (f *folder) lines(a linesArguments, pick func([]string, int) []string) (string, error) {
	text, err := f.text(a.Path)
	if err != nil {
		return "", err
	}
	if text == "" {
		return fmt.Sprintf("%q is empty.", a.Path), nil
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return cut(strings.Join(pick(lines, min(len(lines), limited(a.Lines, 10, len(lines)))), "")), nil
}

type diffArguments struct {
	A string `json:"a" jsonschema:"the path of the old file"`
	B string `json:"b" jsonschema:"the path of the new file"`
}

func (f *folder) diff(_ context.Context, a diffArguments) (string, error) {
	before, err := f.text(a.A)
	if err != nil {
		return "", err
	}
	after, err := f.text(a.B)
	if err != nil {
		return "", err
	}
	if before == after {
		return fmt.Sprintf("%q and %q are equal.", a.A, a.B), nil
	}
	return cut(string(diff.Diff(shown(a.A), []byte(before), shown(a.B), []byte(after)))), nil
}
