package rerun

import (
	"context"
	"errors"
	"slices"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace/importer"
)

// Programs are the programs that stand for the tools of runs.
type Programs struct {
	// Tools are programs by the name of the tool. Those of the same command are one
	// process.
	Tools map[string]Program
	// All, if not nil, stands for all tools that Tools does not name. Those whose names a
	// loop does not take answer as recorded.
	All *Program
}

// Rerun is the function Tools with the programs as tools, started for this run and ended
// with it. With an error of a program that did not end as it should, what came of the run
// is returned as well.
func (ps *Programs) Rerun(ctx context.Context, run *importer.Run, o *Options) (*ToolsRerun, error) {
	p, err := newPath(run)
	if err != nil {
		return nil, place(run, err)
	}
	started := map[string]*Process{}
	var order []*Process
	var tools []loop.Tool
	for _, name := range p.called() {
		program, ok := ps.Tools[name]
		if !ok && ps.All != nil {
			_, err := loop.RawTool(name, "", nil, nil)
			program, ok = *ps.All, err == nil
		}
		if !ok {
			continue
		}
		process := started[program.Command]
		if process == nil {
			process = program.Serve(run)
			started[program.Command] = process
			order = append(order, process)
		}
		tools = append(tools, process.Tool(name))
	}
	out, err := p.playTools(ctx, o, tools)
	for _, process := range slices.Backward(order) {
		err = errors.Join(err, process.Close())
	}
	if err != nil {
		err = place(run, err)
	}
	return out, err
}
