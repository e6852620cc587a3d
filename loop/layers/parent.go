package layers

import "slices"

// Parent returns the registry that r inherits from; nil means none.
func (r *Registry) Parent() *Registry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.parent
}

// SetParent makes r inherit the layers of parent. Subscribers of r receive the changes of
// parent; a nil parent removes the parent. It returns [ErrCycle], and changes nothing, if r is
// parent or one of its ancestors.
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

// link adds r to the children of its parent if r or a descendant has a subscriber. Otherwise
// the parent would hold a reference to every fork. The caller has locked r. Parents are locked
// after their children.
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

// unlink removes r from the children of its parent. The caller has locked r.
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

// heard reports whether r or a descendant has a subscriber. The caller has locked r.
func (r *Registry) heard() bool { return len(r.subs)+len(r.children) > 0 }

// Change is a change in a registry.
type Change struct {
	// Registry is the changed registry: the one with the subscription or one of its ancestors.
	Registry *Registry
	Kind     ChangeKind
	Name     string // of the layer; empty for ParentSet
}

// ChangeKind is the kind of a change.
type ChangeKind string

// The kinds of changes.
const (
	LayerSet     ChangeKind = "set"
	LayerRemoved ChangeKind = "removed"
	ParentSet    ChangeKind = "parent"
)

// Subscribe calls f after each change of r or of one of its ancestors, on the goroutine that
// made the change. The subscribers of the changed registry are called first, in the order of
// subscription, then those of its children. Calling cancel ends the subscription; further
// calls do nothing.
func (r *Registry) Subscribe(f func(Change)) (cancel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subs = append(r.subs, &f)
	r.link()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.subs = slices.DeleteFunc(r.subs, func(s *func(Change)) bool { return s == &f })
		if !r.heard() {
			r.unlink()
		}
	}
}

// publish calls the subscribers of r, then those of its children.
func (r *Registry) publish(c Change) {
	r.mu.Lock()
	subs, children := slices.Clone(r.subs), slices.Clone(r.children)
	r.mu.Unlock()
	for _, s := range subs {
		(*s)(c)
	}
	for _, child := range children {
		child.publish(c)
	}
}
