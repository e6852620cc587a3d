// Package layers is a registry of named pieces of a system prompt: each has a
// priority, tags and an owner, and those of a tag, in the order of their
// priorities, are the prompt.
//
// It promises that the same calls give the same text each time: where priorities
// are equal, layers stand in the order in which they were first set. A registry
// may have a parent, whose layers show in it. It knows nothing of a loop, and
// calls no model.
package layers

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/looptape/looptape/llm"
)

// Separator stands between the layers of a flat text.
const Separator = "\n\n"

// Layer is a named piece of a prompt.
type Layer struct {
	Name string
	// Content is what it says. In a flat text only its Text parts show.
	Content []llm.Part
	// Priority is its place: lower stands earlier.
	Priority int
	Tags     []string
	// Owner says who set it, for people; nothing depends on it.
	Owner string
	// MergeParent puts the content behind that of the parent's layer of the same
	// name, instead of in its place.
	MergeParent bool
	// Metadata is anything else, values that JSON has.
	Metadata map[string]any
}

// Text is the Content of one text.
func Text(text string) []llm.Part { return []llm.Part{llm.Text{Text: text}} }

// Text joins the texts of the layer.
func (l Layer) Text() string { return text(l.Content) }

func text(parts []llm.Part) string { return llm.Message{Parts: parts}.Text() }

// copy returns a layer that shares nothing with l that could be changed, but what
// its parts and metadata hold.
func (l Layer) copy() Layer {
	l.Content, l.Tags, l.Metadata = slices.Clone(l.Content), slices.Clone(l.Tags), maps.Clone(l.Metadata)
	return l
}

// Errors of a Registry, for errors.Is.
var (
	// ErrNoName: a layer has no name.
	ErrNoName = errors.New("layers: Set needs a layer with a Name")
	// ErrCycle: a registry would be among its own parents.
	ErrCycle = errors.New("layers: SetParent: the registry would be among its own parents; give it another parent")
)

// Registry holds layers by name. Its zero value is empty and ready. It may be used
// by many goroutines at once, but SetParent only while nobody else uses the
// registries that it ties together.
type Registry struct {
	mu       sync.Mutex
	list     []Layer // in the order in which they were first set
	parent   *Registry
	children []*Registry // those that somebody listens to, also through theirs
	subs     []subscriber
	next     int // the number of the next subscriber
}

// Set puts a copy of l into the registry, in the place of its layer of that name
// if there is one.
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

// Remove takes the registry's own layer of that name out, and reports whether
// there was one.
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

// Visible returns copies of the layers that show in the registry, its own and its
// parents', by priority. Of two layers of one name the child's counts; with
// MergeParent, the parent's content stands before the child's, and all else is the
// child's. Where priorities are equal, a parent's layers stand first, and one that
// a child overrides keeps its place.
func (r *Registry) Visible() []Layer {
	list := r.merged()
	slices.SortStableFunc(list, func(a, b Layer) int { return cmp.Compare(a.Priority, b.Priority) })
	return list
}

// merged are the layers that show in the registry, unsorted.
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
			l.Content = join(list[i].Content, l.Content)
			list[i] = l
		default:
			list[i] = l
		}
	}
	return list
}

// join puts the content of a child behind its parent's.
func join(parent, child []llm.Part) []llm.Part {
	if text(parent) == "" || text(child) == "" {
		return slices.Concat(parent, child)
	}
	return slices.Concat(parent, Text(Separator), child)
}

// View says what of a registry a flat text shows. Its zero value is all of it.
type View struct {
	// Tag leaves only layers that have it.
	Tag string
	// OwnOnly leaves the layers of parents out.
	OwnOnly bool
	// Separator stands between layers; empty means Separator, the constant.
	Separator string
}

// Flat is the text of the layers, by priority. Layers without text are left out.
func (r *Registry) Flat(v View) string {
	from := r
	if v.OwnOnly {
		from = &Registry{list: r.Own()}
	}
	var texts []string
	for _, l := range from.Visible() {
		if text := l.Text(); text != "" && (v.Tag == "" || slices.Contains(l.Tags, v.Tag)) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, cmp.Or(v.Separator, Separator))
}

// Fork returns a registry of its own with copies of the layers that r has itself
// and the same parent. Nobody is subscribed to it.
func (r *Registry) Fork() *Registry {
	return &Registry{list: r.Own(), parent: r.Parent()}
}
