package looptest_test

import (
	"fmt"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/looptest"
)

// TestExploreHTTP explores the loop of looptape with each client.
func TestExploreHTTP(t *testing.T) {
	for client := range httpClients {
		for name, mode := range map[string]llm.ResponseMode{"streaming": llm.Streaming, "non-streaming": llm.NonStreaming} {
			t.Run(client+" "+name, func(t *testing.T) { looptest.ExploreHTTP(t, httpLoop(client, mode, ""), nil) })
		}
	}
}

// BenchmarkExploreHTTP measures runs of three steps of four calls, in each order and with each single fault. runs/s is the rate of one
// core with -cpu 1.
func BenchmarkExploreHTTP(b *testing.B) {
	s := &fake.Script{Tools: []fake.Tool{{Name: "a"}}, Input: []llm.Message{llm.User("go")}}
	var list []fake.Response
	for i := range 3 {
		var calls []fake.Call
		for j := range 4 {
			calls = append(calls, fake.Call{ID: fmt.Sprintf("c%d%d", i, j), Name: "a", Arguments: fmt.Sprintf(`{"n":%d}`, 10*i+j)})
		}
		list = append(list, fake.Response{Calls: calls})
	}
	s.Models = []fake.ModelScript{{Name: "main", Responses: append(list, fake.Response{Text: "done"})}}
	for client := range httpClients {
		b.Run(client, func(b *testing.B) {
			b.ReportAllocs()
			for _, mode := range []llm.ResponseMode{llm.Streaming} {
				testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "explore", F: func(t *testing.T) {
					looptest.ExploreHTTP(t, httpLoop(client, mode, ""), &looptest.ExploreOptions{Script: s, Runs: b.N})
				}}})
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}
