package stats_test

import (
	"fmt"
	"testing"

	"github.com/looptape/looptape/evals/stats"
)

// thousand returns 1,000 cases of one run.
func thousand(b *testing.B) []stats.Row {
	b.Helper()
	rows := make([]stats.Row, 1000)
	for i := range rows {
		rows[i] = stats.Row{Case: fmt.Sprint(i * 7919 % 1000), Value: float64(i * i % 3)}
	}
	return rows
}

func BenchmarkNew(b *testing.B) {
	rows := thousand(b)
	b.ReportAllocs()
	for b.Loop() {
		must(stats.New(rows))(b)
	}
}

func BenchmarkCluster(b *testing.B) {
	s := must(stats.New(thousand(b)))(b)
	b.ReportAllocs()
	for b.Loop() {
		must(s.Cluster())(b)
	}
}

func BenchmarkBootstrap(b *testing.B) {
	s := must(stats.New(thousand(b)))(b)
	b.ReportAllocs()
	for b.Loop() {
		must(s.Bootstrap(0.95, stats.Resampling{Resamples: 10_000}))(b)
	}
}

// BenchmarkBootstrapOfMany is of 100,000 cases that succeed or fail.
func BenchmarkBootstrapOfMany(b *testing.B) {
	rows := make([]stats.Row, 100_000)
	for i := range rows {
		rows[i] = stats.Row{Case: fmt.Sprint(i), Value: float64(i % 2)}
	}
	s := must(stats.New(rows))(b)
	b.ReportAllocs()
	for b.Loop() {
		must(s.Bootstrap(0.95, stats.Resampling{}))(b)
	}
}

// BenchmarkPassHat is of one case that ran 100,000 times.
func BenchmarkPassHat(b *testing.B) {
	rows := []stats.Row{}
	for i := range 100_000 {
		rows = append(rows, stats.Row{Case: "a", Epoch: i, Value: float64(i % 2)})
	}
	s := must(stats.New(rows))(b)
	b.ReportAllocs()
	for b.Loop() {
		must(s.PassHat())(b)
	}
}

func BenchmarkSignFlip(b *testing.B) {
	s := must(stats.New(thousand(b)))(b)
	b.ReportAllocs()
	for b.Loop() {
		must(s.SignFlip(stats.Resampling{Resamples: 10_000}))(b)
	}
}
