package importer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/trace/check"
)

func TestLangfuseTraces(t *testing.T) {
	golden := goldenFiles(t, "langfuse-traces")
	sharedFiles(t, "langfuse-traces", func(name string, b []byte) {
		if strings.HasSuffix(name, ".chatml.json") { // another program's reading of a trace
			return
		}
		format, runs, failed, unknown := readAll(t, name, b)
		if format != "langfuse" || failed != nil || unknown != nil {
			t.Errorf("%s: format %q, errors %v, unknown %v", name, format, failed, unknown)
		}
		got := map[string]int{}
		for _, run := range runs {
			if len(run.Messages) < 2 {
				t.Errorf("%s: run %s has %d messages", name, run.Name, len(run.Messages))
			}
			if v := check.Messages(run.Name, run.Messages); v != nil {
				t.Errorf("%s: violations %v", name, v)
			}
			var observations []struct{ UsageDetails struct{ Input, Output int } } // those of an outer one are those of inner ones
			if err := json.Unmarshal(run.Meta["observations"], &observations); err != nil {
				t.Fatal(err)
			}
			for _, o := range observations {
				got["input_tokens"] += o.UsageDetails.Input
				got["output_tokens"] += o.UsageDetails.Output
			}
			got["observations"] += len(observations)
		}
		compareValues(t, name, golden[name], got, "observations", "input_tokens", "output_tokens")
		if names := lostFrom(format, sourceLeaves(t, b), contentOf(t, runs)); names != nil {
			t.Errorf("%s: lost %s", name, strings.Join(names, "\n"))
		}
	})
}

func readShared(t *testing.T, set, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(sharedDir(t), "data", set, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
