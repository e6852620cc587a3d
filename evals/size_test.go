package evals

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// Every text of a run counts for its size, byte by byte, and every event and part counts
// for something.
func TestSizeOf(t *testing.T) {
	describePointers := func(parts ...llm.Part) *importer.Run {
		return &importer.Run{Messages: []llm.Message{{Parts: parts}, {Parts: parts}}}
	}
	did := func(body trace.Body) *importer.Run {
		return &importer.Run{Events: []trace.Event{{Body: body}, {Body: body}}}
	}
	result := func(text string) llm.ToolResult { return llm.ToolResult{Content: []llm.Part{llm.Text{Text: text}}} }
	for name, run := range map[string]func(text string) *importer.Run{
		"text":      func(text string) *importer.Run { return describePointers(llm.Text{Text: text}) },
		"reasoning": func(text string) *importer.Run { return describePointers(llm.Reasoning{Text: text}) },
		"media":     func(text string) *importer.Run { return describePointers(llm.Media{Data: []byte(text)}) },
		"call":      func(text string) *importer.Run { return describePointers(llm.ToolCall{Arguments: text}) },
		"result":    func(text string) *importer.Run { return describePointers(result(text)) },
		"unknown":   func(text string) *importer.Run { return describePointers(llm.Unknown{Raw: []byte(text)}) },
		"request": func(text string) *importer.Run {
			return did(trace.ModelRequest{NewMessages: []llm.Message{llm.User(text)}})
		},
		"turn": func(text string) *importer.Run {
			return did(trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: text})})
		},
		"delta":   func(text string) *importer.Run { return did(trace.ModelDelta{Text: text}) },
		"tool":    func(text string) *importer.Run { return did(trace.ToolEnd{Result: result(text)}) },
		"nothing": func(text string) *importer.Run { return did(trace.StepStart{}) },
	} {
		short, long := sizeOf(run("12")), sizeOf(run("1234567"))
		if want := 2 * 5; long-short != want && name != "nothing" {
			t.Errorf("%s: a text that is longer by %d counts %d more", name, want, long-short)
		}
		if least := 2 * (100 + 2); short < least {
			t.Errorf("%s: it counts %d, want %d at least", name, short, least)
		}
	}
}

// Of an input that is being read one largeRun run is in memory.
func TestLargeRunsAreAlone(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for size, want := range map[int]int64{largeRun / 2: 2, largeRun: 1} {
		synctest.Test(t, func(t *testing.T) {
			var now, most atomic.Int64
			scorer := ScorerFunc(func(context.Context, *importer.Run) []Score {
				now.Add(1)
				time.Sleep(time.Second) //nolint:forbidigo // of a bubble
				most.Store(max(most.Load(), now.Load()))
				now.Add(-1)
				return nil
			})
			var text strings.Builder
			for i := range 2 {
				fmt.Fprintf(&text, `{"case":"a","epoch":%d,"messages":[{"role":"user","content":"%s"}]}`+"\n", i, strings.Repeat("x", size))
			}
			in := Input{Name: "f", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text.String())), nil }}
			if _, err := ScoreFiles(t.Context(), []Input{in}, &Options{Scorers: []Scoring{{"waits", scorer}}}); err != nil {
				t.Fatal(err)
			}
			if got := most.Load(); got != want {
				t.Errorf("%d concurrent runs of %d bytes, want %d", got, size, want)
			}
		})
	}
}
