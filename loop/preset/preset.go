// Package preset provides the options of several reference loops as configurations of
// package loop. Each preset has its own names for the events of a run.
//
// A preset is a plain value. It fills the options that a caller leaves at zero. It
// guarantees the defaults and the event names of its reference loop; contracts and
// goldens are in testdata. The subpackage of a preset contains the entry points and
// results of its reference loop.
package preset

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/agentier"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/loop/preset/deepagents"
	"github.com/looptape/looptape/loop/preset/deuz"
	"github.com/looptape/looptape/loop/preset/reactagent"
	"github.com/looptape/looptape/trace"
)

// Preset is the configuration of a reference loop.
type Preset struct {
	Name string
	// Fill sets the zero options to the defaults of the reference loop.
	Fill func(loop.Config) loop.Config
	// Parts converts the events of a run to the stream events or callbacks of the
	// reference loop. Each part is encoded to JSON as in the reference documentation.
	Parts func(iter.Seq2[trace.Event, error]) iter.Seq[any]
}

// presets contains all presets in the order of the list.
var presets = []Preset{
	{"deuz", deuz.Fill, parts(deuz.Parts)},
	{"agentier", agentier.Fill, parts(agentier.Parts)},
	{"deepagents", deepagents.Fill, parts(deepagents.Parts)},
	{"agentloop", agentloop.Fill, parts(agentloop.Events)},
	{"reactagent", reactagent.Fill, parts(reactagent.Parts)},
}

// parts converts a projection function to the type of the Parts field.
func parts[P any](project func(iter.Seq2[trace.Event, error]) iter.Seq[P]) func(iter.Seq2[trace.Event, error]) iter.Seq[any] {
	return func(events iter.Seq2[trace.Event, error]) iter.Seq[any] {
		return func(yield func(any) bool) {
			for p := range project(events) {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// Names returns the names of the presets.
func Names() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.Name
	}
	return names
}

// Lookup returns the preset with this name. It returns an error if the name is unknown.
func Lookup(name string) (Preset, error) {
	i := slices.IndexFunc(presets, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return Preset{}, fmt.Errorf("preset: unknown preset %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	return presets[i], nil
}

// Apply fills cfg with the defaults of the named preset. It returns an error if the name
// is unknown.
func Apply(name string, cfg loop.Config) (loop.Config, error) {
	p, err := Lookup(name)
	if err != nil {
		return cfg, err
	}
	return p.Fill(cfg), nil
}
