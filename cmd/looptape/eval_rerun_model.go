package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/evals/rerun"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
)

// other reruns another model, or with another prompt.
func (v *rerunner) other() (rerunning, error) {
	o := rerun.ModelOptions{Compare: v.compare, GoOn: v.unknown == "error"}
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
	src, err := v.w.readAll(v.model)
	if err != nil {
		return nil, err
	}
	f, err := scenario.Parse(v.model, src)
	if err != nil {
		return nil, err
	}
	return &otherModel{v.w, o, f.Script, rerun.NewModelReport()}, nil
}

// otherModel is a rerunning of a model.
type otherModel struct {
	w       *world
	options rerun.ModelOptions
	script  *fake.Script
	report  *rerun.ModelReport
}

func (m *otherModel) run(ctx context.Context, run *rerun.Recorded) (line any, events []trace.Event) {
	ctx, model, o := m.scripted(ctx, run)
	out, err := rerun.Model(ctx, &run.Run, model, o)
	if out != nil {
		events = out.Events
	}
	return m.report.Add(run, out, err), events
}

// scripted is the scripted model of a run. Its lane is that of the name of the run's case,
// or of the run, or else the first.
func (m *otherModel) scripted(ctx context.Context, run *rerun.Recorded) (context.Context, llm.Model, *rerun.ModelOptions) {
	o, clock := m.options, fake.NewClock()
	o.Clock = clock
	clock.OpenInOrder(m.script.Gates...)
	lane := m.script.Models[0].Name
	for _, name := range []string{run.Name, run.Case} {
		if slices.ContainsFunc(m.script.Models, func(l fake.Lane) bool { return l.Name == name }) {
			lane = name
		}
	}
	return fake.WithLane(ctx, lane), m.script.NewModel(clock), &o
}

func (m *otherModel) unread(err error) { m.report.Unread(err) }

func (m *otherModel) print(format string) error {
	r := m.report
	held := rerunStatus(r.Parts(), len(r.Unreadable), len(r.Runs))
	switch format {
	case "json":
		if err := printJSON(m.w.out, r); err != nil {
			return err
		}
		return held
	case "jsonl": // which was printed run by run
		tellUnreadable(m.w, r.Unreadable)
		return held
	}
	tellUnreadable(m.w, r.Unreadable)
	var rows [][]string
	reworded := 0
	for _, l := range r.Runs {
		reworded += l.Reworded
		if l.Error != "" {
			complain(m.w, errors.New(l.Run+": "+l.Error))
		}
		if l.Left != nil {
			rows = append(rows,
				[]string{l.Run, strconv.Itoa(l.Left.Step), "left", l.Left.Why},
				[]string{"", strconv.Itoa(l.Left.RecordedStep), "recorded", l.Left.Recorded.String()},
				[]string{"", strconv.Itoa(l.Left.Step), "now", l.Left.Now.String()})
		}
	}
	if err := printTable(m.w, []string{"run", "step", "what", "turn"}, mostOf(rows)); err != nil {
		return err
	}
	text := fmt.Sprintf("%s: %d kept to the path, %d left it, %d failed; %d reworded, %s unreadable", count(len(r.Runs), "run"), r.Paths[rerun.PathSame], r.Paths[rerun.PathLeft], r.Paths[rerun.PathFailed], reworded, count(len(r.Unreadable), "part"))
	if err := printVerdict(m.w, text, held == nil); err != nil {
		return err
	}
	return held
}
