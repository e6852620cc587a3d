package scenario_test

import (
	"testing"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/scenario"
)

func BenchmarkZX(b *testing.B) {
	start, err := scenario.Program(scriptN(3, 4), func(c *loop.Config) { c.Concurrency = -1 })
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	r := explore.Exhaust(start, explore.Bounds{Runs: b.N})
	b.Logf("%d", r.Runs)
}
