package page

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// spoken returns a row and its run, with a text of this number of bytes.
type spoken struct {
	row evals.Row
	run importer.Run
}

func spokenRun(i, size int, score float64, prompt string) spoken {
	return spoken{
		evals.Row{Case: fmt.Sprint("case ", i/2), Epoch: i % 2, File: "f", Line: i, Run: fmt.Sprint("run-", i), Scores: byName(map[string]float64{"m": score})},
		importer.Run{Messages: []llm.Message{system(prompt), llm.User(strings.Repeat("x", size))}},
	}
}

// names are the runs that are kept.
func names(r *Runs) []string {
	var names []string
	for id := range r.kept() {
		names = append(names, id.run)
	}
	slices.Sort(names)
	return names
}

// The runs that are kept are those that failed, then the others, up to the first that does
// not fit, whatever the order and however many are scored concurrently.
func TestKept(t *testing.T) {
	prompts := []string{strings.Repeat("p", 300), strings.Repeat("q", 500), "short"}
	rapid.Check(t, func(t *rapid.T) {
		all := []spoken{}
		for i := range rapid.IntRange(1, 12).Draw(t, "runs") {
			all = append(all, spokenRun(i, rapid.IntRange(0, 600).Draw(t, "size"), float64(rapid.IntRange(0, 1).Draw(t, "score")), rapid.SampledFrom(prompts).Draw(t, "prompt")))
		}
		limit := rapid.IntRange(0, 5000).Draw(t, "limit")
		r := NewRuns(limit)
		var group sync.WaitGroup
		for _, s := range rapid.Permutation(all).Draw(t, "order") {
			group.Go(func() { r.Add(&s.row, &s.run) })
			if rapid.Bool().Draw(t, "wait") {
				group.Wait()
			}
		}
		group.Wait()
		if diff := cmp.Diff(fitting(all, limit), names(r)); diff != "" {
			t.Fatalf("kept within %d bytes (-want +got):\n%s", limit, diff)
		}
		if r.isFull() != (len(names(r)) < len(all)) {
			t.Fatalf("full is %v", r.isFull())
		}
	})
}

// fitting returns the runs within the limit, by the documentation of Runs.
func fitting(all []spoken, limit int) (names []string) {
	size, prompts := 0, map[string]bool{}
	for _, score := range []float64{0, 1} {
		for _, s := range all {
			if s.row.Scores.Of("m") != score {
				continue
			}
			prompt := s.run.Messages[0].Text()
			if !prompts[prompt] && prompt != "short" {
				size += len(prompt)
			}
			prompts[prompt] = true
			size += len(lone(s).json)
			if size > limit {
				slices.Sort(names)
				return names
			}
			names = append(names, s.row.Run)
		}
	}
	slices.Sort(names)
	return names
}

// lone returns the transcript of a run without a limit.
func lone(s spoken) *said {
	r := NewRuns(1 << 20)
	r.Add(&s.row, &s.run)
	for _, said := range r.kept() {
		return said
	}
	return nil
}

func TestSucceeded(t *testing.T) {
	for name, c := range map[string]struct {
		row  evals.Row
		want bool
	}{
		"all":       {evals.Row{Scores: byName(map[string]float64{"a": 1, "b": 2})}, true},
		"one less":  {evals.Row{Scores: byName(map[string]float64{"a": 1, "b": 0.9})}, false},
		"none":      {evals.Row{}, false},
		"one wrong": {evals.Row{Scores: byName(map[string]float64{"a": 1}), Errors: byName(map[string]string{"b": "no"})}, false},
	} {
		if got := succeeded(&c.row); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestBeginning(t *testing.T) {
	ä := strings.Repeat("ä", 160)
	for text, want := range map[string]string{
		"":               "",
		"hello":          "hello",
		" \nhello\nmore": "hello",
		ä:                ä,
		ä + "x":          ä,
	} {
		if got := beginning([]entry{{Kind: kindSystem, Text: "no"}, {Kind: kindUser, Text: text}, {Kind: kindUser, Text: "later"}}); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// The entry of a call contains the run that the call started, with the runs that it started.
func TestStarted(t *testing.T) {
	below := func(name, parent, id string) *importer.Run {
		run := traced(name, trace.RunStart{Parent: &trace.Parent{Run: parent, ToolCallID: id}}, trace.ModelResponse{Message: llm.Assistant(call("c-"+name, "look", ""))})
		return run
	}
	r := NewRuns(1 << 20)
	for _, run := range []*importer.Run{below("r3", "r2", "c-r2"), below("r2", "r1", "c-r1"), below("r4", "r1", "nobody's"), traced("r1", trace.ModelResponse{Message: llm.Assistant(call("c-r1", "look", ""))})} {
		r.Add(&evals.Row{File: "f", Run: run.Name}, run)
	}
	called := func(name string, runs ...transcript) transcript {
		return transcript{Entries: []entry{{Kind: kindCall, Name: "look", ID: "c-" + name, Step: 1, Runs: runs}}}
	}
	want := called("r1", called("r2", called("r3")))
	want.Left = 1
	kept := slices.Collect(maps.Values(r.kept()))
	var got transcript
	if err := json.Unmarshal(kept[0].json, &got); err != nil || len(kept) != 1 {
		t.Fatalf("%d runs are kept: %v", len(kept), err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
	if !kept[0].cut || len(r.started) > 0 {
		t.Errorf("cut is %v, and %d runs wait", kept[0].cut, len(r.started))
	}
}

// The texts of many nested runs are limited, too.
func TestStartedTooMuch(t *testing.T) {
	run := traced("r1", trace.ModelResponse{Message: llm.Assistant(call("c", "look", ""))})
	whole := read(run)
	for range maxRun/maxText + 1 {
		whole.attach(startedRun{"c", read(traced("r2", trace.ModelRequest{NewMessages: []llm.Message{llm.User(strings.Repeat("x", maxText))}}))})
	}
	if n := len(whole.Entries[0].Runs); n != maxRun/maxText || whole.Left != 1 || whole.size != maxRun || whole.cut {
		t.Errorf("%d runs in %d bytes, %d omitted, cut is %v", n, whole.size, whole.Left, whole.cut)
	}
	whole = read(run)
	if whole.attach(startedRun{"c", read(traced("r2", trace.ModelRequest{NewMessages: []llm.Message{llm.User(strings.Repeat("x", maxText+1))}}))}); !whole.cut {
		t.Error("a text of a nested run is truncated, and its parent does not report it")
	}
}

// A long system prompt is stored once for all runs.
func TestShared(t *testing.T) {
	long := strings.Repeat("x", 200)
	r := NewRuns(1 << 20)
	for i, prompt := range []string{long, long, long[1:]} {
		s := spokenRun(i, 1, 1, prompt)
		r.Add(&s.row, &s.run)
	}
	if got := slices.Collect(maps.Values(r.shared)); !slices.Equal(got, []string{long}) {
		t.Errorf("shared are %q", got)
	}
	for id, s := range r.kept() {
		if _, found := strings.CutPrefix(string(s.json), `{"entries":[{"kind":"system","shared":"`); found != (id.line < 2) {
			t.Errorf("run %d: %s", id.line, s.json)
		}
	}
}

// byName returns the values of a map.
func byName[T any](of map[string]T) (b evals.ByName[T]) {
	text, err := json.Marshal(of)
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		panic(err)
	}
	return b
}
