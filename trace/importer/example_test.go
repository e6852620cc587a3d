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
	// INV-01: run run-1 event 1: a result is for the call "a", which no assistant turn before it has
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
			fmt.Println(v)
		}
	}
	return nil
}
