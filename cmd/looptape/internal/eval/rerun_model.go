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
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
)

// other returns a rerun with another model or prompt.
func (v *rerunner) other() (rerunning, error) {
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
	m := &otherModel{v.w, o, nil, rerun.NewModelReport()}
	if tape, ok := strings.CutPrefix(v.model, "cassette:"); ok {
		v.client.Cassette = tape
		return m, v.taped(m)
	}
	if v.recording || v.client.Provider != "" || v.client.BaseURL != "" {
		return nil, errors.New("--record, --provider and --base-url need a cassette: set --model cassette:FILE")
	}
	return m, v.scripted(m)
}

// taped uses a cassette as the model.
func (v *rerunner) taped(m *otherModel) error {
	model, err := v.models.open(&v.client)
	m.model = func(ctx context.Context, _ *rerun.Recorded) (context.Context, llm.Model, loop.Clock) {
		return ctx, model, nil
	}
	return err
}

// scripted uses a scenario as the model. The session of a run has the name of its case or of
// the run; otherwise it is the first.
func (v *rerunner) scripted(m *otherModel) error {
	src, err := v.w.ReadAll(v.model)
	if err != nil {
		return err
	}
	f, err := scenario.Parse(v.model, src)
	if err != nil {
		return err
	}
	sessions := f.Script.Models
	m.model = func(ctx context.Context, run *rerun.Recorded) (context.Context, llm.Model, loop.Clock) {
		clock := fake.NewClock()
		clock.OpenInOrder(f.Script.Gates...)
		session := sessions[0].Name
		for _, name := range []string{run.Case, run.Name} {
			if slices.ContainsFunc(sessions, func(l fake.ModelScript) bool { return l.Name == name }) {
				session = name
			}
		}
		return fake.WithSession(ctx, session), f.Script.NewModel(clock), clock
	}
	return nil
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

// otherModel is a rerunning of a model.
type otherModel struct {
	w       *cli.World
	options rerun.ModelOptions
	// model returns the model of a run and its clock, which may be nil.
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

func (m *otherModel) end() (rerunResult, error) {
	r := m.report
	return rerunResult{r, r.Unreadable, len(r.Runs), r.Diverged()}, nil
}
