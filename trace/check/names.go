package check

// few is how many things are looked through one by one. What there are more of
// is found by an index: a turn may have any number of calls.
const few = 32

// names is a list of ids or names that is asked what is in it.
type names struct {
	list  []string
	index map[string]bool // of list, once it was needed
}

func (n *names) has(name string) bool {
	if len(n.list) <= few {
		for _, x := range n.list {
			if x == name {
				return true
			}
		}
		return false
	}
	if n.index == nil {
		n.index = make(map[string]bool, len(n.list))
		for _, x := range n.list {
			n.index[x] = true
		}
	}
	return n.index[name]
}
