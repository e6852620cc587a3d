// Package preset holds documented agent loops as configurations of the one loop,
// each with its own names for what happens in a run.
//
// A preset is a plain value: it fills the options that a caller left at zero and
// forks nothing. It promises the defaults and the event names of the loop's
// document; contracts and goldens are in testdata.
package preset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/loop"
)

// presets maps the names that a scenario's `preset` may have to what fills a
// configuration.
var presets = []struct {
	name string
	fill func(loop.Config) loop.Config
}{
	{DeuzName, Deuz},
}

// Names lists the presets.
func Names() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.name
	}
	return names
}

// Apply fills cfg as the preset of that name does.
func Apply(name string, cfg loop.Config) (loop.Config, error) {
	i := slices.IndexFunc(presets, func(p struct {
		name string
		fill func(loop.Config) loop.Config
	}) bool {
		return p.name == name
	})
	if i < 0 {
		return cfg, fmt.Errorf("there is no preset %q; the presets are %s", name, strings.Join(Names(), ", "))
	}
	return presets[i].fill(cfg), nil
}
