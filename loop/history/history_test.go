package history_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/layers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chars returns a user message of n characters.
func chars(n int) llm.Message { return llm.User(strings.Repeat("é", n)) }

// counted returns the metadata of a response with this number of input tokens.
func counted(input int64) history.Meta {
	return history.Meta{Model: "m", Usage: llm.Usage{InputTokens: input, OutputTokens: 3}, Latency: 1234567 * time.Microsecond}
}

// reply returns an assistant message of 8 characters, which is 2 tokens.
func reply() llm.Message { return llm.Assistant(llm.Text{Text: "a reply."}) }

func tokens(t *testing.T, h *history.History, want int64) {
	t.Helper()
	if got := h.EstimatedTokens(); got != want {
		t.Errorf("estimated %d tokens, want %d", got, want)
	}
}

// AL-70: without an anchor, all tokens are estimated, including the system prompt.
func TestAL70EstimateFromScratch(t *testing.T) {
	h := history.New("x")
	h.SetSystem("8 chars.")
	h.Append(chars(40), history.Meta{})
	tokens(t, h, 12)
	h.Append(reply(), history.Meta{})
	h.Append(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Media{MediaType: "image/png"}, llm.Text{Text: "abcd"}, llm.Media{MediaType: "audio/wav"}}}, history.Meta{})
	tokens(t, h, 12+2+501)
	for _, c := range []struct {
		part llm.Part
		want int64
	}{
		{llm.Text{}, 0}, {llm.Text{Text: "a"}, 1}, {llm.Text{Text: "abcd"}, 1}, {llm.Text{Text: "abcde"}, 2},
		{llm.Media{MediaType: "image/png"}, 250}, {llm.Media{MediaType: "audio/wav"}, 250}, {llm.Media{MediaType: "video/mp4"}, 250},
		{llm.Reasoning{Text: "12345"}, 2}, {llm.ToolCall{Name: "abc", Arguments: `{"x":1}`}, 3}, {llm.ToolCall{Name: "a", Arguments: "{}"}, 1},
		{llm.ToolResult{Content: []llm.Part{llm.Text{Text: "12345"}, llm.Media{}}}, 252},
		{llm.Unknown{Kind: "x", Raw: json.RawMessage(`{"type":"x"}`)}, 0},
	} {
		if got := history.Tokens([]llm.Part{c.part}); got != c.want {
			t.Errorf("%#v: got %d, want %d", c.part, got, c.want)
		}
	}
	if got := history.Tokens([]llm.Part{llm.Text{Text: "a"}, llm.Text{Text: "a"}}); got != 2 {
		t.Errorf("two parts of a character each: got %d, want each rounded up", got)
	}
}

// AL-71: with an anchor, only later messages are estimated. That includes the reply but not
// the system prompt.
func TestAL71Anchor(t *testing.T) {
	h := history.New("x")
	h.SetSystem("8 chars.")
	h.Append(chars(4000), history.Meta{})
	h.Append(reply(), counted(100))
	h.Append(llm.ToolResults(llm.ToolResult{Content: chars(40).Parts}), history.Meta{})
	tokens(t, h, 100+2+10)
	h.Append(reply(), counted(200))
	tokens(t, h, 200+2)
}

// AL-72: only an assistant message with input tokens moves the anchor. The first message of a
// history is never an anchor.
func TestAL72AnchorUpdates(t *testing.T) {
	h := history.New("x")
	h.Append(chars(40), history.Meta{})
	h.Append(reply(), counted(0))
	tokens(t, h, 12)
	h.Append(chars(4), counted(100))
	tokens(t, h, 13)
	h.Append(reply(), counted(100))
	h.Append(reply(), counted(0))
	tokens(t, h, 104)
	h.Append(reply(), counted(70)) // also a lower count
	tokens(t, h, 72)

	h = history.New("y")
	h.SetSystem("8 chars.")
	h.Append(reply(), counted(100))
	tokens(t, h, 2+2)
}

// AL-73: a token count can be recorded without a response.
func TestAL73RecordActualUsage(t *testing.T) {
	h := history.New("x")
	h.SetSystem("8 chars.")
	h.RecordActualUsage(50)
	tokens(t, h, 2)
	h.Append(chars(40), history.Meta{})
	h.RecordActualUsage(77)
	tokens(t, h, 77)
	h.Append(reply(), history.Meta{})
	tokens(t, h, 79)
	h.RecordActualUsage(60) // also a lower count
	tokens(t, h, 60)
	h.RecordActualUsage(0)
	tokens(t, h, 0)
}

func five() *history.History {
	h := history.New("x")
	for i := range 5 {
		h.Append(llm.User(fmt.Sprint(i)), history.Meta{Model: fmt.Sprint("m", i)})
	}
	return h
}

// texts returns the texts of the entries with their indexes.
func texts(entries []history.Entry) (out []string) {
	for _, e := range entries {
		out = append(out, fmt.Sprint(e.Index, ":", e.Message.Text(), "/", e.Meta.Model))
	}
	return out
}

// AL-74: one message replaces a range, later messages move up, and the removed entries are
// returned.
func TestAL74SpliceRange(t *testing.T) {
	h := five()
	messages, entries := h.Messages(), h.Entries()
	removed, err := h.SpliceRange(1, 4, llm.User("summary"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1:1/m1", "2:2/m2", "3:3/m3"}, texts(removed)); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"0:0/m0", "1:summary/", "2:4/m4"}, texts(h.Entries())); diff != "" || h.Len() != 3 {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if e := h.Append(llm.User("5"), history.Meta{}); e.Index != 3 {
		t.Errorf("the next message has the index %d, want 3", e.Index)
	}
	if got := h.Messages(); len(got) != 4 || got[1].Text() != "summary" || got[3].Text() != "5" {
		t.Errorf("the messages are %+v", got)
	}
	if messages[1].Text() != "1" || entries[4].Index != 4 || len(messages) != 5 {
		t.Error("a returned value has changed")
	}
	h = five()
	for _, r := range [][2]int{{-1, 2}, {0, 6}, {2, 2}, {3, 2}} {
		removed, err := h.SpliceRange(r[0], r[1], llm.User("x"))
		want := fmt.Sprintf("history: SpliceRange(%d, %d) of 5 messages: the range must be within them and hold one at least", r[0], r[1])
		if err == nil || err.Error() != want || removed != nil || h.Len() != 5 {
			t.Errorf("%v: took out %v, error %v", r, removed, err)
		}
	}
	if removed, err := h.SpliceRange(0, 5, llm.User("all")); err != nil || len(removed) != 5 || h.Len() != 1 {
		t.Errorf("all messages: removed %d, %v", len(removed), err)
	}
	if n := h.Splices(); n != 1 { // failed splices do not count
		t.Errorf("got %d splices", n)
	}
}

// AL-75: a splice at or before the message of the anchor removes the anchor, a later one does
// not.
func TestAL75SpliceAndAnchor(t *testing.T) {
	for _, c := range []struct {
		from, to int
		want     int64
	}{{0, 2, 5}, {3, 4, 6}, {2, 5, 4}, {4, 6, 101}, {5, 6, 102}} {
		h := history.New("x")
		for range 4 {
			h.Append(chars(4), history.Meta{})
		}
		h.RecordActualUsage(100) // the anchor is at message 3
		h.Append(chars(4), history.Meta{})
		h.Append(chars(4), history.Meta{})
		if _, err := h.SpliceRange(c.from, c.to, chars(4)); err != nil {
			t.Fatal(err)
		}
		if got := h.EstimatedTokens(); got != c.want {
			t.Errorf("SpliceRange(%d, %d): got %d tokens, want %d", c.from, c.to, got, c.want)
		}
	}
}

// AL-76: a fork is independent, and its layers have no subscribers.
func TestAL76Fork(t *testing.T) {
	h := five()
	h.SetSystem("role")
	h.SetMetadata("k", "v")
	h.RecordActualUsage(9)
	told := 0
	h.Layers().Subscribe(func(layers.Change) { told++ })
	fork := h.Fork("y")
	if fork.ID() != "y" || h.Fork("").ID() != "x" {
		t.Errorf("the forks are called %q and %q", fork.ID(), h.Fork("").ID())
	}
	if diff := cmp.Diff(h.Entries(), fork.Entries()); diff != "" || fork.System() != "role" || fork.Metadata()["k"] != "v" {
		t.Errorf("the fork: system %q, metadata %v (-of +fork):\n%s", fork.System(), fork.Metadata(), diff)
	}
	tokens(t, fork, 9)
	before := h.Export()
	fork.Append(llm.User("more"), history.Meta{})
	fork.SetSystem("another role")
	fork.SetMetadata("k", "w")
	if _, err := fork.SpliceRange(0, 3, llm.User("summary")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, h.Export()); diff != "" || told != 0 {
		t.Errorf("the fork changed its parent, or notified its subscribers (%d) (-before +after):\n%s", told, diff)
	}
	if fork.System() != "another role" || fork.Len() != 4 || fork.Metadata()["k"] != "w" {
		t.Errorf("the fork: system %q, %d messages, metadata %v", fork.System(), fork.Len(), fork.Metadata())
	}
}

// AL-76: messages appended to a fork do not appear in the original, and vice versa.
func TestAL76ForkIsIndependent(t *testing.T) {
	h := history.New("x")
	for range 3 { // leaves spare capacity in the slice
		h.Append(llm.User("before"), history.Meta{})
	}
	fork := h.Fork("y")
	fork.Append(llm.User("to the fork"), history.Meta{})
	h.Append(llm.User("to the other"), history.Meta{})
	fork.Entries()[0].Message.Parts[0] = llm.Text{Text: "changed"}
	if e, m := h.Entries()[0].Message.Text(), h.Messages()[0].Text(); e != "before" || m != "before" {
		t.Errorf("a change of a part of the fork: the other has %q and %q", e, m)
	}
	for want, is := range map[string]*history.History{"to the fork": fork, "to the other": h} {
		if e, m := is.Entries()[3].Message.Text(), is.Messages()[3].Text(); e != want || m != want {
			t.Errorf("got %q and %q, want %q", e, m, want)
		}
	}
}

// AL-69: the open calls are those of the last response that have no results.
func TestOpen(t *testing.T) {
	call := func(ids ...string) llm.Message {
		var parts []llm.Part
		for _, id := range ids {
			parts = append(parts, llm.ToolCall{ID: id, Name: "a"})
		}
		return llm.Assistant(parts...)
	}
	result := func(ids ...string) llm.Message {
		var list []llm.ToolResult
		for _, id := range ids {
			list = append(list, llm.ToolResult{ID: id})
		}
		return llm.ToolResults(list...)
	}
	for name, c := range map[string]struct {
		list []llm.Message
		want string
	}{
		"nothing":                {nil, "-1"},
		"a text":                 {[]llm.Message{llm.User("u"), llm.Assistant(llm.Text{Text: "x"})}, "-1"},
		"none answered":          {[]llm.Message{llm.User("u"), call("1", "2")}, "1 1 2"},
		"all answered":           {[]llm.Message{call("1", "2"), result("1", "2")}, "-1"},
		"one by one":             {[]llm.Message{call("1", "2"), result("2"), result("1")}, "-1"},
		"some answered":          {[]llm.Message{llm.User("u"), call("1", "2", "3"), result("2")}, "1 1 3"},
		"data after it":          {[]llm.Message{call("1"), llm.User("u")}, "-1"},
		"results without a call": {[]llm.Message{result("1")}, "-1"},
	} {
		h := history.New("x")
		for _, m := range c.list {
			h.Append(m, history.Meta{})
		}
		turn, calls := h.Open()
		got := fmt.Sprint(turn)
		for _, c := range calls {
			got += " " + c.ID
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// AL-77: a snapshot survives a JSON round trip without loss. A snapshot of the old form has a
// system prompt and no layers.
func TestAL77ExportImport(t *testing.T) {
	h := five()
	opaque := json.RawMessage(`{"k":"v"}`)
	h.Append(llm.Message{Role: llm.RoleAssistant, Opaque: opaque, Parts: []llm.Part{
		llm.Reasoning{Text: "hm", Opaque: opaque}, llm.Text{Text: "so", Opaque: opaque}, llm.Media{MediaType: "image/png", Data: []byte{1}}, llm.Unknown{Kind: "x", Raw: opaque},
		llm.ToolCall{ID: "c", Name: "a", Arguments: `{"n":1}`, ProviderID: "p", IDGenerated: true, Opaque: opaque},
	}}, history.Meta{Model: "m", Usage: llm.Usage{OutputTokens: 1, CacheReadInputTokens: 2, CacheCreationInputTokens: 3, ReasoningOutputTokens: 4}, Latency: time.Second})
	h.Append(llm.ToolResults(llm.ToolResult{ID: "c", Name: "a", IsError: true, Content: []llm.Part{llm.Text{Text: "no"}, llm.Media{MediaType: "image/png", URL: "u"}}, Opaque: opaque}), history.Meta{})
	h.Append(reply(), counted(100))
	h.SetSystem("role")
	if err := h.Layers().Set(layers.Fixed(layers.ContextName, "task", "me")); err != nil {
		t.Fatal(err)
	}
	h.SetMetadata("k", []any{"v", 1.0})
	exported := h.Export()
	h.SetMetadata("later", true)
	if n := len(exported.Metadata); n != 1 {
		t.Errorf("a snapshot has %d values after a later change, want 1", n)
	}
	back := through(t, exported)
	back.SetMetadata("later", true)
	if direct, err := history.Import(exported); err != nil {
		t.Error(err)
	} else if direct.SetMetadata("later", true); len(exported.Metadata) != 1 {
		t.Error("an imported history changes the snapshot")
	}
	if diff := cmp.Diff(h.Export(), back.Export()); diff != "" {
		t.Errorf("after a round trip (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(h.Entries(), back.Entries()); diff != "" {
		t.Errorf("the entries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(h.Messages(), back.Messages()); diff != "" || back.ID() != "x" || back.System() != "role\n\ntask" {
		t.Errorf("the messages; id %q, system %q (-want +got):\n%s", back.ID(), back.System(), diff)
	}
	tokens(t, back, 102)
	if got := back.Metadata(); !cmp.Equal(got, map[string]any{"k": []any{"v", 1.0}, "later": true}) {
		t.Errorf("the metadata: %v", got)
	}
	h.RecordActualUsage(300) // the anchor is at the last message
	parent := new(layers.Registry)
	merged := layers.Layer{Name: "own", Content: []llm.Part{llm.Text{Text: "a"}, llm.Media{MediaType: "image/png", URL: "u"}}, Priority: 3, MergeParent: true, Metadata: map[string]any{"m": "n"}}
	if err := errors.Join(parent.Set(layers.Layer{Name: "of the parent"}), h.Layers().Set(merged), h.Layers().SetParent(parent)); err != nil {
		t.Fatal(err)
	}
	back = through(t, h.Export())
	tokens(t, back, 300)
	if l, ok := back.Layers().Get("own"); !ok || !cmp.Equal(l, merged) {
		t.Errorf("the layer %+v", l)
	}
	if _, ok := back.Layers().Get("of the parent"); ok {
		t.Error("the snapshot has a layer of the parent")
	}
	one := history.New("one")
	one.Append(chars(40), history.Meta{})
	one.RecordActualUsage(77)
	tokens(t, through(t, one.Export()), 77)
	if empty := through(t, history.New("z").Export()); empty.Len() != 0 || empty.System() != "" {
		t.Errorf("an empty history came back as %+v", empty.Export())
	}

	var old history.Snapshot
	if err := json.Unmarshal([]byte(`{"id":"old","system":"flat","entries":[{"message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}]}`), &old); err != nil {
		t.Fatal(err)
	}
	h, err := history.Import(old)
	if err != nil {
		t.Fatal(err)
	}
	if l, ok := h.Layers().Get("_legacy_system"); !ok || l.Priority != 50 || h.System() != "flat" || h.Messages()[0].Text() != "hi" {
		t.Errorf("the old form: layer %+v, system %q", l, h.System())
	}
	if h.SetMetadata("k", 1); h.Metadata()["k"] != 1 {
		t.Error("an imported history takes no metadata")
	}
	old.Registry = []layers.Layer{layers.Fixed(layers.SystemName, "new", "")}
	if h, err := history.Import(old); err != nil || h.System() != "new" {
		t.Errorf("both forms: system %q, %v", h.System(), err)
	}
	foreign := `{"id":"x","entries":[{"message":{"role":"user","content":"hi"}}]}`
	if err := json.Unmarshal([]byte(foreign), new(history.Snapshot)); err == nil || !strings.Contains(err.Error(), `a message has no "parts"`) {
		t.Errorf("messages in another form: %v", err)
	}
	old.Registry = []layers.Layer{{}}
	if _, err := history.Import(old); err == nil || err.Error() != "history: Import: Registry[0]: layers: Set needs a layer with a Name" {
		t.Errorf("a layer without a name: %v", err)
	}
	for _, at := range []int{-1, 1} {
		_, err := history.Import(history.Snapshot{Entries: old.Entries, Anchor: &history.Anchor{Total: 1, Index: at}})
		if want := fmt.Sprintf("history: Import: the anchor is at message %d of 1; take it out, and all is estimated", at); err == nil || err.Error() != want {
			t.Errorf("an anchor at %d: %v", at, err)
		}
	}
}

func through(t *testing.T, s history.Snapshot) *history.History {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back history.Snapshot
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	h, err := history.Import(back)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// AL-104: Append returns the entry with its index, message and metadata. A change of a returned list
// changes nothing.
func TestAL104Entries(t *testing.T) {
	h := history.New("conv")
	metas := []history.Meta{{}, {Model: "m", Usage: llm.Usage{InputTokens: 3}, Latency: 5}, {}}
	messages := []llm.Message{llm.User("a"), llm.Assistant(llm.Text{Text: "b"}), llm.User("c")}
	var want []history.Entry
	for i, m := range messages {
		e := history.Entry{Index: i, Message: m, Meta: metas[i]}
		if diff := cmp.Diff(e, h.Append(m, metas[i])); diff != "" {
			t.Errorf("entry %d (-want +got):\n%s", i, diff)
		}
		want = append(want, e)
	}
	list, entries := h.Messages(), h.Entries()
	list[0], entries[1] = llm.User("changed"), history.Entry{Index: 7}
	_ = append(list, llm.User("appended"))
	if diff := cmp.Diff(want, h.Entries()); diff != "" || h.Len() != 3 || h.ID() != "conv" {
		t.Errorf("the history %s with %d messages (-want +got):\n%s", h.ID(), h.Len(), diff)
	}
	if diff := cmp.Diff(messages, h.Messages()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if err := h.Layers().Set(layers.Fixed(layers.SystemName, "role", "")); err != nil || h.System() != "role" {
		t.Errorf("the registry is not that of the history: %q, %v", h.System(), err)
	}
}

// AL-78: System returns the composed prompt, and SetSystem sets a layer of its own.
func TestAL78System(t *testing.T) {
	h := history.New("x")
	if got := h.System(); got != "" {
		t.Errorf("of a new history: %q", got)
	}
	for _, l := range []layers.Layer{layers.Fixed(layers.SystemName, "role", ""), layers.Fixed(layers.ContextName, "task", ""), {Name: "note", Content: []llm.Part{llm.Text{Text: "not for the model"}}}} {
		if err := h.Layers().Set(l); err != nil {
			t.Fatal(err)
		}
	}
	h.SetSystem("older")
	h.SetSystem("legacy")
	parent := new(layers.Registry)
	if err := errors.Join(parent.Set(layers.Layer{Name: "p", Content: []llm.Part{llm.Text{Text: "of the parent"}}, Priority: 70, Tags: []string{layers.SystemTag}}), h.Layers().SetParent(parent)); err != nil {
		t.Fatal(err)
	}
	if got := h.System(); got != "role\n\nlegacy\n\nof the parent\n\ntask" {
		t.Errorf("got %q", got)
	}
	if l, _ := h.Layers().Get("_legacy_system"); l.Text() != "legacy" || l.Priority != 50 {
		t.Errorf("the layer is %+v", l)
	}
}

// A returned slice has no spare capacity that a later Append writes to.
func TestReturnedValuesAreNotShared(t *testing.T) {
	h := five()
	for range 4 {
		messages, entries := h.Messages(), h.Entries()
		h.Append(llm.User("next"), history.Meta{})
		_ = append(messages, llm.User("spoilt"))
		_ = append(entries, history.Entry{Message: llm.User("spoilt")})
	}
	for i, e := range h.Entries()[5:] {
		if e.Message.Text() != "next" || h.Messages()[5+i].Text() != "next" {
			t.Errorf("message %d is %q and %q", e.Index, e.Message.Text(), h.Messages()[5+i].Text())
		}
	}
}

// After any appends and splices, indexes are consecutive, both lists agree, and a round trip
// does not change the estimate.
func TestHistoryProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := history.New("x")
		for range rapid.IntRange(0, 15).Draw(rt, "n") {
			n := h.Len()
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				h.Append(chars(rapid.IntRange(0, 9).Draw(rt, "chars")), history.Meta{})
			case 1:
				h.Append(reply(), counted(rapid.Int64Range(0, 99).Draw(rt, "input")))
			case 2:
				h.RecordActualUsage(rapid.Int64Range(0, 99).Draw(rt, "input"))
			default:
				from, to := rapid.IntRange(-1, n+1).Draw(rt, "from"), rapid.IntRange(-1, n+1).Draw(rt, "to")
				removed, err := h.SpliceRange(from, to, reply())
				if want := n - len(removed) + 1; err == nil && h.Len() != want || err != nil && h.Len() != n {
					rt.Fatalf("SpliceRange(%d, %d) of %d: %d are left, error %v", from, to, n, h.Len(), err)
				}
			}
		}
		for i, e := range h.Entries() {
			if e.Index != i || !cmp.Equal(e.Message, h.Messages()[i]) {
				rt.Fatalf("entry %d is %+v, message %+v", i, e, h.Messages()[i])
			}
		}
		if got, want := through(t, h.Export()).EstimatedTokens(), h.EstimatedTokens(); got != want {
			rt.Fatalf("after a round trip %d tokens, before %d", got, want)
		}
		if !slices.EqualFunc(h.Fork("").Messages(), h.Messages(), func(a, b llm.Message) bool { return cmp.Equal(a, b) }) {
			rt.Fatal("a fork has other messages")
		}
	})
}

// The calls of the first message are open, too.
func TestOpenFirstMessage(t *testing.T) {
	h := history.New("h")
	h.Append(llm.Assistant(llm.ToolCall{ID: "c1", Name: "a"}), history.Meta{})
	if turn, calls := h.Open(); turn != 0 || len(calls) != 1 || calls[0].ID != "c1" {
		t.Errorf("Open = %d, %v, want the call c1 of message 0", turn, calls)
	}
}
