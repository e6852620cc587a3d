package layers

// The names and priorities of the layers that loops set. Stable layers come before layers that
// change from task to task, so a provider can cache the beginning of the prompt.
const (
	// SystemTag is the tag of the layers that form the system prompt.
	SystemTag = "system"

	SystemName     = "agentloop.system"
	SystemPriority = 10

	LegacyName     = "_legacy_system"
	LegacyPriority = 50

	ContextName     = "agentloop.context"
	ContextPriority = 100
)

// System returns the layer that describes the agent.
func System(text, owner string) Layer { return fixed(SystemName, SystemPriority, text, owner) }

// Legacy returns the layer of a system prompt that was set as one string.
func Legacy(text, owner string) Layer { return fixed(LegacyName, LegacyPriority, text, owner) }

// Context returns the layer that describes a task.
func Context(text, owner string) Layer { return fixed(ContextName, ContextPriority, text, owner) }

func fixed(name string, priority int, text, owner string) Layer {
	return Layer{Name: name, Content: textParts(text), Priority: priority, Tags: []string{SystemTag}, Owner: owner}
}
