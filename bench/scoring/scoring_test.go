//go:build linux

// Package scoring measures the time and the peak memory of `looptape eval score`.
package scoring

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// BenchmarkScore scores generated traces with the given numbers of lines and of steps per run, and generated rows, on
// one core, and the τ-bench runs on all cores. It reports the best run: MB per second of processor
// time and of real time, and peak-MB, the largest resident set of the process.
func BenchmarkScore(b *testing.B) {
	looptape := filepath.Join(b.TempDir(), "looptape")
	build := exec.CommandContext(b.Context(), "go", "build", "-o", looptape, "./cmd/looptape")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %v\n%s", build, err, out)
	}
	for _, c := range []struct{ lines, steps int }{{100_000, 8}, {1_000_000, 8}, {1_000_000, 80}} {
		b.Run(fmt.Sprintf("lines=%d/steps=%d", c.lines, c.steps), func(b *testing.B) {
			suite, size := written(b, c.lines, c.steps)
			measure(b, size, "GOMAXPROCS=1", looptape, "eval", "score", suite)
		})
	}
	for _, c := range []struct {
		name  string
		count int
		row   func(i int) string
	}{
		{"rows.jsonl", 250_000, func(i int) string {
			return fmt.Sprintf(`{"case":"case-%d","epoch":%d,"score":%f,"model":"m","question":"What is the capital of country %d?","answer":"%s"}`,
				i/4, i%4, float64(i*7919%1000)/1000, i/4, strings.Repeat("It is some city. ", 7))
		}},
		{"rows.csv", 250_000, func(i int) string {
			return fmt.Sprintf(`case-%d,%d,%f,m,What is the capital of country %d?,"%s"`,
				i/4, i%4, float64(i*7919%1000)/1000, i/4, strings.Repeat("It is some city, or not. ", 7))
		}},
		{"short.csv", 1_000_000, func(i int) string { return fmt.Sprintf("case-%d,%d,%f,,,", i/4, i%4, float64(i*7919%1000)/1000) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			text := []byte("case,epoch,score,model,question,answer\n")
			if c.name == "rows.jsonl" {
				text = nil
			}
			for i := range c.count {
				text = append(append(text, c.row(i)...), '\n')
			}
			name := filepath.Join(b.TempDir(), c.name)
			if err := os.WriteFile(name, text, 0o600); err != nil {
				b.Fatal(err)
			}
			size := int64(len(text))
			measure(b, size, "GOMAXPROCS=1", looptape, "eval", "score", "--case", "/case", "--epoch", "/epoch", "--score", "s=/score", name)
		})
	}
	b.Run("tau-airline", func(b *testing.B) {
		shared := os.Getenv("LOOPTAPE_SHARED")
		if shared == "" {
			shared = filepath.Join("..", "..", "..", "shared")
		}
		name := filepath.Join(shared, "data", "tau-airline", "gpt-4o-airline.json.gz")
		if _, err := os.Stat(name); err != nil {
			b.Skip("missing data set: set LOOPTAPE_SHARED to its folder: ", err)
		}
		measure(b, 0, "", looptape, "eval", "score", name)
	})
}

// measure runs a command that reads size bytes.
func measure(b *testing.B, size int64, env string, name string, args ...string) {
	var clock, busy time.Duration
	peak := int64(0)
	for b.Loop() {
		debug.FreeOSMemory() // the peak of a child includes the memory of its parent at the start
		cmd := exec.CommandContext(b.Context(), name, args...)
		cmd.Env = append(os.Environ(), env)
		begun := b.Elapsed()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %v\n%s", cmd, err, out)
		}
		if took := b.Elapsed() - begun; clock == 0 || took < clock {
			clock = took
		}
		if took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); busy == 0 || took < busy {
			busy = took
		}
		peak = max(peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	}
	b.ReportMetric(float64(clock.Milliseconds()), "best-ms")
	b.ReportMetric(float64(peak)/1024, "peak-MB")
	if size > 0 {
		b.ReportMetric(float64(size)/1e6/busy.Seconds(), "MB/cpu-s")
		b.ReportMetric(float64(size)/1e6/clock.Seconds(), "MB/clock-s")
	}
}

// written writes a trace of about the given number of lines, and a suite that scores it. It
// returns the name of the suite and the size of the trace.
func written(b *testing.B, lines, steps int) (suite string, size int64) {
	b.Helper()
	dir := b.TempDir()
	suite = filepath.Join(dir, "eval.yaml")
	if err := os.WriteFile(suite, []byte("suite: 2\nruns: [runs.jsonl]\nscorers: [steps, refusal]\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "runs.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	header, events, _ := bytes.Cut(run(b, steps), []byte("\n"))
	text := append(header, '\n')
	for n := 1; ; n++ {
		if _, err := f.Write(text); err != nil {
			b.Fatal(err)
		}
		size += int64(len(text))
		if lines -= bytes.Count(text, []byte("\n")); lines <= 0 {
			break
		}
		text = bytes.ReplaceAll(events, []byte(`"run":"run"`), fmt.Appendf(nil, `"run":"run %d"`, n))
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return suite, size
}

// run returns the trace of a run with one call in each of its steps.
func run(b *testing.B, steps int) []byte {
	b.Helper()
	result := llm.ToolResult{ID: "c", Content: []llm.Part{llm.Text{Text: strings.Repeat("some words of a page ", 20)}}}
	bodies := []trace.Body{trace.RunStart{}, trace.ModelConfig{System: llm.SystemText("You are helpful.")}}
	next := []llm.Message{llm.User("What is on page 7?")}
	for step := range steps {
		response := llm.Assistant(llm.ToolCall{ID: "c", Name: "page", Arguments: `{"n":7}`})
		bodies = append(bodies,
			trace.StepStart{}, trace.ModelRequest{PrefixMessages: 2 * step, NewMessages: next},
			trace.ModelDelta{Type: trace.DeltaCall, ToolCallID: "c", Name: "page"}, trace.ModelDelta{Type: trace.DeltaArguments, ToolCallID: "c", Text: `{"n":7}`},
			trace.ModelResponse{Message: response, FinishReason: llm.FinishToolCalls, Usage: llm.Usage{InputTokens: 900, OutputTokens: 20}},
			trace.ToolStart{ToolCallID: "c", Name: "page", Arguments: `{"n":7}`}, trace.ToolEnd{ToolCallID: "c", Outcome: trace.OutcomeOK, Result: result}, trace.StepEnd{})
		next = []llm.Message{response, llm.ToolResults(result)}
	}
	var text bytes.Buffer
	w := trace.NewWriter(&text, trace.Header{Writer: "bench"})
	for i, body := range append(bodies, trace.RunEnd{Steps: steps}) {
		if err := w.Write(trace.Event{Seq: i, Run: "run", At: time.Duration(i) * time.Second, Body: body}); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return text.Bytes()
}
