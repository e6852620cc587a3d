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
	r.mu.Lock()
	r.unlink()
	r.parent = parent
	r.link()
	r.mu.Unlock()
	r.publish(Change{Registry: r, Kind: ParentSet})
	return nil
}

// link puts r among the children of its parent if somebody listens to it, or to what is
// below it: else the parent would keep every fork that there ever was. r is locked, and
// parents are locked behind their children.
func (r *Registry) link() {
	if r.parent == nil || !r.heard() {
		return
	}
	r.parent.mu.Lock()
	defer r.parent.mu.Unlock()
	if !slices.Contains(r.parent.children, r) {
		r.parent.children = append(r.parent.children, r)
		r.parent.link()
	}
}

// unlink takes r from the children of its parent. r is locked.
func (r *Registry) unlink() {
	if r.parent == nil {
		return
	}
	r.parent.mu.Lock()
	defer r.parent.mu.Unlock()
	r.parent.children = slices.DeleteFunc(r.parent.children, func(c *Registry) bool { return c == r })
	if !r.parent.heard() {
		r.parent.unlink()
	}
}

// heard reports whether somebody listens to r, or to what is below it. r is locked.
func (r *Registry) heard() bool { return len(r.subs)+len(r.children) > 0 }

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
	r.link()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.subs = slices.DeleteFunc(r.subs, func(s subscriber) bool { return s.id == id })
		if !r.heard() {
			r.unlink()
		}
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
