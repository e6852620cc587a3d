package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/importer"
)

func TestScores(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"tau-bench":           {`[{"task_id":3,"trial":1,"reward":1.0,"traj":[]}]`, "3 1 reward=1(1.0)"},
		"a case and a truth":  {`{"case":"a","epoch":2,"score":true,"messages":[]}`, "a 2 score=1(true)"},
		"an id and a lie":     {`{"id":"b","score":false,"reward":0.5,"messages":[]}`, "b -1 reward=0.5(0.5) score=0(false)"},
		"nothing":             {`{"messages":[]}`, " -1"},
		"null":                {`{"reward":null,"messages":[]}`, " -1"},
		"a word":              {`{"reward":"high","messages":[]}`, ` -1 reward!("high")`},
		"too much":            {`{"reward":1e999,"messages":[]}`, ` -1 reward!(1e999)`},
		"an epoch below zero": {`{"case":"a","epoch":-1,"messages":[]}`, "a -1"},
		"a list":              {`[{"role":"user","content":"hi"}]`, " -1"},
		"a trace":             {`{"format":"looptape-trace","version":2}` + "\n" + `{"run":"r","kind":"run.start"}` + "\n", " -1"},
	} {
		t.Run(name, func(t *testing.T) {
			src, err := importer.Open("file", strings.NewReader(c.in))
			if err != nil {
				t.Fatal(err)
			}
			runs := 0
			for run, err := range src.Runs() {
				runs++
				got := fmt.Sprint(run.Case, " ", run.Epoch)
				for _, s := range run.Scores {
					got += " " + s.Name
					if s.Err != nil {
						got += "!"
					} else {
						got += fmt.Sprint("=", s.Value)
					}
					got += "(" + string(s.Raw) + ")"
				}
				if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
					t.Errorf("scores (-want +got), error %v:\n%s", err, diff)
				}
			}
			if runs != 1 {
				t.Errorf("%d runs, want one", runs)
			}
		})
	}
}
