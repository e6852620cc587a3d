// Command table reads the output of the benchmarks from files or from standard input. It prints
// the cost of a step as Markdown, and whether the goals are met. Its exit status is 1 if a goal
// is missed or not measured, and 2 if the input cannot be read.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/looptape/looptape/bench/table"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(files []string, stdin io.Reader, stdout, stderr io.Writer) int {
	readers := []io.Reader{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			fmt.Fprintln(stderr, "table:", err)
			return 2
		}
		defer f.Close()
		readers = append(readers, f)
	}
	if len(files) == 0 {
		readers = append(readers, stdin)
	}
	results, err := table.Read(io.MultiReader(readers...))
	if err == nil {
		err = results.Markdown(stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "table:", err)
		return 2
	}
	fmt.Fprintln(stdout, "\nGoals:")
	fmt.Fprintln(stdout)
	status := 0
	for _, g := range results.Goals() {
		fmt.Fprintln(stdout, g)
		if !g.Met() {
			status = 1
		}
	}
	return status
}
