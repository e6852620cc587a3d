package uistream_test

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/loop/uistream"
	"github.com/looptape/looptape/trace"
)

// reader checks the requirements of the readers of a stream.
type reader struct {
	n, ends  int
	inStep   bool
	open     string            // the id of the open text or reasoning
	calls    map[string]string // the state of each call of the step
	problems []string
}

func (r *reader) expect(ok bool, p uistream.Part, what string) {
	if !ok {
		r.problems = append(r.problems, fmt.Sprintf("part %d, %s: %s", r.n, p.Type, what))
	}
}

func (r *reader) read(p uistream.Part) {
	r.n++
	r.expect(r.ends == 0, p, "after the end")
	r.expect((p.Type == "start") == (r.n == 1), p, "start is first, and there alone")
	state := r.calls[p.ToolCallID]
	switch p.Type {
	case "start":
	case "start-step":
		r.expect(!r.inStep, p, "within a step")
		r.inStep, r.calls = true, map[string]string{}
	case "finish-step":
		r.expect(r.inStep && r.open == "", p, "no step, or something is under way")
		r.inStep = false
		for id, s := range r.calls {
			r.expect(s != "begun", p, id+" was begun and not ended")
		}
	case "text-start", "reasoning-start":
		r.expect(r.inStep && r.open == "", p, "no step, or something is under way")
		r.open = p.ID
	case "text-delta", "reasoning-delta":
		r.expect(r.open == p.ID && p.Delta != "", p, "of nothing that is under way, or empty")
	case "text-end", "reasoning-end":
		r.expect(r.open == p.ID, p, "of nothing that is under way")
		r.open = ""
	case "tool-input-start":
		r.expect(r.inStep && state == "", p, "no step, or begun before")
		r.calls[p.ToolCallID] = "begun"
	case "tool-input-delta":
		r.expect(state == "begun", p, "was not begun")
	case "tool-input-available":
		r.expect(r.inStep && (state == "" || state == "begun"), p, "no step, or there before")
		r.calls[p.ToolCallID] = "there"
	case "tool-input-error":
		r.expect(r.inStep && (state == "" || state == "begun"), p, "no step, or there before")
		r.calls[p.ToolCallID] = "over"
	case "tool-output-available", "tool-output-error":
		r.expect(state == "there", p, "of no call that is there")
		r.calls[p.ToolCallID] = "over"
	case "error":
	case "finish", "abort":
		r.expect(!r.inStep, p, "within a step")
		r.ends++
	case "file", "message-metadata":
	default:
		r.expect(false, p, "there is no such part")
	}
}

// Each scenario gives a stream that readers accept, with streaming and non-streaming
// responses.
func TestProtocol(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "*", "*.txtar"))
	if err != nil || len(files) < 100 {
		t.Fatalf("got %d scenarios, %v", len(files), err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := scenario.Parse(file, src)
		if err != nil {
			t.Fatal(err)
		}
		o, err := scenario.Run(t.Context(), f.Script, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, events := range map[string][]trace.Event{"deltas": o.Events, "whole": slices.DeleteFunc(slices.Clone(o.Events), isDelta)} {
			var r reader
			var text strings.Builder
			for p := range uistream.Parts(live(events), uistream.Options{}) {
				r.read(p)
				if p.Type == "text-delta" {
					text.WriteString(p.Delta)
				}
			}
			if r.problems != nil || r.ends != 1 {
				t.Errorf("%s, %s: %d ends; %s", file, name, r.ends, strings.Join(r.problems, "; "))
			}
			if o.Run != nil && o.Err == nil && !strings.HasSuffix(text.String(), o.Run.Text) {
				t.Errorf("%s, %s: got the text %q, which does not end with %q", file, name, text.String(), o.Run.Text)
			}
		}
	}
}

func isDelta(ev trace.Event) bool {
	_, is := ev.Body.(trace.ModelDelta)
	return is
}

func live(events []trace.Event) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}
