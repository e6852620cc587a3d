// Command table reads the output of the benchmarks from files or from standard input. It prints
// the cost of a step as Markdown, and whether the goals are met. Its exit status is 1 if a goal
// is missed or not measured, and 2 if the input cannot be read.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/looptape/looptape/bench/table"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("table: ")
	met, err := run(os.Args[1:], os.Stdin, os.Stdout)
	if err != nil {
		log.Print(err)
		os.Exit(2)
	}
	if !met {
		os.Exit(1)
	}
}

// run prints the table, and reports whether all goals are met.
func run(files []string, stdin io.Reader, stdout io.Writer) (met bool, err error) {
	var input bytes.Buffer
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return false, err
		}
		input.Write(data)
	}
	if len(files) > 0 {
		stdin = &input
	}
	results, err := table.Read(stdin)
	if err != nil {
		return false, err
	}
	if err := results.Markdown(stdout); err != nil {
		return false, err
	}
	met = true
	out := []byte("\nGoals:\n\n")
	for _, g := range results.Goals() {
		out = fmt.Appendln(out, g)
		met = met && g.Met()
	}
	_, err = stdout.Write(out)
	return met, err
}
