package layers

import "slices"

// Parent returns the registry whose layers show in r; nil if there is none.
func (r *Registry) Parent() *Registry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.parent
}

// SetParent makes the layers of parent show in r, and its changes reach those who
// are subscribed to r; nil leaves r without a parent. It fails with ErrCycle if r
// is parent itself or among its parents, and changes nothing then.
func (r *Registry) SetParent(parent *Registry) error {
	for p := parent; p != nil; p = p.Parent() {
		if p == r {
			return ErrCycle
		}
	}
	if old := r.Parent(); old != nil {
		old.mu.Lock()
		old.children = slices.DeleteFunc(old.children, func(c *Registry) bool { return c == r })
		old.mu.Unlock()
	}
	r.adopt(parent)
	r.publish(Change{Registry: r, Kind: ParentSet})
	return nil
}

// adopt makes parent the parent of r, which has none.
func (r *Registry) adopt(parent *Registry) {
	r.mu.Lock()
	r.parent = parent
	r.mu.Unlock()
	if parent != nil {
		parent.mu.Lock()
		parent.children = append(parent.children, r)
		parent.mu.Unlock()
	}
}

// Change is something that has changed in a registry.
type Change struct {
	// Registry is where: the one that somebody is subscribed to, or one of its
	// parents.
	Registry *Registry
	Kind     ChangeKind
	Name     string // of the layer; empty for ParentSet
}

// ChangeKind is what has changed.
type ChangeKind string

// The kinds of changes.
const (
	LayerSet     ChangeKind = "set"
	LayerRemoved ChangeKind = "removed"
	ParentSet    ChangeKind = "parent"
)

type subscriber struct {
	id int
	f  func(Change)
}

// Subscribe has f called after each change of r or of one of its parents, on the
// goroutine that made the change: those of the registry that changed first, in the
// order in which they subscribed, then those of its children. Calling cancel ends
// it; calling it again does nothing.
func (r *Registry) Subscribe(f func(Change)) (cancel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.next
	r.next++
	r.subs = append(r.subs, subscriber{id, f})
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.subs = slices.DeleteFunc(r.subs, func(s subscriber) bool { return s.id == id })
	}
}

// publish tells those who are subscribed to r, then to its children.
func (r *Registry) publish(c Change) {
	r.mu.Lock()
	subs, children := slices.Clone(r.subs), slices.Clone(r.children)
	r.mu.Unlock()
	for _, s := range subs {
		s.f(c)
	}
	for _, child := range children {
		child.publish(c)
	}
}
