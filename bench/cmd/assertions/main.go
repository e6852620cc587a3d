// Command assertions judges made-up answers by scorers of looptape and by assertions of
// promptfoo, and prints what an assertion costs and where their verdicts differ, as
// Markdown. It runs in the folder above, after npm install in the folder promptfoo, as README.md tells. Its exit
// status is 1 if a difference is not explained, and 2 if something cannot be run.
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
		fmt.Fprintln(os.Stderr, "assertions: not explained:", line)
	}
	if len(lines) > 0 {
		os.Exit(1)
	}
}

// rounds are enough for a best one on both sides.
const rounds = 20

func run(ctx context.Context) (lines []string, err error) {
	cases := assertions.Cases()
	ours, theirs, err := judge(ctx, cases, rounds)
	if err != nil {
		return nil, err
	}
	if err := assertions.Table(os.Stdout, cases, ours, theirs); err != nil {
		return nil, err
	}
	lines = assertions.Unexplained(cases, ours, theirs)
	var corners []assertions.Case
	for _, c := range assertions.Corners {
		corners = append(corners, c.Case)
	}
	if ours, theirs, err = judge(ctx, corners, 1); err != nil {
		return nil, err
	}
	fmt.Println()
	return append(lines, assertions.Unfounded(ours, theirs)...), assertions.Differences(os.Stdout)
}

func judge(ctx context.Context, cases []assertions.Case, rounds int) (ours, theirs assertions.Outcome, err error) {
	if ours, err = assertions.Looptape(cases, rounds); err == nil {
		theirs, err = assertions.Promptfoo(ctx, "promptfoo", cases, rounds)
	}
	return ours, theirs, err
}
