// Command assertions scores generated answers with scorers of looptape and with assertions of
// promptfoo. It prints the time of an assertion and the differences of the results as Markdown.
// Run it in the folder bench after npm install in the folder promptfoo; see README.md. Its exit
// status is 1 if a difference is unknown, and 2 if a tool cannot be run.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/looptape/looptape/bench/assertions"
)

func main() {
	lines, err := run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "assertions:", err)
		os.Exit(2)
	}
	for _, line := range lines {
		fmt.Fprintln(os.Stderr, "assertions: unknown difference:", line)
	}
	if len(lines) > 0 {
		os.Exit(1)
	}
}

// rounds is the number of rounds in each tool.
const rounds = 20

func run(ctx context.Context) (lines []string, err error) {
	cases := assertions.Cases()
	ours, theirs, err := score(ctx, cases, rounds)
	if err != nil {
		return nil, err
	}
	if err := assertions.Table(os.Stdout, cases, ours, theirs); err != nil {
		return nil, err
	}
	lines = assertions.UnknownDifferences(cases, ours, theirs)
	var differences []assertions.Case
	for _, c := range assertions.KnownDifferences {
		differences = append(differences, c.Case)
	}
	if ours, theirs, err = score(ctx, differences, 1); err != nil {
		return nil, err
	}
	if _, err := os.Stdout.WriteString("\n"); err != nil {
		return nil, err
	}
	return append(lines, assertions.Obsolete(ours, theirs)...), assertions.WriteDifferences(os.Stdout)
}

func score(ctx context.Context, cases []assertions.Case, rounds int) (ours, theirs assertions.Outcomes, err error) {
	if ours, err = assertions.Looptape(cases, rounds); err == nil {
		theirs, err = assertions.Promptfoo(ctx, "promptfoo", cases, rounds)
	}
	return ours, theirs, err
}
