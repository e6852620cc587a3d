package rerun

import (
	"context"
	"errors"
	"slices"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace/importer"
)

// Programs are the programs that implement the tools of runs.
type Programs struct {
	// Tools are programs by tool name. Programs with the same command share a process.
	Tools map[string]Program
	// All implements the tools that Tools does not name; may be nil. Tools with names that the
	// loop rejects use the recorded results.
	All *Program
}

// Rerun is [Tools] with the programs as tools. It starts them for this run and ends them with it.
// It returns the result also with the error of a program.
func (ps *Programs) Rerun(ctx context.Context, run *importer.Run, o *Options) (*ToolsRerun, error) {
	p, err := newPath(run)
	if err != nil {
		return nil, place(run, err)
	}
	started := map[string]*process{}
	var order []*process
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
		served := started[program.Command]
		if served == nil {
			served = program.serve(run)
			started[program.Command] = served
			order = append(order, served)
		}
		tools = append(tools, loop.Tool{Name: name, Run: served.call})
	}
	out, err := p.playTools(ctx, o, tools)
	for _, served := range slices.Backward(order) {
		err = errors.Join(err, served.close())
	}
	if err != nil {
		err = place(run, err)
	}
	return out, err
}
