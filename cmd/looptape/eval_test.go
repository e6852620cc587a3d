package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// sharedData is a file of the recorded results next to the repository, or skips the test.
func sharedData(t *testing.T, path ...string) string {
	t.Helper()
	shared := os.Getenv("LOOPTAPE_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	file := filepath.Join(append([]string{shared, "data"}, path...)...)
	if _, err := os.Stat(file); err != nil {
		t.Skip("the data set is not next to the repository; set LOOPTAPE_SHARED to where it is: ", err)
	}
	return file
}

// The statistics of 50 tasks with four runs each equal those that others have
// computed, to all digits that are known.
func TestEvalTauAirline(t *testing.T) {
	var f evals.Summary
	if err := json.Unmarshal([]byte(printed(t, "eval", "score", "--format", "json", sharedData(t, "tau-airline", "gpt-4o-airline.json.gz"))), &f); err != nil {
		t.Fatal(err)
	}
	m := f.Metrics["reward"]
	got := map[string]string{
		"runs, cases, epochs": fmt.Sprint(f.Runs, f.Cases, f.Epochs),
		"n, missing, errors":  fmt.Sprint(m.N, m.Missing, m.Errors, len(f.Unreadable)),
		"mean":                fmt.Sprintf("%.4f", *m.Mean),
		"naive":               fmt.Sprintf("%.5f", *m.MeanOfRuns.Naive),
		"CR0":                 fmt.Sprintf("%.5f", *m.MeanOfRuns.ClusterCR0),
		"cluster":             fmt.Sprintf("%.5f %.5f", *m.MeanOfRuns.Cluster, *m.SE),
		"Wilson":              fmt.Sprintf("%.4f", *m.MeanOfRuns.Wilson),
		"pass^k":              fmt.Sprintf("%.4f", m.PassHatK),
		"pass@k":              fmt.Sprintf("%.4f", m.PassAtK),
	}
	if diff := cmp.Diff(map[string]string{
		"runs, cases, epochs": "200 50 4",
		"n, missing, errors":  "200 0 0 0",
		"mean":                "0.4200",
		"naive":               "0.03499",
		"CR0":                 "0.05169",
		"cluster":             "0.05222 0.05222",
		"Wilson":              "[0.3537 0.4893]",
		"pass^k":              "[0.4200 0.2733 0.2200 0.2000]",
		"pass@k":              "[0.4200 0.5667 0.6600 0.7200]",
	}, got); diff != "" {
		t.Errorf("statistics (-want +got):\n%s", diff)
	}
}

// Logs of Inspect have the means and errors that they contain, with the naive
// error of independent runs; in .eval as in JSON.
func TestEvalInspect(t *testing.T) {
	for log, want := range map[string]string{
		"popularity-scored.json":     "match 10 0.800000 0.133333",
		"popularity-scored.eval":     "match 10 0.800000 0.133333",
		"log_streaming-epochs2.eval": "match 4 0.750000 0.250000",
		"popularity-cancelled.json":  "match 3 0.666667 0.333333",
		"security-guide.json":        "model_graded_fact 3 1.000000 0.000000",
	} {
		t.Run(log, func(t *testing.T) {
			var f evals.Summary
			if err := json.Unmarshal([]byte(printed(t, "eval", "score", "--format", "json", sharedData(t, "inspect", log))), &f); err != nil {
				t.Fatal(err)
			}
			got := ""
			for name, m := range f.Metrics {
				got += fmt.Sprintf("%s %d %.6f %.6f", name, m.N, *m.Mean, *m.MeanOfRuns.Naive)
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// Two systems that solved the same 1,319 problems, as others have compared them.
func TestEvalGSM8K(t *testing.T) {
	rows := sharedData(t, "gsm8k", "example_model_solutions.jsonl")
	var c evals.Comparison
	if err := json.Unmarshal([]byte(printed(t, "eval", "compare", "--format", "json", "--case", "/question",
		"--base-score", "/175b_finetuning/is_correct", "--new-score", "/175b_verification/is_correct", rows, rows)), &c); err != nil {
		t.Fatal(err)
	}
	m := c.Metrics["score"]
	got := map[string]string{
		"pairs":            fmt.Sprint(m.Pairs, len(c.OnlyBase), len(c.OnlyNew), m.Missing, m.Errors),
		"base, new":        fmt.Sprintf("%.4f %.4f", *m.Base, *m.New),
		"difference":       fmt.Sprintf("%.4f", *m.Difference),
		"paired, unpaired": fmt.Sprintf("%.5f %.5f", *m.SE.Paired, *m.SE.Unpaired),
		"discordant":       fmt.Sprint(*m.Discordant, len(m.Regressed), len(m.Fixed)),
	}
	if diff := cmp.Diff(map[string]string{
		"pairs":            "1319 0 0 {0 0} {0 0}",
		"base, new":        "0.3472 0.5625",
		"difference":       "0.2153",
		"paired, unpaired": "0.01468 0.01894",
		"discordant":       "{76 360} 76 360",
	}, got); diff != "" {
		t.Errorf("statistics (-want +got):\n%s", diff)
	}
}

// Results that cannot be written are an error.
func TestEvalOutputFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	if err := os.WriteFile(file, []byte(`{"case":"a","score":1,"messages":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(t.TempDir(), "part.jsonl")
	printed(t, "eval", "score", "-o", part, file)
	for _, args := range [][]string{
		{"score", file}, {"score", "--format", "json", file}, {"score", "--format", "jsonl", file},
		{"report", file}, {"report", "--format", "csv", file}, {"report", "--against", file, file},
		{"compare", file, file}, {"compare", "--format", "json", file, file}, {"merge", part},
	} {
		w, _, errs := clitest.Terminal(nil)
		w.Out = failing{}
		if got := execute(append([]string{"eval"}, args...), w); got != cli.Usage {
			t.Errorf("%s: exit status %d, want %d", args, got, cli.Usage)
		}
		if want := "looptape: the pipe is broken\n"; errs.String() != want {
			t.Errorf("%s: standard error %q, want %q", args, errs, want)
		}
	}
}

// Parquet, which is binary, is not written to a terminal.
func TestEvalParquetAtTerminal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	if err := os.WriteFile(file, []byte(`{"case":"a","score":1,"messages":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w, out, errs := clitest.Terminal(nil)
	if got := execute([]string{"eval", "report", "--format", "parquet", file}, w); got != cli.Usage || out.Len() > 0 {
		t.Errorf("exit status %d, want %d; standard output %q", got, cli.Usage, out)
	}
	if want := "looptape: parquet is a binary format: set an output file with -o\n"; errs.String() != want {
		t.Errorf("standard error %q, want %q", errs, want)
	}
	to := filepath.Join(t.TempDir(), "runs.parquet")
	for _, args := range [][]string{{"-o", to}, nil} {
		w, out, errs := clitest.Terminal(nil)
		w.OutTerminal = args != nil
		if got := execute(append([]string{"eval", "report", "--format", "parquet", file}, args...), w); got != cli.OK {
			t.Fatalf("exit status %d: %s", got, errs)
		}
		text := out.Bytes()
		if args != nil {
			var err error
			if text, err = os.ReadFile(to); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(text, []byte("PAR1")) || !bytes.HasSuffix(text, []byte("PAR1")) {
			t.Errorf("with %q: got %q", args, text)
		}
	}
}
