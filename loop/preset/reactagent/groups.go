package reactagent

import (
	"context"
	"fmt"

	"github.com/looptape/looptape/loop"
)

var groups = []struct {
	name  string
	tools []string
}{
	{"web", []string{"fetch", "curl"}},
	{"search", []string{"grep", "glob", "tree"}},
	{"text", []string{"head", "tail", "diff"}},
	{"git", []string{"git_status", "git_diff", "git_log", "git_show", "git_blame"}},
	{"shell", []string{"shell"}},
}

// generalPurpose returns one middleware per group, whose tools only return an error.
func generalPurpose() []loop.Middleware {
	list := make([]loop.Middleware, len(groups))
	for i, g := range groups {
		var tools []loop.Tool
		for _, name := range g.tools {
			tools = append(tools, loop.Tool{
				Name: name, Description: "Not built yet: a call of it fails.",
				Run: func(context.Context, loop.Call) (loop.Output, error) {
					return loop.Output{}, fmt.Errorf("%s is not built yet: this agent has no %s tools; go on without them", name, g.name)
				},
			})
		}
		list[i] = loop.Middleware{Name: g.name, New: func(loop.RunInfo) loop.Hooks { return loop.Hooks{Tools: tools} }}
	}
	return list
}
