package llm_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
)

// Calls are in the order of their ends, also two. A complete call ends where it comes, also between
// the start and the end of another one.
func TestOrderByEnd(t *testing.T) {
	two := []llm.Event{llm.ToolCallStart{ID: "c1", Name: "a"}, llm.ToolCallStart{ID: "c2", Name: "a"}}
	ends := []llm.Event{llm.ToolCallEnd{ID: "c2"}, llm.ToolCallEnd{ID: "c1"}}
	complete := llm.PartDone{Part: llm.ToolCall{ID: "c3", Name: "a", Arguments: "{}"}}
	for want, events := range map[string][]llm.Event{
		"c2c1":   slices.Concat(two, ends),
		"c3c2c1": slices.Concat(two, []llm.Event{complete}, ends),
	} {
		a := llm.Accumulator{OrderByEnd: true}
		for _, ev := range events {
			a.Add(ev)
		}
		ids := ""
		for _, c := range a.Response().Calls() {
			ids += c.ID
		}
		if ids != want {
			t.Errorf("got %s, want %s, the order of the ends", ids, want)
		}
	}
}

// AL-105: each call keeps the opaque data of its own start, or of its end.
func TestAccumulatorOpaqueOfCalls(t *testing.T) {
	for _, c := range []struct {
		byEnd  bool
		prefix string // of ids that the caller gives
	}{{false, ""}, {true, ""}, {false, "own-"}} {
		acc := llm.Accumulator{OrderByEnd: c.byEnd}
		if c.prefix != "" {
			acc.NewID = func(id string) (string, bool) { return c.prefix + id, true }
		}
		for _, ev := range []llm.Event{
			llm.ToolCallStart{ID: "c1", Name: "a", Opaque: []byte(`"s1"`)}, llm.ToolCallStart{Index: 1, ID: "c2", Name: "a", Opaque: []byte(`"s2"`)},
			llm.ToolCallStart{Index: 2, ID: "c3", Name: "a", Opaque: []byte(`"s3"`)}, llm.ToolCallStart{Index: 3, ID: "c4", Name: "a"},
			llm.ToolCallStart{Index: 4, ID: "c6"}, llm.ToolCallStart{Index: 4, Name: "a", Opaque: []byte(`"s6"`)}, llm.ToolCallEnd{Index: 4, ID: "c6"},
			llm.ToolCallEnd{Index: 1, ID: "c2"}, llm.ToolCallEnd{ID: "c1"}, llm.ToolCallEnd{Index: 2, ID: "c3", Opaque: []byte(`"e3"`)},
			llm.ToolCallEnd{Index: 3, ID: "c4", Opaque: []byte(`"e4"`)}, llm.PartDone{Part: llm.ToolCall{ID: "c5", Name: "a", Opaque: []byte(`"p5"`)}},
		} {
			acc.Add(ev)
		}
		got := map[string]string{}
		for _, call := range acc.Response().Calls() {
			got[strings.TrimPrefix(call.ID, c.prefix)] = string(call.Opaque)
		}
		if diff := cmp.Diff(map[string]string{"c6": `"s6"`, "c1": `"s1"`, "c2": `"s2"`, "c3": `"e3"`, "c4": `"e4"`, "c5": `"p5"`}, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c, diff)
		}
	}
}
