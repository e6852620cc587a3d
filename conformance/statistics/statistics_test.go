// Package statistics compares the statistics of package evals with those of an independent program.
package statistics

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/trace/importer"
)

var (
	count = flag.Int("sets", 20, "number of random sets")
	seed  = flag.Uint64("seed", 1, "seed of the random sets")
)

// python is Debian's, which has python3-mpmath.
const python = "/usr/bin/python3"

// TestStatisticsRecomputed compares each statistic of the JSON of eval score, compare, gate and power for random sets
// with that of recompute.py, which reads the same rows.
func TestStatisticsRecomputed(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import mpmath").CombinedOutput(); err != nil {
		if os.Getenv("LOOPTAPE_MPMATH") != "" {
			t.Fatalf("LOOPTAPE_MPMATH is set, but mpmath is not installed: %v\n%s", err, out)
		}
		t.Skip("mpmath is not installed: .ci/tools mpmath")
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", "recompute.py")
	var input bytes.Buffer
	sets := make([]*set, *count)
	for i := range sets {
		sets[i] = generate(*seed, uint64(i))
		input.Write(sets[i].line(t))
	}
	cmd.Stdin, cmd.Stderr = &input, os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	c := comparison{checked: map[string]int{}}
	for i, s := range sets {
		got := s.statistics(t)
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatalf("set %d: recompute.py: %v", i, err)
		}
		c.different = nil
		c.values("", decoded(t, line), got)
		if len(c.different) > 0 {
			t.Errorf("set %d: go test -run %s ./statistics -seed %d -sets %d\n%s\n%s", i, t.Name(), *seed, i+1, bytes.Join(c.different, []byte("\n")), s.rows())
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(c.checked)) {
		t.Logf("%6d %s", c.checked[path], path)
	}
}

// statistics returns the statistics of a set as JSON values.
func (s *set) statistics(t *testing.T) any {
	base, now := s.result(t, s.Base), s.result(t, s.New)
	all := map[string]any{"same": map[string]any{}, "single": map[string]any{}, "plan": nil}
	for name, r := range map[string]*evals.Result{"base": base, "new": now} {
		summary, err := r.Summary(nil)
		all[name] = known(t, summary, err)["metrics"]
	}
	all["labels"] = s.agreements(t, now)
	changes, err := base.Compare([]*evals.Result{now}, 1)
	if err != nil {
		t.Fatal(err)
	}
	all["compare"] = known(t, changes[0], nil)["metrics"]
	all["sequential"] = s.sequential(t, base, now)
	baseline, err := base.Baseline(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	gate, err := (&evals.Gate{Lower: s.Lower, Alpha: s.Gate.Alpha, Drop: s.Gate.Drop, Detect: s.Gate.Detect}).Evaluate(baseline, now)
	all["gate"] = known(t, gate, err)["metrics"]
	if s.Difference != 0 {
		test := stats.Test{Alpha: s.Alpha, Power: s.Power}
		same, err := base.Power(now, s.Difference, test)
		metrics := known(t, same, err)["metrics"].(map[string]any)
		for name, m := range metrics {
			p := all["compare"].(map[string]any)[name].(map[string]any)["p"].(map[string]any)
			if p["mcnemar_mid_p"] == nil {
				m.(map[string]any)["same_cases"] = nil // simulated; package stats has the test
			}
		}
		all["same"] = metrics
		single, err := base.Power(nil, s.Difference, test)
		all["single"] = known(t, single, err)["metrics"]
	}
	if p := s.Plan; p != nil {
		rates, wrong := stats.PlannedRates(p.Rate, p.ICC, p.Effect)
		variance, err := stats.PlannedVariance(p.Rate, p.ICC, p.Effect, p.Trials)
		if err = errors.Join(wrong, err); err != nil {
			t.Fatal(err)
		}
		all["plan"] = map[string]any{"only_base": rates.OnlyBase, "only_new": rates.OnlyOther, "variance": variance}
	}
	return all
}

// sequential returns the decisions that may be read after each run, or nothing if no metric has rates in both sets.
func (s *set) sequential(t *testing.T, base, now *evals.Result) any {
	t.Helper()
	changes, err := base.Sequential(now, stats.Sequential{Effect: sequentialEffect}, s.Lower...)
	if err != nil {
		return map[string]any{}
	}
	return known(t, changes, nil)
}

// sequentialEffect is the planned effect, also in recompute.py.
const sequentialEffect = 0.2

// agreements returns the comparison of a result with the labels of the set.
func (s *set) agreements(t *testing.T, r *evals.Result) any {
	t.Helper()
	if len(s.Labels) == 0 {
		return map[string]any{}
	}
	var text bytes.Buffer
	for _, l := range s.Labels {
		text.Write(marshal(t, l))
	}
	labels, err := evals.ReadLabels("labels.jsonl", &text)
	if err != nil {
		t.Fatal(err)
	}
	summary, err := r.Summary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if unread, err := summary.AddLabels(r, labels); err != nil || len(unread) > 0 {
		t.Fatal(unread, err)
	}
	return known(t, summary, nil)["labels"]
}

// known returns the members of a value's JSON.
func known(t *testing.T, value any, err error) map[string]any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, line).(map[string]any)
}

func decoded(t *testing.T, line []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(line, &value); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return value
}

// result scores rows.
func (s *set) result(t *testing.T, rows []row) *evals.Result {
	t.Helper()
	var text bytes.Buffer
	for _, r := range rows {
		text.Write(marshal(t, r))
	}
	names := &importer.Mapping{Case: "/case", Epoch: "/epoch", Scores: map[string]string{}}
	for _, m := range s.metrics {
		names.Scores[m] = "/" + m
	}
	if s.clusters {
		names.Cluster = "/cluster"
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(&text), nil }
	r, err := evals.ScoreFiles(context.Background(), []evals.Input{{Name: "rows.jsonl", Open: open}}, &evals.Options{Rows: names})
	if err != nil || r.Rows.Len() != len(rows) {
		t.Fatalf("%d of %d rows, %v, %v\n%s", r.Rows.Len(), len(rows), r.Unreadable, err, s.rows())
	}
	return r
}

// comparison compares JSON values.
type comparison struct {
	different [][]byte
	checked   map[string]int // numbers, by member
}

// random marks a statistic that is drawn at random.
const random = "random"

// other are the members that the rows alone do not determine, or that are drawn at random.
var other = []string{"file", "line", "notes"}

// simulated are the members of a gate that it simulates, and reports whether a value agrees with what is computed exactly.
var simulated = regexp.MustCompile(`^\.gate\.m\d(\.\w+)?\.(smallest_drop|power)$`)

// near reports whether a simulated value agrees with the exact power up to five of its standard errors, or with the drops
// whose powers are five standard errors of the search less and more than 0.8.
func near(want, got any) bool {
	x, known := got.(float64)
	if p, ok := want.(float64); ok {
		const draws = 2500
		return known && math.Abs(x-p) < 5*math.Sqrt(p*(1-p)/draws)+1.0/draws
	}
	drops := want.(map[string]any)
	from, found := drops["from"].(float64)
	to, all := drops["to"].(float64)
	if !known {
		return !all
	}
	const step = 0.02 // of the search
	return found && x >= from*(1-step)-step/10 && (!all || x <= to*(1+step)+step/10)
}

func (c *comparison) values(path string, want, got any) {
	if simulated.MatchString(path) && want != random && want != nil {
		if !near(want, got) {
			c.differ(path, want, got)
		}
		c.checked[fmt.Sprintf("%s %T", member.ReplaceAllString(path, ".*")+" simulated,", got)]++
		return
	}
	switch want := want.(type) {
	case map[string]any:
		got, _ := got.(map[string]any)
		for name := range got {
			if _, ok := want[name]; !ok && !slices.Contains(other, name) {
				c.differ(path+"."+name, nil, got[name])
			}
		}
		for name, value := range want {
			c.values(path+"."+name, value, got[name])
		}
		return
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			c.differ(path, want, got)
			return
		}
		list = c.sorted(path, list)
		for i, value := range c.sorted("", want) {
			c.values(path+"[]", value, list[i])
		}
		return
	case float64:
		x, ok := got.(float64)
		if distance := math.Abs(x - want); !ok || !(distance <= 1e-12 || distance <= 1e-9*math.Abs(want)) {
			c.differ(path, want, got)
		}
	case string:
		if want != random && want != got {
			c.differ(path, want, got)
		}
	default:
		if want != got {
			c.differ(path, want, got)
		}
	}
	c.checked[fmt.Sprintf("%s %T", member.ReplaceAllString(path, ".*"), want)]++
}

// sorted returns a list of changed cases by name, and any other list itself. The command prints the largest
// change first.
func (c *comparison) sorted(path string, list []any) []any {
	of := func(v any) map[string]any { m, _ := v.(map[string]any); return m }
	if len(list) == 0 || of(list[0]) == nil {
		return list
	}
	size := func(v any) float64 { d, _ := of(v)["difference"].(float64); return -math.Abs(d) }
	if path != "" && !slices.IsSortedFunc(list, func(a, b any) int { return cmp.Compare(size(a), size(b)) }) {
		c.differ(path, "the largest change first", list)
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b any) int { return cmp.Compare(fmt.Sprint(of(a)["case"]), fmt.Sprint(of(b)["case"])) })
	return list
}

func (c *comparison) differ(path string, want, got any) {
	c.different = append(c.different, fmt.Appendf(nil, "%s: got %v, recomputed %v", path, got, want))
}
