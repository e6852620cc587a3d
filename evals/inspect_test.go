package evals_test

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/evals"
)

// TestInspectLogs compares the means and standard errors of logs of Inspect with those that the logs contain.
func TestInspectLogs(t *testing.T) {
	logs, _ := filepath.Glob("../../shared/data/inspect/*.json")
	if len(logs) == 0 {
		t.Skip("the logs are not here: ../../shared/data/inspect")
	}
	zips, _ := filepath.Glob("../../shared/data/inspect/*.eval")
	compared := 0
	for _, name := range append(logs, zips...) {
		if filepath.Base(name) == "log_tool_call_error.json" {
			continue // it has one of its 4 samples, without a score
		}
		want := ownResults(t, strings.TrimSuffix(name, filepath.Ext(name))+".json")
		r, err := evals.ScoreFiles(t.Context(), []evals.Input{{Name: name, Open: func() (io.ReadCloser, error) { return os.Open(name) }}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := must(r.Summary(nil))(t)
		if len(f.Metrics) != len(want) || len(f.Unreadable) > 0 {
			t.Errorf("%s: metrics %v, want %v; unreadable: %v", name, f.Metrics, want, f.Unreadable)
		}
		for metric, w := range want {
			m := f.Metrics[metric]
			se := 0.0 // what Inspect has for a single sample
			if m.SE != nil {
				se = *m.SE
			}
			if m.Mean == nil || math.Abs(*m.Mean-w.mean) > 1e-12 || math.Abs(se-w.se) > 1e-12 {
				t.Errorf("%s: %s has the mean %v and the standard error %v, the log %v", name, metric, m.Mean, se, w)
			}
			compared++
		}
	}
	if compared < 8 {
		t.Errorf("%d metrics compared", compared)
	}
}

type ownResult struct{ mean, se float64 }

func ownResults(t *testing.T, name string) map[string]ownResult {
	t.Helper()
	text, err := os.ReadFile(name)
	var log struct {
		Results struct {
			Scores []struct {
				Name    string
				Metrics map[string]struct{ Value float64 }
			}
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &log)
	}
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]ownResult{}
	for _, s := range log.Results.Scores {
		own[s.Name] = ownResult{s.Metrics["accuracy"].Value, s.Metrics["stderr"].Value}
	}
	return own
}
