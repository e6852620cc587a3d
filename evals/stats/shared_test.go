package stats_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals/stats"
)

// shared opens a file of the recorded results next to the repository, or skips the test.
func shared(t *testing.T, path ...string) *os.File {
	t.Helper()
	dirs := []string{os.Getenv("LOOPTAPE_SHARED"), filepath.Join("..", "..", "..", "shared")}
	for _, dir := range dirs {
		if f, err := os.Open(filepath.Join(append([]string{dir, "data"}, path...)...)); err == nil {
			t.Cleanup(func() {
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			})
			return f
		}
	}
	t.Skipf("no recorded results %s: there is no folder shared next to the repository, and LOOPTAPE_SHARED is not set", filepath.Join(path...))
	return nil
}

// digits formats values with n digits.
func digits(n int, figures ...float64) string {
	list := make([]string, len(figures))
	for i, x := range figures {
		list[i] = fmt.Sprintf("%.*f", n, x)
	}
	return strings.Join(list, " ")
}

// same compares the values with the known ones.
func same(t *testing.T, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// TestTauAirline computes the statistics of 50 tasks that an agent did 4 times each.
func TestTauAirline(t *testing.T) {
	file, err := gzip.NewReader(shared(t, "tau-airline", "gpt-4o-airline.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	var results []struct {
		TaskID int `json:"task_id"`
		Trial  int
		Reward float64
	}
	if err := json.NewDecoder(file).Decode(&results); err != nil {
		t.Fatal(err)
	}
	var rows []stats.Row
	for _, r := range results {
		rows = append(rows, stats.Row{Case: fmt.Sprint(r.TaskID), Epoch: r.Trial, Value: r.Reward})
	}
	s := must(stats.New(rows))(t)
	var at, hat []float64
	for k := 1; k <= s.FewestEpochs(); k++ {
		at = append(at, must(s.PassAtK(k))(t).Mean())
		hat = append(hat, must(s.PassHatK(k))(t).Mean())
	}
	wilson := must(s.Wilson(0.95))(t)
	same(t, map[string]string{
		"rows, cases, clusters": "200 50 50",
		"mean":                  "0.42",
		"pass^1..4":             "0.4200 0.2733 0.2200 0.2000",
		"pass@1..4":             "0.4200 0.5667 0.6600 0.7200",
		"naive":                 "0.03499",
		"CR0":                   "0.05169",
		"cluster":               "0.05222",
		"Wilson":                "0.3537 0.4893",
	}, map[string]string{
		"rows, cases, clusters": fmt.Sprint(s.Len(), s.Cases(), s.Clusters()),
		"mean":                  fmt.Sprint(s.Mean()),
		"pass^1..4":             digits(4, hat...),
		"pass@1..4":             digits(4, at...),
		"naive":                 digits(5, must(s.Naive())(t).SE),
		"CR0":                   digits(5, must(s.ClusterCR0())(t).SE),
		"cluster":               digits(5, must(s.Cluster())(t).SE),
		"Wilson":                digits(4, wilson.Low, wilson.High),
	})
}

// TestGSM8K compares two systems that solved the same 1,319 problems once each.
func TestGSM8K(t *testing.T) {
	type solution struct {
		IsCorrect bool `json:"is_correct"`
	}
	var rows [2][]stats.Row
	lines := bufio.NewScanner(shared(t, "gsm8k", "example_model_solutions.jsonl"))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var problem struct {
			Question     string
			Finetuning   solution `json:"175b_finetuning"`
			Verification solution `json:"175b_verification"`
		}
		if err := json.Unmarshal(lines.Bytes(), &problem); err != nil {
			t.Fatal(err)
		}
		for i, s := range []solution{problem.Finetuning, problem.Verification} {
			row := stats.Row{Case: problem.Question}
			if s.IsCorrect {
				row.Value = 1
			}
			rows[i] = append(rows[i], row)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	base, other := must(stats.New(rows[0]))(t), must(stats.New(rows[1]))(t)
	p := must(stats.Pair(base, other))(t)
	changed := map[float64]int{}
	for _, r := range p.Difference.Rows() {
		changed[r.Value]++
	}
	unpaired := must(stats.Unpaired(must(base.Naive())(t), must(other.Naive())(t)))(t)
	paired := must(p.Difference.Naive())(t)
	same(t, map[string]string{
		"pairs":                    "1319 0 0",
		"finetuning, verification": "0.3472 0.5625",
		"difference":               "0.2153 0.2153",
		"paired, clustered":        "0.01468 0.01468",
		"unpaired":                 "0.01894",
		"fixed, regressed":         "360 76",
	}, map[string]string{
		"pairs":                    fmt.Sprint(p.Difference.Len(), len(p.OnlyBase), len(p.OnlyOther)),
		"finetuning, verification": digits(4, base.Mean(), other.Mean()),
		"difference":               digits(4, paired.Value, unpaired.Value),
		"paired, clustered":        digits(5, paired.SE, must(p.Difference.Cluster())(t).SE),
		"unpaired":                 digits(5, unpaired.SE),
		"fixed, regressed":         fmt.Sprint(changed[1], changed[-1]),
	})
}
