package layers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"weak"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/layers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text returns the Content of a layer with one text.
func text(text string) []llm.Part { return []llm.Part{llm.Text{Text: text}} }

// system returns a layer with the tag of system prompts.
func system(name, content string, priority int) layers.Layer {
	return layers.Layer{Name: name, Content: text(content), Priority: priority, Tags: []string{layers.SystemTag}}
}

func set(t *testing.T, r *layers.Registry, list ...layers.Layer) *layers.Registry {
	t.Helper()
	for _, l := range list {
		if err := r.Set(l); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// AL-79: Get returns the layer that was set. Setting the same name again replaces all of it.
func TestAL79Layer(t *testing.T) {
	full := layers.Layer{
		Name: "a", Content: []llm.Part{llm.Text{Text: "x"}, llm.Media{MediaType: "image/png", Data: []byte{1}}}, Priority: 7,
		Tags: []string{"system", "t"}, Owner: "me", MergeParent: true, Metadata: map[string]any{"k": "v"},
	}
	r := set(t, new(layers.Registry), full)
	got, ok := r.Get("a")
	if diff := cmp.Diff(full, got); diff != "" || !ok {
		t.Errorf("got back, ok=%v (-want +got):\n%s", ok, diff)
	}
	set(t, r, system("b", "B", 7), system("a", "A", 7))
	if got := r.Flat(layers.View{}); got != "A\n\nB" {
		t.Errorf("after setting a again: got %q, want it at its old place", got)
	}
	if got, _ := r.Get("a"); got.Owner != "" || got.MergeParent || got.Metadata != nil {
		t.Errorf("something of the old layer is left: %+v", got)
	}
	below := new(layers.Registry)
	if err := below.SetParent(r); err != nil {
		t.Fatal(err)
	}
	for _, reg := range []*layers.Registry{r, below} {
		if _, ok := reg.Get("c"); ok {
			t.Error("got a layer that was never set")
		}
	}
	if l, ok := below.Get("a"); ok {
		t.Errorf("Get returned a layer of the parent: %+v", l)
	}
	if err := r.Set(layers.Layer{}); !errors.Is(err, layers.ErrNoName) || err.Error() != "layers: Set needs a layer with a Name" {
		t.Errorf("a layer without a name: got %v", err)
	}
	if !r.Remove("a") || r.Remove("a") || r.Flat(layers.View{}) != "B" {
		t.Errorf("after Remove: %q", r.Flat(layers.View{}))
	}
}

// The registry shares no layer with its caller.
func TestLayersAreCopies(t *testing.T) {
	l := layers.Layer{Name: "a", Content: text("x"), Tags: []string{"system"}, Metadata: map[string]any{"k": "v"}}
	r := set(t, new(layers.Registry), l)
	spoil := func(l layers.Layer) {
		l.Content[0], l.Tags[0], l.Metadata["k"] = llm.Text{Text: "spoilt"}, "spoilt", "spoilt"
	}
	spoil(l)
	for _, list := range [][]layers.Layer{r.Own(), r.Visible()} {
		spoil(list[0])
	}
	got, _ := r.Get("a")
	spoil(got)
	got, _ = r.Get("a")
	if diff := cmp.Diff(layers.Layer{Name: "a", Content: text("x"), Tags: []string{"system"}, Metadata: map[string]any{"k": "v"}}, got); diff != "" {
		t.Errorf("the layer in the registry (-want +got):\n%s", diff)
	}
}

// AL-80: layers are sorted by priority, then in the order of insertion. A tag selects layers.
// Layers without text and parts that are not text are omitted.
func TestAL80Flat(t *testing.T) {
	r := set(t, new(layers.Registry), system("c", "100", 100), system("a", "10", 10), system("z", "50", 50),
		system("b2", "50 too", 50), system("empty", "", 20),
		layers.Layer{Name: "other", Content: text("other"), Priority: 1, Tags: []string{"x"}},
		layers.Layer{Name: "parts", Content: []llm.Part{llm.Text{Text: "p"}, llm.Media{MediaType: "image/png"}, llm.Text{Text: "q"}}, Priority: 200, Tags: []string{"x", "system"}})
	for name, c := range map[string]struct {
		view layers.View
		want string
	}{
		"tag":       {layers.View{Tag: "system"}, "10\n\n50\n\n50 too\n\n100\n\npq"},
		"all":       {layers.View{}, "other\n\n10\n\n50\n\n50 too\n\n100\n\npq"},
		"separator": {layers.View{Tag: "x", Separator: "|"}, "other|pq"},
		"none":      {layers.View{Tag: "y"}, ""},
	} {
		if got := r.Flat(c.view); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	var many layers.Registry // enough for a sort that is not stable to change their order
	var even, odd []string
	for i := range 100 {
		name := strconv.Itoa(i)
		set(t, &many, system(name, name, i%2))
		if i%2 == 0 {
			even = append(even, name)
		} else {
			odd = append(odd, name)
		}
	}
	if got, want := many.Flat(layers.View{}), strings.Join(append(even, odd...), "\n\n"); got != want {
		t.Errorf("many layers of equal priority: got %q, want the order in which they were set", got)
	}
}

// AL-106: the text of the layers with a tag or of all, with the parent or without, and with another
// separator. Without the parent, a layer that is merged with the parent's has only its own content.
func TestAL106Flat(t *testing.T) {
	parent, child := new(layers.Registry), new(layers.Registry)
	if err := errors.Join(
		parent.Set(layers.Layer{Name: "P", Content: words("p"), Priority: 1, Tags: []string{"x"}}),
		child.Set(layers.Layer{Name: "A", Content: words("a"), Priority: 2, Tags: []string{"x"}}),
		child.Set(layers.Layer{Name: "B", Content: words("b"), Priority: 3, Tags: []string{"xy"}}),
		parent.Set(layers.Layer{Name: "M", Content: words("pm"), Priority: 4}),
		child.Set(layers.Layer{Name: "M", Content: words("m"), Priority: 4, MergeParent: true}),
		child.SetParent(parent),
	); err != nil {
		t.Fatal(err)
	}
	for want, view := range map[string]layers.View{
		"p\n\na\n\nb\n\npm\n\nm": {},
		"p\n\na":                 {Tag: "x"},
		"a\n\nb\n\nm":            {OwnOnly: true},
		"a":                      {Tag: "x", OwnOnly: true},
		"p | a | b | pm\n\nm":    {Separator: " | "},
		"p | a":                  {Separator: " | ", Tag: "x"},
		"a | b | m":              {Separator: " | ", OwnOnly: true},
	} {
		if got := child.Flat(view); got != want {
			t.Errorf("%+v: got %q, want %q", view, got, want)
		}
	}
}

func words(text string) []llm.Part { return []llm.Part{llm.Text{Text: text}} }

// AL-81: the three fixed layers, their priorities and their order.
func TestAL81FixedLayers(t *testing.T) {
	r := set(t, new(layers.Registry), layers.Fixed(layers.ContextName, "task", "o"), layers.Fixed(layers.LegacyName, "old", "o"), layers.Fixed(layers.SystemName, "role", "o"))
	var got []string
	for _, l := range r.Visible() {
		got = append(got, fmt.Sprint(l.Name, " ", l.Priority, " ", l.Tags, " ", l.Owner, " ", l.Text()))
	}
	want := []string{"agentloop.system 10 [system] o role", "_legacy_system 50 [system] o old", "agentloop.context 100 [system] o task"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("layers (-want +got):\n%s", diff)
	}
}

// AL-82: the stable layers are one part with a cache mark, before the dynamic layers.
func TestAL82Parts(t *testing.T) {
	at := func(name string, priority int) layers.Layer { return system(name, name, priority) }
	other := at("other", 5)
	other.Tags = nil
	for _, c := range []struct {
		name   string
		layers []layers.Layer
		want   llm.System
	}{
		{"no layer", nil, nil},
		{"stable and dynamic layers", []layers.Layer{at("C", 100), at("S", 10), at("L", 99), at("D", 200)}, llm.System{{Text: "S\n\nL", CacheMark: true}, {Text: "C\n\nD"}}},
		{"no dynamic layer", []layers.Layer{at("S", 10), at("L", 50)}, llm.System{{Text: "S\n\nL", CacheMark: true}}},
		{"no stable layer", []layers.Layer{at("C", 100)}, llm.SystemText("C")},
		{"empty layers", []layers.Layer{system("S", "", 10), at("C", 100), system("D", "", 101)}, llm.SystemText("C")},
		{"a layer that is not of the prompt", []layers.Layer{other, at("C", 100)}, llm.SystemText("C")},
	} {
		r := set(t, new(layers.Registry), c.layers...)
		got := r.System()
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: parts (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(r.Flat(layers.View{Tag: layers.SystemTag}), got.Text()); diff != "" {
			t.Errorf("%s: text of the parts (-flat +got):\n%s", c.name, diff)
		}
	}
}

// AL-82: layers that change from task to task change nothing before them.
func TestAL82StablePrefix(t *testing.T) {
	r := set(t, new(layers.Registry), layers.Fixed(layers.ContextName, "one", ""), layers.Fixed(layers.SystemName, "the role", ""), layers.Fixed(layers.LegacyName, "old", ""))
	before, _ := strings.CutSuffix(r.Flat(layers.View{Tag: "system"}), "one")
	set(t, r, layers.Fixed(layers.ContextName, "another task", ""))
	if got, want := r.Flat(layers.View{Tag: "system"}), before+"another task"; got != want || before != "the role\n\nold\n\n" {
		t.Errorf("got %q, want %q", got, want)
	}
}

// AL-83: a registry with a subscriber gets the changes of a parent that it gets later.
func TestAL83ParentOfSubscriber(t *testing.T) {
	parent, child := new(layers.Registry), new(layers.Registry)
	var got []string
	child.Subscribe(func(c layers.Change) { got = append(got, fmt.Sprint(c.Kind, " ", c.Name)) })
	if err := child.SetParent(parent); err != nil {
		t.Fatal(err)
	}
	set(t, parent, system("p", "P", 20))
	if text := child.Flat(layers.View{}); len(got) == 0 || got[len(got)-1] != "set p" || text != "P" {
		t.Errorf("got the changes %q, the text %q", got, text)
	}
}

// AL-83: a parent's layers are visible, a child's layers override them or are appended, and
// subscribers receive changes of the parent.
func TestAL83Parents(t *testing.T) {
	parent, child := new(layers.Registry), new(layers.Registry)
	if err := child.SetParent(parent); err != nil {
		t.Fatal(err)
	}
	var told []string
	tell := func(who string) func(layers.Change) {
		return func(c layers.Change) {
			where := map[*layers.Registry]string{parent: "parent", child: "child"}[c.Registry]
			told = append(told, fmt.Sprint(who, ": ", c.Kind, " ", c.Name, " in ", where))
		}
	}
	cancel := child.Subscribe(tell("child"))
	child.Subscribe(tell("again"))
	parent.Subscribe(tell("parent"))

	set(t, parent, system("p", "P", 20), system("same", "of parent", 30))
	set(t, child, system("c", "C", 20))
	flat := func() string { return child.Flat(layers.View{Tag: "system", Separator: "|"}) }
	if got := flat(); got != "P|C|of parent" {
		t.Errorf("inherited: got %q", got)
	}
	set(t, child, system("same", "of child", 5))
	if got := flat(); got != "of child|P|C" {
		t.Errorf("overridden: got %q", got)
	}
	merged := system("same", "of child", 10)
	merged.MergeParent = true
	set(t, child, merged)
	if got := flat(); got != "of parent\n\nof child|P|C" {
		t.Errorf("merged: got %q", got)
	}
	if got := child.Flat(layers.View{OwnOnly: true}); got != "of child\n\nC" {
		t.Errorf("its own: got %q", got)
	}
	if got := parent.Flat(layers.View{}); got != "P\n\nof parent" {
		t.Errorf("the parent: got %q", got)
	}
	parent.Remove("p")
	cancel()
	cancel()
	set(t, parent, system("p", "P", 20))
	want := []string{
		"parent: set p in parent", "child: set p in parent", "again: set p in parent", "parent: set same in parent",
		"child: set same in parent", "again: set same in parent", "child: set c in child", "again: set c in child",
		"child: set same in child", "again: set same in child", "child: set same in child", "again: set same in child",
		"parent: removed p in parent", "child: removed p in parent", "again: removed p in parent", "parent: set p in parent",
		"again: set p in parent",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("notifications (-want +got):\n%s", diff)
	}
}

// AL-83: layers of grandparents are visible too, and merge from the oldest registry on.
func TestAL83Grandparents(t *testing.T) {
	line := []*layers.Registry{new(layers.Registry), new(layers.Registry), new(layers.Registry)}
	for i, r := range line {
		set(t, r, layers.Layer{Name: "same", Content: text(fmt.Sprint(i)), MergeParent: true}, system(fmt.Sprint("own", i), fmt.Sprint("own ", i), 10*i))
		if i == 0 {
			continue
		}
		if err := r.SetParent(line[i-1]); err != nil {
			t.Fatal(err)
		}
	}
	if got := line[2].Flat(layers.View{Separator: "|"}); got != "0\n\n1\n\n2|own 0|own 1|own 2" {
		t.Errorf("got %q", got)
	}
	var told []string
	line[2].Subscribe(func(c layers.Change) { told = append(told, c.Name) })
	for i, r := range line {
		set(t, r, system(fmt.Sprint("new", i), "", 1))
	}
	if diff := cmp.Diff([]string{"new0", "new1", "new2"}, told); diff != "" {
		t.Errorf("notifications (-want +got):\n%s", diff)
	}
}

// Merging with a layer without text adds no separator.
func TestMergeWithEmptyLayers(t *testing.T) {
	picture := []llm.Part{llm.Media{MediaType: "image/png", Data: []byte{1}}}
	for _, c := range []struct {
		parent, child []llm.Part
		want          string
	}{
		{text("a"), text("b"), "a\n\nb"}, {nil, text("b"), "b"}, {text("a"), nil, "a"}, {text(""), text("b"), "b"}, {text("a"), text(""), "a"},
		{picture, text("b"), "b"}, {text("a"), picture, "a"},
	} {
		parent, child := new(layers.Registry), new(layers.Registry)
		set(t, parent, layers.Layer{Name: "x", Content: c.parent})
		set(t, child, layers.Layer{Name: "x", Content: c.child, MergeParent: true})
		if err := child.SetParent(parent); err != nil {
			t.Fatal(err)
		}
		if got := child.Flat(layers.View{}); got != c.want {
			t.Errorf("%v and %v: got %q, want %q", c.parent, c.child, got, c.want)
		}
		if got := len(child.Visible()[0].Content); got < len(c.parent)+len(c.child) {
			t.Errorf("%v and %v: %d parts are left", c.parent, c.child, got)
		}
	}
}

// AL-84: a registry is never its own ancestor. The first round ends at a cycle: registries in a cycle
// that have subscribers block.
func TestAL84Cycles(t *testing.T) {
	a, b, c := new(layers.Registry), new(layers.Registry), new(layers.Registry)
	cycles := [][2]*layers.Registry{{a, a}, {b, a}, {c, a}, {c, b}} // child and parent
	reject := func() {
		t.Helper()
		for _, link := range cycles {
			if err := link[0].SetParent(link[1]); !errors.Is(err, layers.ErrCycle) {
				t.Fatalf("got %v, want ErrCycle", err)
			}
		}
	}
	if err := errors.Join(a.SetParent(b), b.SetParent(c)); err != nil {
		t.Fatal(err)
	}
	reject()
	told := 0
	c.Subscribe(func(layers.Change) { told++ })
	reject()
	if got := []bool{a.Parent() == b, b.Parent() == c, c.Parent() == nil}; !slices.Equal(got, []bool{true, true, true}) || told != 0 {
		t.Errorf("after rejected parents: the parents are unchanged: %v, notified %d times", got, told)
	}
	if err := errors.Join(a.SetParent(nil), c.SetParent(a)); err != nil { // a has no parent any more
		t.Errorf("without a cycle: %v", err)
	}
	if got := []bool{a.Parent() == nil, b.Parent() == c, c.Parent() == a}; !slices.Equal(got, []bool{true, true, true}) || told != 1 {
		t.Errorf("the parents: %v, notified %d times, want once", got, told)
	}
	set(t, c, system("x", "X", 1))
	if got := a.Flat(layers.View{}); got != "" {
		t.Errorf("a registry without parent shows %q", got)
	}
}

// A fork shares only the parent, and has no subscribers.
func TestFork(t *testing.T) {
	parent, r := new(layers.Registry), new(layers.Registry)
	set(t, parent, system("p", "P", 1))
	set(t, r, system("a", "A", 2))
	if err := r.SetParent(parent); err != nil {
		t.Fatal(err)
	}
	told := 0
	r.Subscribe(func(layers.Change) { told++ })
	fork := r.Fork()
	if got := fork.Flat(layers.View{}); got != "P\n\nA" {
		t.Errorf("the fork has %q", got)
	}
	set(t, fork, system("a", "forked", 2))
	seen := 0
	fork.Subscribe(func(layers.Change) { seen++ })
	set(t, parent, system("p", "Q", 1))
	if told != 1 || seen != 1 {
		t.Errorf("notified %d and %d times, want once each", told, seen)
	}
	if got := r.Flat(layers.View{}) + "|" + fork.Flat(layers.View{}); got != "Q\n\nA|Q\n\nforked" {
		t.Errorf("got %q", got)
	}
	if got := new(layers.Registry).Fork().Parent(); got != nil {
		t.Error("the fork of a registry without parent has one")
	}
}

func TestJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"name":"a","content":"x <b>","priority":10,"tags":["system"],"owner":"o"}`, ""},
		{`{"name":"a","content":[{"type":"text","text":"x"},{"type":"media","media_type":"image/png","url":"u"}],"priority":1,"tags":null,"owner":"","mergeParent":true,"metadata":{"k":[1]}}`, ""},
		{`{"name":"a","content":[{"type":"text","text":"x"}],"priority":0,"tags":null,"owner":""}`, `{"name":"a","content":"x","priority":0,"tags":null,"owner":""}`},
		{`{"name":"a","content":[{"type":"text","text":"x","refusal":true}],"priority":0,"tags":null,"owner":""}`, ""},
		{`{"name":"a","content":[],"priority":0,"tags":null,"owner":""}`, ""},
	} {
		var l layers.Layer
		if err := json.Unmarshal([]byte(c.in), &l); err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if c.want == "" {
			c.want = c.in
		}
		got, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(got))); diff != "" {
			t.Errorf("written again (-want +got):\n%s", diff)
		}
	}
	for in, want := range map[string]string{
		`{"name":"a","content":1}`:                   `layers: reading the layer "a": its content is neither a string nor a list of parts`,
		`{"name":"a"}`:                               `layers: reading the layer "a": its content is neither a string nor a list of parts`,
		`{"name":"a","content":[1]}`:                 `layers: reading the layer "a": `,
		`{"name":1}`:                                 `layers: reading a layer: `,
		`{"name":"a","content":"x","priority":"hi"}`: `layers: reading a layer: `,
	} {
		var l layers.Layer
		if err := json.Unmarshal([]byte(in), &l); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s…", in, err, want)
		}
	}
	if _, err := json.Marshal(layers.Layer{Metadata: map[string]any{"k": func() {}}}); err == nil {
		t.Error("metadata that JSON does not have: got no error")
	}
}

// After any calls of Set and Remove, a registry returns the last layer of each name, by
// priority and then in the order of first setting.
func TestRegistryIsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := new(layers.Registry)
		var model []layers.Layer
		at := func(name string) int {
			return slices.IndexFunc(model, func(l layers.Layer) bool { return l.Name == name })
		}
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			l := system(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name"), rapid.StringMatching(`[xy]{0,2}`).Draw(t, "text"), rapid.IntRange(0, 2).Draw(t, "priority"))
			i := at(l.Name)
			switch {
			case rapid.Bool().Draw(t, "remove"):
				if r.Remove(l.Name) != (i >= 0) {
					t.Fatalf("Remove(%q) does not report whether it was present", l.Name)
				}
				if i >= 0 {
					model = slices.Delete(model, i, i+1)
				}
			case i >= 0:
				model[i] = l
				_ = r.Set(l)
			default:
				model = append(model, l)
				_ = r.Set(l)
			}
		}
		var want []string
		for p := range 3 {
			for _, l := range model {
				if l.Priority == p && l.Text() != "" {
					want = append(want, l.Text())
				}
			}
		}
		if got := r.Flat(layers.View{Separator: ","}); got != strings.Join(want, ",") {
			t.Fatalf("got %q, want %q", got, strings.Join(want, ","))
		}
	})
}

// A parent holds no reference to a fork without subscribers.
func TestForksAreReleased(t *testing.T) {
	parent, r := new(layers.Registry), new(layers.Registry)
	if err := r.SetParent(parent); err != nil {
		t.Fatal(err)
	}
	told := 0
	below := new(layers.Registry)
	gone := func() weak.Pointer[layers.Registry] {
		fork := r.Fork()
		if err := below.SetParent(fork); err != nil {
			t.Fatal(err)
		}
		cancel := below.Subscribe(func(layers.Change) { told++ })
		set(t, parent, system("p", "P", 1)) // through a fork that has no subscriber itself
		cancel()
		set(t, parent, system("p", "Q", 1))
		if err := below.SetParent(nil); err != nil {
			t.Fatal(err)
		}
		return weak.Make(fork)
	}()
	runtime.GC()
	if gone.Value() != nil || told != 1 {
		t.Errorf("the fork is kept: %t; notified %d times, want once", gone.Value() != nil, told)
	}
	if err := below.SetParent(parent); err != nil {
		t.Fatal(err)
	}
	below.Subscribe(func(layers.Change) { told++ })
	if err := below.SetParent(r); err != nil {
		t.Fatal(err)
	}
	set(t, parent, system("p", "R", 1))
	if told != 3 {
		t.Errorf("notified %d times, want once for the other parent and once for the change", told)
	}
	runtime.KeepAlive(parent)
}
