package importer_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/importer"
)

// readData opens r and returns the data of its runs in addition to their messages, and the errors.
func readData(t testing.TB, r io.Reader) (items []string) {
	t.Helper()
	src, err := importer.Open("file", r)
	return describeRuns(src, err)
}

func describeRuns(src *importer.Source, err error) (items []string) {
	if err != nil {
		return []string{"! " + err.Error()}
	}
	for run, err := range src.Runs() {
		items = append(items, describeRun(run, err))
	}
	return items
}

func describeRun(run importer.Run, err error) string {
	if err != nil {
		return "! " + err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s case=%q epoch=%d", run.Name, run.Case, run.Epoch)
	if run.Expected.Answers != nil {
		fmt.Fprintf(&b, " want=%q", run.Expected.Answers)
	}
	if run.Answer != "" {
		fmt.Fprintf(&b, " answer=%q", run.Answer)
	}
	if run.Expected.Replies != nil {
		fmt.Fprintf(&b, " replies=%q", run.Expected.Replies)
	}
	if run.Expected.Calls != nil {
		b.WriteString(" calls=[")
		for _, c := range run.Expected.Calls {
			fmt.Fprintf(&b, "%d:%s%s ", c.Turn, c.Name, c.Arguments)
		}
		b.WriteString("]")
	}
	for _, s := range run.Scores {
		if s.Err != nil {
			fmt.Fprintf(&b, " %s: %v", s.Name, s.Err)
			continue
		}
		fmt.Fprintf(&b, " %s=%v", s.Name, s.Value)
	}
	return b.String()
}

// ownJSON returns the messages of the runs in r, in their own JSON, one per line.
func ownJSON(t testing.TB, r io.Reader) (lines []string) {
	t.Helper()
	src, err := importer.Open("file", r)
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Runs() {
		if err != nil {
			t.Error(err)
		}
		for _, m := range run.Messages {
			lines = append(lines, string(m.AppendJSON(nil)))
		}
	}
	return lines
}

func TestTauBenchExpected(t *testing.T) {
	in := `[{"task_id":1,"info":{"task":{"actions":[{"name":"f","kwargs":{"x":1}},{"name":"g"}]}},"traj":[]},{"task_id":2,"info":{"task":{"actions":[]}},"traj":[]},{"task_id":3,"info":{"task":{"actions":null}},"traj":[]}]`
	want := []string{`task-1 case="1" epoch=-1 calls=[-1:f{"x":1} -1:g ]`, `task-2 case="2" epoch=-1 calls=[]`, `task-3 case="3" epoch=-1`}
	if diff := cmp.Diff(want, readData(t, strings.NewReader(in))); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}
