package importer_test

import (
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

func Example() {
	file := strings.NewReader(`[{"role":"user","content":"hi"},{"role":"tool","tool_call_id":"a","content":"x"}]`)
	if err := checkAll(file); err != nil {
		fmt.Println(err)
	}
	// Output:
	// INV-01: run run-1 event 1: a result is for the call "a", which no assistant message before it has
}

func checkAll(file io.Reader) error {
	src, err := importer.Open("results.json", file)
	if err != nil {
		return err
	}
	for run, err := range src.Runs() {
		if err != nil {
			log.Print(err) // this part cannot be read; the rest follows
			continue
		}
		for _, v := range check.Messages(run.Name, run.Messages) {
			fmt.Println(v) //nolint:forbidigo // an example prints
		}
	}
	return nil
}

func ExampleOpenRows() {
	file := strings.NewReader("question,key,said\n1+1,2,2\n2*3,6,5\n")
	src, err := importer.OpenRows("sums.csv", file, &importer.Mapping{Case: "/question", Prompt: "/question", Expected: "/key", Answer: "/said"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for run, err := range src.Runs() {
		fmt.Println(run.Case, run.Expected.Answers, run.Answer, err)
	}
	// Output:
	// 1+1 [2] 2 <nil>
	// 2*3 [6] 5 <nil>
}
