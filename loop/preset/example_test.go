package preset_test

import (
	"fmt"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset"
)

// Apply sets the options that a caller leaves at zero to the defaults of a reference loop.
func ExampleApply() {
	for _, name := range preset.Names() {
		cfg, err := preset.Apply(name, loop.Config{})
		fmt.Println(cfg.Preset, cfg.MaxSteps, err)
	}
	_, err := preset.Apply("react", loop.Config{})
	fmt.Println(err)
	// Output:
	// deuz 1 <nil>
	// agentier 10 <nil>
	// deepagents 25 <nil>
	// agentloop 16 <nil>
	// reactagent 24 <nil>
	// preset: unknown preset "react": want one of deuz, agentier, deepagents, agentloop, reactagent
}
