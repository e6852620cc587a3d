package evals_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// traceRun is the trace of a run of eight steps with a tool call each, some 70 lines.
func traceRun(t testing.TB) []byte {
	t.Helper()
	result := llm.ToolResult{ID: "c", Content: []llm.Part{llm.Text{Text: strings.Repeat("some words of a page ", 20)}}}
	bodies := []trace.Body{
		trace.RunStart{},
		trace.ModelConfig{System: llm.SystemText("You are helpful.")},
	}
	next := []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "What is on page 7?"}}}}
	for step := range 8 {
		turn := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: "c", Name: "page", Arguments: `{"n":7}`}}}
		bodies = append(bodies,
			trace.StepStart{}, trace.ModelRequest{PrefixMessages: 2 * step, NewMessages: next},
			trace.ModelDelta{Type: trace.DeltaCall, ToolCallID: "c", Name: "page"}, trace.ModelDelta{Type: trace.DeltaArguments, ToolCallID: "c", Text: `{"n":7}`},
			trace.ModelResponse{Message: turn, FinishReason: llm.FinishToolCalls, Usage: llm.Usage{InputTokens: 900, OutputTokens: 20}},
			trace.ToolStart{ToolCallID: "c", Name: "page", Arguments: `{"n":7}`}, trace.ToolEnd{ToolCallID: "c", Outcome: trace.OutcomeOK, Result: result}, trace.StepEnd{})
		next = []llm.Message{turn, {Role: llm.RoleTool, Parts: []llm.Part{result}}}
	}
	text := []byte(traced(t, "run", append(bodies, trace.RunEnd{Steps: 8})...))
	_, events, _ := bytes.Cut(text, []byte("\n"))
	return events
}

// traces is a reader of a trace of n runs, with one run at a time in memory.
type traces struct {
	run  []byte
	n, i int
	rest []byte
}

func newTraces(t testing.TB, n int) *traces {
	return &traces{run: traceRun(t), n: n, rest: []byte(`{"format":"looptape-trace","version":1}` + "\n")}
}

func (r *traces) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.i == r.n {
			return 0, io.EOF
		}
		r.i++
		r.rest = bytes.ReplaceAll(r.run, []byte(`"run":"run"`), fmt.Appendf(nil, `"run":"run %d"`, r.i))
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *traces) Close() error { return nil }

// BenchmarkScoreTrace scores a trace, on one core.
func BenchmarkScoreTrace(b *testing.B) {
	src := newTraces(b, 200)
	text, err := io.ReadAll(src)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		score(b, evals.Input{Name: "f", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }})
	}
}

// BenchmarkScoreRows scores 20,000 rows, of 230 bytes each in CSV and 370 in JSON.
func BenchmarkScoreRows(b *testing.B) {
	columns := []string{"task_id", "trial", "model", "seed", "temperature", "question", "expected", "answer", "reward", "tokens", "seconds", "version"}
	var records, objects strings.Builder
	records.WriteString(strings.Join(columns, ",") + "\n")
	for i := range 20_000 {
		answer := fmt.Sprintf("%s%d", strings.Repeat("some words ", 5), i)
		row := []string{strconv.Itoa(i / 4), strconv.Itoa(i % 4), "m-mini", "7", "0.5", "What is it? " + answer, answer, answer, strconv.Itoa(i % 3 % 2), "270", "1.25", "v2"}
		for n, value := range row {
			_, _ = fmt.Fprintf(&objects, `%c%q:%q`, "{,"[min(n, 1)], columns[n], value)
		}
		objects.WriteString("}\n")
		records.WriteString(strings.Join(row, ",") + "\n")
	}
	for _, text := range []string{records.String(), objects.String()} {
		b.Run(map[byte]string{'t': "CSV", '{': "JSON Lines"}[text[0]], func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				score(b, file("f", text))
			}
		})
	}
}

// BenchmarkScoreTauAirline scores 200 runs of a benchmark, gzipped, and computes their
// statistics.
func BenchmarkScoreTauAirline(b *testing.B) {
	name := filepath.Join(os.Getenv("LOOPTAPE_SHARED"), "data", "tau-airline", "gpt-4o-airline.json.gz")
	if _, err := os.Stat(name); err != nil {
		b.Skip("the data set is not there; set LOOPTAPE_SHARED to where it is: ", err)
	}
	b.ReportAllocs()
	for b.Loop() {
		r := score(b, evals.Input{Name: name, Open: func() (io.ReadCloser, error) { return os.Open(name) }})
		if _, err := r.Summary(nil); err != nil {
			b.Fatal(err)
		}
	}
}

// manyRows is the file of a result of 20,000 runs.
func manyRows(b *testing.B) string {
	b.Helper()
	var words strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&words, "case-%d/%d=%d ", i/4, i%4, i*i%3%2)
	}
	return written(b, score(b, file("f", runs(words.String()))))
}

func BenchmarkReadResult(b *testing.B) {
	text := manyRows(b)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := evals.ReadResult("part", strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSummary(b *testing.B) {
	r := reread(b, score(b, file("part", manyRows(b))))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Summary(nil); err != nil {
			b.Fatal(err)
		}
	}
}
