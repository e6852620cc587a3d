package stats_test

import (
	"fmt"
	"log"

	"github.com/looptape/looptape/evals/stats"
)

// The runs of a case are correlated, so that the interval of the mean depends on the cases.
func ExampleSample_ClusterWilson() {
	sample, err := stats.New([]stats.Row{
		{Case: "book", Epoch: 0, Value: 1}, {Case: "book", Epoch: 1, Value: 1},
		{Case: "seat", Epoch: 0, Value: 0}, {Case: "seat", Epoch: 1, Value: 1},
		{Case: "meal", Epoch: 0, Value: 1}, {Case: "meal", Epoch: 1, Value: 0},
	})
	if err != nil {
		log.Fatal(err)
	}
	interval, err := sample.ClusterWilson(0.95)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mean %.2f, 95 %% from %.2f to %.2f\n", sample.Mean(), interval.Low, interval.High)
	// Output: mean 0.67, 95 % from 0.20 to 0.94
}

func ExampleHolm() {
	corrected, err := stats.Holm([]float64{0.01, 0.04, 0.03})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f\n", corrected)
	// Output: [0.03 0.06 0.06]
}

func ExampleCasesNeeded() {
	needed, err := stats.CasesNeeded(0.05, 0.25, stats.Test{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(needed, "cases detect a difference of 0.05")
	// Output: 787 cases detect a difference of 0.05
}
