package reactagent

import "github.com/looptape/looptape/loop"

// generalPurpose returns one middleware per general-purpose group. They have no tools: a tool
// that cannot work is not offered to a model.
func generalPurpose() (list []loop.Middleware) {
	for _, name := range []string{"web", "search", "text", "git", "shell"} {
		list = append(list, loop.Middleware{Name: name, New: func(loop.RunInfo) loop.Hooks { return loop.Hooks{} }})
	}
	return list
}
