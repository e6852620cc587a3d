// Package preset holds documented agent loops as configurations of the one loop,
// each with its own names for what happens in a run.
//
// A preset is a plain value: it fills the options that a caller left at zero and
// forks nothing. It promises the defaults and the event names of the loop's
// document; contracts and goldens are in testdata. What a document has besides, such
// as entry points and results of its own, is in a package of its name below this one.
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
	"github.com/looptape/looptape/loop/preset/react"
	"github.com/looptape/looptape/trace"
)

// Preset is a documented loop.
type Preset struct {
	Name string
	// Fill sets the options that the caller left at zero as the document says.
	Fill func(loop.Config) loop.Config
	// Parts projects a run's events to what the document's own stream or callbacks
	// show. Each part is a value that has the document's JSON.
	Parts func(iter.Seq2[trace.Event, error]) iter.Seq[any]
}

// presets are all there are, in the order in which they are listed.
var presets = []Preset{
	{DeuzName, Deuz, parts(DeuzParts)},
	{agentier.Name, agentier.Fill, parts(agentier.Parts)},
	{deepagents.Name, deepagents.Fill, parts(deepagents.Parts)},
	{agentloop.Name, agentloop.Fill, parts(agentloop.Events)},
	{react.Name, react.Fill, parts(react.Parts)},
}

// parts makes a projection one of a Preset.
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

// Names lists the presets.
func Names() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.Name
	}
	return names
}

// Lookup returns the preset of that name.
func Lookup(name string) (Preset, error) {
	i := slices.IndexFunc(presets, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return Preset{}, fmt.Errorf("there is no preset %q; the presets are %s", name, strings.Join(Names(), ", "))
	}
	return presets[i], nil
}

// Apply fills cfg as the preset of that name does.
func Apply(name string, cfg loop.Config) (loop.Config, error) {
	p, err := Lookup(name)
	if err != nil {
		return cfg, err
	}
	return p.Fill(cfg), nil
}
