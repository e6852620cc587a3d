package scorers_test

import (
	"context"
	"fmt"
	"log"

	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

func ExampleParse() {
	scorer, err := scorers.Parse("numeric", "sum", []byte(`{"expected": ["4"], "absolute": 0.1}`))
	if err != nil {
		log.Fatal(err)
	}
	run := &importer.Run{Messages: []llm.Message{llm.User("Add 2 and 2."), llm.Assistant(llm.Text{Text: "The sum is 5."})}}
	for _, score := range scorer.Score(context.Background(), run) {
		fmt.Println(score.Metric, score.Value, score.Explanation)
	}
	// Output: sum 0 want "4", got "The sum is 5."
}

func ExampleDiffer() {
	differ, err := scorers.NewDiffer("/took_ms")
	if err != nil {
		log.Fatal(err)
	}
	differences, err := differ.Differences(`{"state": "sent", "took_ms": 3}`, `{"took_ms": 9, "state": "lost"}`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(differences)
	// Output: [/state: want "sent", got "lost"]
}
