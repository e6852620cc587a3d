package loop_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/internal/cassettetest"
)

// mutant is a change to the loop's source that breaks one invariant. In the
// scenarios of testdata/invariants only that one's check may see it.
type mutant struct {
	id       string // the invariant
	what     string
	file     string // from this directory
	old, new string // old is in the file once
}

var mutants = []mutant{
	{"INV-01", "a result is sent twice", "transcript.go",
		"t.append(llm.Message{Role: llm.RoleTool, Parts: parts})", "t.append(llm.Message{Role: llm.RoleTool, Parts: append(parts, parts[0])})"},
	{"INV-02", "a message comes before the results", "kernel.go",
		"r.res.ToolSteps++", `r.res.ToolSteps++; if r.cfg.OneMessagePerResult { r.transcript.append(llm.User("Here are the results.")) }`},
	{"INV-03", "results are sent in reverse", "transcript.go",
		"parts = append(parts, res)", "parts = append([]llm.Part{res}, parts...)"},
	{"INV-04", "the ids of earlier responses are forgotten", "internal/conversation/call.go",
		"s.generated += s.trying", "s.generated += s.trying; for _, id := range s.reserved { delete(s.used, id) }"},
	{"INV-05", "a rewrite is not recorded", "kernel.go",
		"r.emit(n, w)", "_ = w"},
	{"INV-06", "a request is emptied after its use", "kernel.go",
		"calls := r.callsOf(response)", "calls := r.callsOf(response); s.Request.Messages = nil"},
	{"INV-07", "pending calls are not reported", "lifecycle.go",
		"res.Pending = conversation.Pending(t.history)", "res.Pending = conversation.Pending(nil)"},
	{"INV-08", "a call is begun twice", "group.go",
		"if !x.begin(p) {", "if !x.begin(p) || p.Arguments == p.Call.Arguments && !x.begin(p) {"},
	{"INV-09", "other arguments are not recorded", "executor.go",
		"if p.Arguments != p.Call.Arguments {", "if false {"},
	{"INV-10", "pieces of spaces are dropped", "../llm/accumulator.go",
		`if e.Text != "" || e.Opaque != nil {`, `if strings.TrimSpace(e.Text) != "" || e.Opaque != nil {`},
	{"INV-11", "the loop goes by the finish reason", "kernel.go",
		"case len(calls) == 0:", "case len(calls) == 0 || response.FinishReason == llm.FinishStop:"},
	{"INV-12", "non-streaming responses lose a count", "caller.go",
		"c.acc.ResponseInto(response)", "c.acc.ResponseInto(response); if call.Request.ResponseMode == llm.NonStreaming { response.Usage.CacheReadInputTokens = 0 }"},
	{"INV-13", "something is said after the end", "lifecycle.go",
		"r.rec.write(trace.Event{Step: trace.NoStep, Body: end}, err)", `r.rec.write(trace.Event{Step: trace.NoStep, Body: end}, err); r.emit(trace.NoStep, trace.Warning{Code: "late"})`},
	{"INV-14", "a failed step is not closed", "lifecycle.go",
		"r.closeStep()", ""},
	{"INV-15", "one tool too many at once", "group.go",
		"g.begun < g.limit", "g.begun <= g.limit"},
	{"INV-16", "the goroutine of the grace period is not ended", "group.go",
		"\t\tstop()\n\t}()", "\t\t_ = stop\n\t}()"},
	{"INV-17", "calls start after a cancel", "group.go",
		"!r.ended(r.step)", "(!r.ended(r.step) || true)"},
	{"INV-18", "the sum leaves cached tokens out", "lifecycle.go",
		"res.Usage, res.Messages = r.caller.usage, t.added()", "res.Usage, res.Messages = r.caller.usage, t.added(); res.Usage.CacheReadInputTokens = 0"},
	{"INV-19", "a budget may be spent and one more call made", "caller.go",
		"c.usage.Total() >= budget", "c.usage.Total() > budget"},
	{"INV-20", "the guard is one step late", "limits.go",
		"r.n >= limit", "r.n > limit"},
	{"INV-21", "an answer that had begun is retried", "caller.go",
		"facts.Retryable && !call.partial &&", "facts.Retryable &&"},
	{"INV-22", "the message's private data is lost", "transcript.go",
		"m := response.Message()", "m := response.Message(); m.Opaque = nil"},
	{"INV-23", "a panic's result is not marked as an error", "executor.go",
		"out = x.errorOutput(p.Call.Name, err)", "out = x.errorOutput(p.Call.Name, err); _, panics := errors.AsType[*PanicError](err); out.IsError = !panics"},
	{"INV-24", "an empty turn is sent", "transcript.go",
		"if !conversation.IsEmpty(m.Parts) {", `if m.Role != "" {`},
	{"INV-25", "the cap is one step late", "limits.go",
		"s.Step+1 < limit", "s.Step+1 <= limit"},
	{"INV-26", "tools do not hear of a cancel", "executor.go",
		"x.contained(ctx, call)", "x.contained(context.WithoutCancel(ctx), call)"},
	{"INV-27", "the tool that trips the guard is found in a map", "limits.go",
		"for _, c := range step.Calls { // in call order, for one result", "for name := range failed { c := struct{ Name string }{name}"},
}

// TestMutantsApply checks that each mutant can be applied to the source.
func TestMutantsApply(t *testing.T) {
	for _, m := range mutants {
		m.apply(t)
	}
}

// apply returns the changed source.
func (m mutant) apply(t *testing.T) []byte {
	t.Helper()
	src, err := os.ReadFile(m.file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), m.old); n != 1 {
		t.Errorf("the mutant of %s (%s): %q is in %s %d times, want once; bring the table up to date", m.id, m.what, m.old, m.file, n)
	}
	return []byte(strings.Replace(string(src), m.old, m.new, 1))
}

// mutantsEnv asks for TestMutants, mutantReport is where TestMutantReport
// writes.
const (
	mutantsEnv   = "LOOPTAPE_MUTANTS"
	mutantReport = "LOOPTAPE_MUTANT_REPORT"
)

// found is what the scenarios and the recordings report of a mutant.
type found struct {
	// Invariants are the violated invariants by scenario, without scenarios that have none.
	Invariants map[string][]string
	// Recordings are the recordings that fail with each transport.
	Recordings []string
	// Explored are the invariants that an exploration of a plain script finds violated.
	Explored map[string]exploredInvariant
}

// TestMutants builds the loop with each change and runs the scenarios of the invariants. They
// must report the invariant of the mutant and no other. Each recording that shows the invariant must
// fail.
func TestMutants(t *testing.T) {
	if os.Getenv(mutantsEnv) == "" {
		t.Skipf("building %d changed loops takes minutes; set %s=1, or run .ci/mutants", len(mutants), mutantsEnv)
	}
	table := readMutantTable(t)
	for _, m := range mutants {
		t.Run(m.id, func(t *testing.T) {
			found := buildAndRun(t, m)
			var all []string
			own := false
			for name, ids := range found.Invariants {
				all = append(all, ids...)
				own = own || strings.HasPrefix(name, m.id) && slices.Contains(ids, m.id)
			}
			slices.Sort(all)
			if diff := cmp.Diff([]string{m.id}, slices.Compact(all)); diff != "" || !own {
				t.Errorf("%s: %s; reported by scenario: %v", m.id, m.what, found.Invariants)
			}
			m.checkRecordings(t, found.Recordings)
			t.Logf("%s: explored: %v", m.id, found.Explored)
			if want := table[m.name()]; found.row() != want {
				t.Errorf("%s: an exploration finds %q, want %q; wrote %s", m.name(), found.row(), want, mutantTable)
				table[m.name()] = found.row()
				writeMutantTable(t, table)
			}
		})
	}
}

// mutantTable has the invariants that explorations find violated, by mutant.
const mutantTable = "testdata/mutants.tsv"

func (m mutant) name() string { return m.id + "\t" + m.what }

// row returns the invariants that the exploration found, with the number of runs until then, the earliest first.
func (f found) row() string {
	ids := slices.SortedFunc(maps.Keys(f.Explored), func(a, b string) int {
		if d := f.Explored[a].Runs - f.Explored[b].Runs; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for i, id := range ids {
		if n := f.Explored[id].Runs; n > 0 {
			ids[i] = fmt.Sprintf("%s after %d", id, n)
		}
	}
	return strings.Join(ids, ", ")
}

func readMutantTable(t *testing.T) map[string]string {
	t.Helper()
	src, err := os.ReadFile(mutantTable)
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]string{}
	for line := range strings.Lines(string(src)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(f) != 3 {
			t.Fatalf("%s: %q: want three columns", mutantTable, line)
		}
		table[f[0]+"\t"+f[1]] = f[2]
	}
	return table
}

// writeMutantTable writes a row for each mutant.
func writeMutantTable(t *testing.T, table map[string]string) {
	t.Helper()
	var out strings.Builder
	for _, m := range mutants {
		out.WriteString(m.name() + "\t" + table[m.name()] + "\n")
	}
	write(t, mutantTable, []byte(out.String()))
}

// TestMutantTable checks the table: each mutant has a row, and explorations find each invariant violated by a mutant
// that violates no other, except those of together.
func TestMutantTable(t *testing.T) {
	table := readMutantTable(t)
	alone := map[string]bool{}
	for _, m := range mutants {
		row, ok := table[m.name()]
		if !ok {
			t.Errorf("%s has no row for %q; run .ci/mutants", mutantTable, m.name())
		}
		ids := invariantID.FindAllString(row, -1)
		if !slices.Contains(ids, m.id) {
			t.Errorf("%s: an exploration finds only %q", m.name(), row)
		}
		alone[m.id] = alone[m.id] || slices.Equal(ids, []string{m.id})
	}
	for id, found := range alone {
		if reason := together[id]; found == (reason != "") {
			t.Errorf("%s is found alone: %t; together has the reason %q", id, found, reason)
		}
	}
	if len(table) != len(mutants) {
		t.Errorf("%s has %d rows, want one for each of %d mutants; run .ci/mutants", mutantTable, len(table), len(mutants))
	}
}

var invariantID = regexp.MustCompile(`INV-\d+`)

// survivors are recordings that do not fail with the mutant of an invariant that they show.
var survivors = []struct {
	id     string
	names  *regexp.Regexp
	reason string
}{
	{"INV-04", regexp.MustCompile(`^INV-04/`), "the id repeats within a response; the scenario INV-04-later shows a later one"},
	{"INV-07", regexp.MustCompile(`^INV-07/`), "no call is pending; those of INV-07-pending fail"},
	{"INV-11", regexp.MustCompile(`/openai-responses$`), "the codec derives the finish reason from the calls"},
	{"INV-12", regexp.MustCompile(`(chat|responses|messages|gemini)$`), "the responses are streaming; those that are not fail"},
	{"INV-16", regexp.MustCompile(`^INV-16-abandoned/`), "the tool outlives its grace period; those of INV-16 fail"},
	{"INV-25", regexp.MustCompile(`^INV-25-condition/`), "a condition ends the run before the limit; those of INV-25 fail"},
}

// checkRecordings checks that each recording that shows the invariant of the mutant has failed, except
// survivors.
func (m mutant) checkRecordings(t *testing.T, failed []string) {
	t.Helper()
	var own []string
	for _, r := range recordings(t) {
		if !slices.Contains(r.Shows, m.id) {
			continue
		}
		reason := ""
		for _, x := range survivors {
			if x.id == m.id && x.names.MatchString(r.Name) {
				reason = x.reason
			}
		}
		fails := slices.Contains(failed, r.Name)
		if fails {
			own = append(own, r.Name)
		}
		if fails == (reason != "") {
			t.Errorf("%s: %s; the recording %s fails: %t; survivors has the reason %q", m.id, m.what, r.Name, fails, reason)
		}
	}
	t.Logf("%s: %s; %d recordings fail, of this invariant: %s", m.id, m.what, len(failed), strings.Join(own, ", "))
}

// buildAndRun returns what the scenarios and the recordings report of the mutant.
func buildAndRun(t *testing.T, m mutant) (f found) {
	t.Helper()
	dir := t.TempDir()
	file, err := filepath.Abs(m.file)
	if err != nil {
		t.Fatal(err)
	}
	changed, overlay, report := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "report.json")
	write(t, changed, m.apply(t))
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, overlay, replace)
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-overlay", overlay, "-vet=off", "-timeout=5m", "-run", "^TestMutantReport$", ".")
	cmd.Env = append(os.Environ(), mutantReport+"="+report)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%v: %v\n%s", cmd, err, out)
	}
	data, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("the mutant wrote no report: %v", err)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestMutantReport runs in a changed loop and reports to TestMutants.
func TestMutantReport(t *testing.T) {
	to := os.Getenv(mutantReport)
	if to == "" {
		t.Skip("run by TestMutants alone")
	}
	f := found{Invariants: map[string][]string{}, Explored: exploredInvariants(t)}
	for _, path := range positives(t, "INV-") {
		if ids := idsOf(broken(t, path)); len(ids) > 0 {
			f.Invariants[id(path)] = ids
		}
	}
	for _, r := range recordings(t) {
		if !slices.ContainsFunc(transports, func(by cassettetest.Transport) bool { return len(problems(t, &r, by)) == 0 }) {
			f.Recordings = append(f.Recordings, r.Name)
		}
	}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, data)
}
