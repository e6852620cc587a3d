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

// Fixed returns the layer with one of the names above, with its priority and the tag of the system
// prompt. [SystemName] describes the agent, [ContextName] a task, and [LegacyName] is a system
// prompt that was set as one string. Another name has the priority 0.
func Fixed(name, text, owner string) Layer {
	priority := map[string]int{SystemName: SystemPriority, LegacyName: LegacyPriority, ContextName: ContextPriority}[name]
	return Layer{Name: name, Content: textParts(text), Priority: priority, Tags: []string{SystemTag}, Owner: owner}
}
