// Package layers is a registry of named layers of a system prompt. Each layer has a priority,
// tags and an owner. The layers with one tag, in the order of their priorities, form the
// prompt.
//
// The same calls always return the same text: layers of equal priority keep the order in which
// they were first set. A registry may inherit the layers of a parent.
package layers

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/looptape/looptape/llm"
)

// separator is the string between the layers of a flat text.
const separator = "\n\n"

// Layer is a named layer of a prompt.
type Layer struct {
	Name string
	// Content is the content of the layer. A flat text contains only its Text parts.
	Content []llm.Part
	// Priority is the position of the layer: lower values come first.
	Priority int
	Tags     []string
	// Owner names the code that set the layer. It has no effect.
	Owner string
	// MergeParent appends the content to that of the parent's layer of the same name instead
	// of replacing it.
	MergeParent bool
	// Metadata contains additional values that JSON can represent.
	Metadata map[string]any
}

// Text joins the Text parts of the layer.
func (l Layer) Text() string { return text(l.Content) }

func text(parts []llm.Part) string { return llm.Message{Parts: parts}.Text() }

// copy returns a copy of l. The values in its parts and metadata are shared.
func (l Layer) copy() Layer {
	l.Content, l.Tags, l.Metadata = slices.Clone(l.Content), slices.Clone(l.Tags), maps.Clone(l.Metadata)
	return l
}

// Errors of a Registry, for errors.Is.
var (
	// ErrNoName is returned for a layer without a name.
	ErrNoName = errors.New("layers: Set needs a layer with a Name")
	// ErrCycle is returned if a registry would be its own ancestor.
	ErrCycle = errors.New("layers: SetParent: cycle: choose a parent that does not inherit from this registry")
)

// Registry holds layers by name. Its zero value is empty and ready to use. It is safe for use
// by many goroutines. During SetParent, no other goroutine may use the registries that it
// connects.
type Registry struct {
	mu       sync.Mutex
	list     []Layer // in the order in which they were first set
	parent   *Registry
	children []*Registry // those with a direct or indirect subscriber
	subs     []*func(Change)
}

// Set stores a copy of l in the registry and replaces its layer of that name. It returns
// [ErrNoName] if the name is empty.
func (r *Registry) Set(l Layer) error {
	if l.Name == "" {
		return ErrNoName
	}
	l = l.copy()
	r.mu.Lock()
	if i := r.index(l.Name); i >= 0 {
		r.list[i] = l
	} else {
		r.list = append(r.list, l)
	}
	r.mu.Unlock()
	r.publish(Change{Registry: r, Kind: LayerSet, Name: l.Name})
	return nil
}

// Get returns a copy of the registry's own layer of that name.
func (r *Registry) Get(name string) (l Layer, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.index(name)
	if i < 0 {
		return Layer{}, false
	}
	return r.list[i].copy(), true
}

// Remove removes the registry's own layer of that name and reports whether it existed.
func (r *Registry) Remove(name string) bool {
	r.mu.Lock()
	i := r.index(name)
	if i >= 0 {
		r.list = slices.Delete(r.list, i, i+1)
	}
	r.mu.Unlock()
	if i < 0 {
		return false
	}
	r.publish(Change{Registry: r, Kind: LayerRemoved, Name: name})
	return true
}

func (r *Registry) index(name string) int {
	return slices.IndexFunc(r.list, func(l Layer) bool { return l.Name == name })
}

// Own returns copies of the registry's own layers, in the order in which they were
// first set.
func (r *Registry) Own() []Layer {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Layer, len(r.list))
	for i, l := range r.list {
		list[i] = l.copy()
	}
	return list
}

// Visible returns copies of the layers of the registry and its parents, by priority. A layer
// overrides the parent's layer of the same name and keeps its position. With MergeParent, the
// parent's content comes before the child's, and all other fields are the child's. Among equal
// priorities, the parent's layers come first.
func (r *Registry) Visible() []Layer {
	list := r.merged()
	sort.SliceStable(list, func(i, j int) bool { return list[i].Priority < list[j].Priority })
	return list
}

// merged returns the visible layers, unsorted.
func (r *Registry) merged() []Layer {
	own := r.Own()
	parent := r.Parent()
	if parent == nil {
		return own
	}
	list := parent.merged()
	for _, l := range own {
		i := slices.IndexFunc(list, func(p Layer) bool { return p.Name == l.Name })
		switch {
		case i < 0:
			list = append(list, l)
		case l.MergeParent:
			parent := list[i].Content
			if text(parent) != "" && text(l.Content) != "" {
				parent = append(parent, textParts(separator)...)
			}
			l.Content = append(parent, l.Content...)
			fallthrough
		default:
			list[i] = l
		}
	}
	return list
}

// View selects the layers of a flat text. Its zero value selects all.
type View struct {
	// Tag selects the layers with this tag; empty means all layers.
	Tag string
	// OwnOnly excludes the layers of parents.
	OwnOnly bool
	// Separator is the string between layers; empty means "\n\n".
	Separator string
}

// Flat returns the text of the layers by priority. It omits layers without text.
func (r *Registry) Flat(v View) string {
	from := r
	if v.OwnOnly {
		from = &Registry{list: r.Own()}
	}
	return v.join(from.Visible())
}

// join joins the texts of the selected layers.
func (v View) join(list []Layer) string {
	var texts []string
	for _, l := range list {
		if text := l.Text(); text != "" && (v.Tag == "" || slices.Contains(l.Tags, v.Tag)) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, cmp.Or(v.Separator, separator))
}

// System returns the layers with the tag [SystemTag] as a system prompt of at most two parts. The
// layers before [ContextPriority] are stable: they are one part, with a cache mark. The other
// layers follow without a mark. The text of the prompt is that of Flat.
func (r *Registry) System() (prompt llm.System) {
	list, v := r.Visible(), View{Tag: SystemTag}
	i := slices.IndexFunc(list, func(l Layer) bool { return l.Priority >= ContextPriority })
	if i < 0 {
		i = len(list)
	}
	if stable := v.join(list[:i]); stable != "" {
		prompt = llm.System{{Text: stable, CacheMark: true}}
	}
	return append(prompt, llm.SystemText(v.join(list[i:]))...)
}

// Fork returns a registry with copies of the own layers of r and the same parent. It has no
// subscribers.
func (r *Registry) Fork() *Registry {
	return &Registry{list: r.Own(), parent: r.Parent()}
}

func textParts(text string) []llm.Part { return []llm.Part{llm.Text{Text: text}} }
