package scenario_test

import (
	"fmt"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/scenario"
)

func scriptN(steps, calls int) *fake.Script {
	s := &fake.Script{File: "x", Input: []llm.Message{llm.User("go")}}
	var rs []fake.Response
	for i := range steps {
		var cs []fake.Call
		for j := range calls {
			cs = append(cs, fake.Call{ID: fmt.Sprintf("c%d%d", i, j), Name: "t", Arguments: fmt.Sprintf(`{"n":%d}`, i*4+j)})
		}
		rs = append(rs, fake.Response{Calls: cs})
	}
	rs = append(rs, fake.Response{Text: "done"})
	s.Models = []fake.ModelScript{{Name: "main", Responses: rs}}
	s.Tools = []fake.Tool{{Name: "t", Behavior: fake.Behavior{Text: "fine"}}}
	return s
}

func TestZZ(t *testing.T) {
	for _, x := range []struct{ steps, calls, limit int }{{1, 2, -1}, {2, 1, -1}, {1, 2, 1}, {1, 3, -1}, {1, 3, 2}} {
		for _, b := range []explore.Bounds{{Faults: 1}, {Faults: 1, Preemptions: 1}, {Faults: 1, Preemptions: 100}} {
			if x.calls > 2 && b.Preemptions > 1 {
				b.Preemptions = 2
			}
			start, err := scenario.Program(scriptN(x.steps, x.calls), func(c *loop.Config) { c.Concurrency = x.limit })
			if err != nil {
				t.Fatal(err)
			}
			r := explore.Exhaust(start, b)
			t.Logf("%+v %+v: runs %d traces %d orders %d hash %s complete %v", x, b, r.Runs, r.Traces, r.Orders, r.Hash, r.Complete)
			for _, f := range r.Failures {
				t.Logf("FAIL %s count %d run %d choices %v found %v shrunk %d minimal %v", f.Violation, f.Count, f.Run, f.Choices, f.Found, f.Shrunk, f.Minimal)
				t.Logf("%s", f.Diff())
			}
			for _, u := range r.Unstable {
				t.Log("UNSTABLE", u)
			}
		}
	}
}
