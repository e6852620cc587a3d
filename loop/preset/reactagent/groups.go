package reactagent

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/looptape/looptape/loop"
)

// groups are the names of the general-purpose groups, in the order of the stack.
var groups = []string{"web", "search", "text", "git", shellGroup}

// shellGroup is the group whose calls need approval. Its tool has the same name.
const shellGroup = "shell"

// generalPurpose returns the general-purpose groups of cfg in the order of the stack. It omits shell if no
// person decides about its calls.
func generalPurpose(cfg *DeepConfig) (list []loop.Middleware, err error) {
	place := func(m loop.Middleware) int { return slices.Index(groups, m.Name) }
	list = slices.Clone(cfg.GeneralPurpose)
	sort.SliceStable(list, func(i, j int) bool { return place(list[i]) < place(list[j]) })
	for i, m := range list {
		switch {
		case place(m) < 0:
			return nil, fmt.Errorf("DeepConfig.GeneralPurpose: unknown group %q: use %s, and Middleware for others", m.Name, strings.Join(groups, ", "))
		case i > 0 && m.Name == list[i-1].Name:
			return nil, fmt.Errorf("DeepConfig.GeneralPurpose: duplicate group %q: remove one", m.Name)
		}
	}
	_, asked := cfg.InterruptOn[shellGroup]
	asked = cfg.Approve != nil && (asked || len(cfg.InterruptOn) == 0)
	return slices.DeleteFunc(list, func(m loop.Middleware) bool {
		return cfg.NoGeneralPurpose || m.Name == shellGroup && !asked
	}), nil
}
