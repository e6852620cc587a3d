package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals/rerun"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// other returns a rerun with another model or prompt.
func (v *rerunner) other() (*rerunning, error) {
	o := rerun.ModelOptions{Compare: v.compare, Name: v.client.Model, ContinueOnUnknown: v.unknown == "error"}
	for _, from := range []struct {
		name string
		to   *string
	}{{v.system, &o.System}, {v.prompt, &o.Prompt}} {
		if from.name == "" {
			continue
		}
		text, err := v.w.ReadAll(from.name)
		if err != nil {
			return nil, err
		}
		if *from.to = strings.TrimRight(string(text), "\r\n"); *from.to == "" {
			return nil, fmt.Errorf("%s: the file is empty: write the new text, where {recorded} is the recorded text", from.name)
		}
	}
	if v.definitions != "" {
		text, err := v.w.ReadAll(v.definitions)
		if err == nil {
			err = o.ReadTools(text)
		}
		if err != nil {
			return nil, fmt.Errorf("--tool-defs %s: %w", v.definitions, err)
		}
	}
	model, err := v.opened()
	r := rerun.NewModelReport()
	return &rerunning{
		head: modelLines.Head(),
		run: func(ctx context.Context, run *rerun.Recorded) (line any, events []trace.Event) {
			o, m := o, llm.Model(nil)
			ctx, m, o.Clock = model(ctx, run)
			out, err := rerun.Model(ctx, &run.Run, m, &o)
			if out != nil {
				events = out.Events
			}
			return r.Add(run, out, err), events
		},
		unread: r.Unread,
		end: func() (rerunResult, error) {
			return rerunResult{modelJSON.Of(*r), r.Unreadable, len(r.Runs), r.Diverged()}, nil
		},
		tables: func() string { return printModel(v.w, r) },
	}, err
}

// modelFunc returns the model of a run, its clock, which may be nil, and its context.
type modelFunc func(ctx context.Context, run *rerun.Recorded) (context.Context, llm.Model, loop.Clock)

// opened returns the model of the flags.
func (v *rerunner) opened() (modelFunc, error) {
	tape, ok := strings.CutPrefix(v.model, "cassette:")
	switch {
	case ok:
		v.client.Cassette = tape
		model, err := v.models.open(&v.client)
		return func(ctx context.Context, _ *rerun.Recorded) (context.Context, llm.Model, loop.Clock) {
			return ctx, model, nil
		}, err
	case v.recording || v.client.Provider != "" || v.client.BaseURL != "":
		return nil, errors.New("--record, --provider and --base-url need a cassette: set --model cassette:FILE")
	}
	return v.scripted()
}

// scripted uses a scenario as the model. The session of a run has the name of its case or of
// the run; otherwise it is the first.
func (v *rerunner) scripted() (modelFunc, error) {
	_, f, err := v.w.ReadScenario(v.model)
	if err != nil {
		return nil, err
	}
	sessions := f.Script.Models
	return func(ctx context.Context, run *rerun.Recorded) (context.Context, llm.Model, loop.Clock) {
		clock := fake.NewClock()
		clock.OpenInOrder(f.Script.Gates...)
		session := sessions[0].Name
		for _, name := range []string{run.Case, run.Name} {
			if slices.ContainsFunc(sessions, func(l fake.ModelScript) bool { return l.Name == name }) {
				session = name
			}
		}
		return fake.WithSession(ctx, session), f.Script.NewModel(clock), clock
	}, nil
}

// recordCommand returns the command that records the cassette, with all flags that change requests.
func (v *rerunner) recordCommand(names []string) string {
	words := []string{"looptape", "eval", "rerun", "--record"}
	for _, flag := range [][2]string{
		{"--model", v.model}, {"--provider", v.client.Provider}, {"--name", v.client.Model}, {"--base-url", v.client.BaseURL},
		{"--system", v.system}, {"--prompt", v.prompt}, {"--tool-defs", v.definitions},
	} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return cli.ShellLine(append(words, names...)...)
}
