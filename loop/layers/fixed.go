package layers

// SystemTag is the tag of the layers that are the system prompt.
const SystemTag = "system"

// The names and priorities of the layers that loops set: what is stable stands
// before what changes from task to task, so that a provider's cache can hold the
// beginning of the prompt.
const (
	SystemName     = "agentloop.system"
	SystemPriority = 10

	LegacyName     = "_legacy_system"
	LegacyPriority = 50

	ContextName     = "agentloop.context"
	ContextPriority = 100
)

// System is the layer of what an agent is.
func System(text, owner string) Layer { return fixed(SystemName, SystemPriority, text, owner) }

// Legacy is the layer of a system prompt that was set as one text.
func Legacy(text, owner string) Layer { return fixed(LegacyName, LegacyPriority, text, owner) }

// Context is the layer of what a task is about.
func Context(text, owner string) Layer { return fixed(ContextName, ContextPriority, text, owner) }

func fixed(name string, priority int, text, owner string) Layer {
	return Layer{Name: name, Content: Text(text), Priority: priority, Tags: []string{SystemTag}, Owner: owner}
}
