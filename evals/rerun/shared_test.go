package rerun_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals/rerun"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace/importer"
)

// The runs of the airline benchmark come to the same with the recorded results as tools,
// and so does a model with the recorded responses.
func TestAirline(t *testing.T) {
	var f *os.File
	for _, dir := range []string{os.Getenv("LOOPTAPE_SHARED"), filepath.Join("..", "..", "..", "shared")} {
		var err error
		if f, err = os.Open(filepath.Join(dir, "data", "tau-airline", "gpt-4o-airline.json.gz")); err == nil {
			break
		}
	}
	if f == nil {
		t.Skip("no recorded runs tau-airline: there is no folder shared next to the repository, and LOOPTAPE_SHARED is not set")
	}
	t.Cleanup(func() { _ = f.Close() }) // it is only read
	src, err := importer.Open("airline", f)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		got["runs"]++
		tools, model := recordedOf(&run)
		out, err := rerun.Tools(t.Context(), &run, nil, tools...)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range out.Calls {
			got["calls "+string(c.Status)]++
		}
		path, err := rerun.Model(t.Context(), &run, model, nil)
		if err != nil || path.Err != nil || path.Divergence != nil || path.Reworded > 0 {
			t.Errorf("%s: %s, %v", run.Name, went(path), err)
		}
		got["turns"] += path.Steps
	}
	if diff := cmp.Diff(map[string]int{"runs": 200, "calls same": 1164, "turns": 2454}, got); diff != "" {
		t.Errorf("results of the runs (-want +got):\n%s", diff)
	}
}

// recordedOf returns tools and a model that repeat a run in its order.
func recordedOf(run *importer.Run) (tools []loop.Tool, model *fake.Model) {
	model = &fake.Model{DiscardRequests: true}
	var results []string
	named := map[string]bool{}
	for i, m := range run.Messages {
		turn := fake.Response{Events: []llm.Event{}}
		for j, part := range m.Parts {
			switch p := part.(type) {
			case llm.ToolResult:
				results = append(results, p.Text())
			case llm.ToolCall:
				named[p.Name] = true
				p.ID = fmt.Sprintf("n%d.%d", i, j)
				part = p
			}
			turn.Events = append(turn.Events, llm.PartDone{Part: part})
		}
		if m.Role == llm.RoleAssistant {
			model.Responses = append(model.Responses, turn)
		}
	}
	for name := range named {
		tools = append(tools, tool(name, func(string) (loop.Output, error) {
			out := loop.TextOutput(results[0])
			results = results[1:]
			return out, nil
		}))
	}
	return tools, model
}
