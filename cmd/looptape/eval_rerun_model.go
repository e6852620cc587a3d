package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals/rerun"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
)

// other reruns another model, or with another prompt.
func (v *rerunner) other() (rerunning, error) {
	o := rerun.ModelOptions{Compare: v.compare, Name: v.client.Model, ContinueOnUnknown: v.unknown == "error"}
	for _, from := range []struct {
		name string
		to   *string
	}{{v.system, &o.System}, {v.prompt, &o.Prompt}} {
		if from.name == "" {
			continue
		}
		text, err := v.w.readAll(from.name)
		if err != nil {
			return nil, err
		}
		if *from.to = strings.TrimRight(string(text), "\r\n"); *from.to == "" {
			return nil, fmt.Errorf("%s: the file is empty; write what the model is told, in which {recorded} stands for what it was told", from.name)
		}
	}
	if v.definitions != "" {
		text, err := v.w.readAll(v.definitions)
		if err == nil {
			o.Tools, err = rerun.ReadTools(text)
		}
		if err != nil {
			return nil, fmt.Errorf("--tool-defs %s: %w", v.definitions, err)
		}
	}
	m := &otherModel{v.w, o, nil, rerun.NewModelReport()}
	if tape, ok := strings.CutPrefix(v.model, "cassette:"); ok {
		v.client.Cassette = tape
		return m, v.taped(m)
	}
	if v.recording || v.client.Provider != "" || v.client.BaseURL != "" {
		return nil, errors.New("--record, --provider and --base-url are for a cassette; give one as --model cassette:FILE")
	}
	return m, v.scripted(m)
}

// taped has a model answer from a cassette.
func (v *rerunner) taped(m *otherModel) error {
	model, err := v.models.open(&v.client)
	m.model = func(ctx context.Context, _ *rerun.Recorded) (context.Context, llm.Model, loop.Clock) {
		return ctx, model, nil
	}
	return err
}

// scripted has a model answer from a scenario. The lane of a run is that of the name of the
// run, or of its case, or else the first.
func (v *rerunner) scripted(m *otherModel) error {
	src, err := v.w.readAll(v.model)
	if err != nil {
		return err
	}
	f, err := scenario.Parse(v.model, src)
	if err != nil {
		return err
	}
	lanes := f.Script.Models
	m.model = func(ctx context.Context, run *rerun.Recorded) (context.Context, llm.Model, loop.Clock) {
		clock := fake.NewClock()
		clock.OpenInOrder(f.Script.Gates...)
		lane := lanes[0].Name
		for _, name := range []string{run.Case, run.Name} {
			if slices.ContainsFunc(lanes, func(l fake.ModelScript) bool { return l.Name == name }) {
				lane = name
			}
		}
		return fake.WithSession(ctx, lane), f.Script.NewModel(clock), clock
	}
	return nil
}

// again is the command that records the cassette, with all that requests depend on.
func (v *rerunner) again(names []string) string {
	words := []string{"looptape eval rerun --record"}
	for _, flag := range [][2]string{
		{"--model", v.model}, {"--provider", v.client.Provider}, {"--name", v.client.Model}, {"--base-url", v.client.BaseURL},
		{"--system", v.system}, {"--prompt", v.prompt}, {"--tool-defs", v.definitions},
	} {
		if flag[1] != "" {
			words = append(words, flag[0], shellWord(flag[1]))
		}
	}
	for _, name := range names {
		words = append(words, shellWord(name))
	}
	return strings.Join(words, " ")
}

// otherModel is a rerunning of a model.
type otherModel struct {
	w       *world
	options rerun.ModelOptions
	// model returns the model of a run, with its clock, nil if it has none.
	model  func(ctx context.Context, run *rerun.Recorded) (context.Context, llm.Model, loop.Clock)
	report *rerun.ModelReport
}

func (m *otherModel) run(ctx context.Context, run *rerun.Recorded) (line any, events []trace.Event) {
	o := m.options
	var model llm.Model
	ctx, model, o.Clock = m.model(ctx, run)
	out, err := rerun.Model(ctx, &run.Run, model, &o)
	if out != nil {
		events = out.Events
	}
	return m.report.Add(run, out, err), events
}

func (m *otherModel) unread(err error) { m.report.Unread(err) }
