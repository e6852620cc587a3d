package agentloop

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sort"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/internal/dialect"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// ApprovalResolved is the Data of onApprovalResolved.
type ApprovalResolved struct {
	Request  middleware.ApprovalRequest
	Decision middleware.Approval
}

// middleware returns the agent's own middleware in the order of the reference loop. Guardrails
// of the output come first, so that no middleware can end a run with an unchecked response.
// The caller's middleware changes messages and arguments before guardrails of the input and
// permissions check them.
func (r *run) middleware() []loop.Middleware {
	own := loop.Middleware{Name: name, New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{
			BeforeStep: r.beforeStep,
			WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
				return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
					began := r.clock.Now()
					response, err := next(ctx, call)
					r.latency = r.clock.Now().Sub(began)
					return response, err
				}
			},
			AfterModel: r.afterModel,
			BeforeTools: func(_ context.Context, s *loop.StepInfo, _ []loop.PlannedCall) ([]loop.CallDecision, loop.Decision, error) {
				r.Loop.mu.Lock()
				defer r.Loop.mu.Unlock()
				r.partial = slices.DeleteFunc(s.Results, func(res llm.ToolResult) bool { return res.ID == "" })
				return nil, loop.Decision{}, nil
			},
			End: func(_ context.Context, res loop.Result) (loop.Result, error) {
				r.resumed(res.Messages)
				return res, nil
			},
		}
	}}
	tools := middleware.ToolHooks{
		Start: func(ctx context.Context, t *middleware.ToolStarting) error {
			err := r.emitStep(ctx, OnToolCallStart, t.Step, t)
			r.note(t.Call.ID).skipped = t.Skip
			return err
		},
		Done: func(ctx context.Context, d middleware.ToolDone) error {
			n := r.note(d.Call.ID)
			n.latency, n.metrics = d.Latency, d.Metrics
			return r.emitStep(ctx, OnToolCallComplete, d.Call.Step, d)
		},
		Failed: r.toolFailed,
	}
	list := []loop.Middleware{own, tools.Middleware()}
	if rails := r.guardrails(middleware.GuardOutput); rails != nil {
		list = append(list, middleware.Guardrails(rails, r.triggered))
	}
	list = append(list, r.cfg.Middleware...)
	if rails := r.guardrails(middleware.GuardInput); rails != nil {
		list = append(list, middleware.Guardrails(rails, r.triggered))
	}
	if r.cfg.Policy != nil {
		list = append(list, middleware.Permissions(r.cfg.Policy, r.approvalHooks()))
	}
	return list
}

func (r *run) guardrails(kind middleware.GuardrailKind) (rails []middleware.Guardrail) {
	for _, g := range r.cfg.Guardrails {
		if g.Kind == kind {
			rails = append(rails, g)
		}
	}
	return rails
}

func (r *run) approvalHooks() *middleware.Approvals {
	a := &middleware.Approvals{
		Approve: r.cfg.Approve, Store: &r.approvals,
		Requested: func(ctx context.Context, req middleware.ApprovalRequest) error {
			return r.emitStep(ctx, OnApprovalRequested, req.Step, req)
		},
		Resolved: func(ctx context.Context, req middleware.ApprovalRequest, got middleware.Approval) error {
			r.note(req.Call.ID).skipped = got.Decision == middleware.Skip
			return r.emitStep(ctx, OnApprovalResolved, req.Step, ApprovalResolved{req, got})
		},
	}
	if save := r.cfg.Checkpoint; save != nil {
		a.Checkpoint = func(ctx context.Context) error { return save(ctx, "agent-loop:"+r.ID(), r.Dump()) }
	}
	return a
}

func (r *run) emitStep(ctx context.Context, name string, step int, data any) error {
	return r.emit(ctx, Event{Name: name, Run: r.id, Step: step, Data: data})
}

func (r *run) note(callID string) *note {
	n := r.notes[callID]
	if n == nil {
		n = new(note)
		r.notes[callID] = n
	}
	return n
}

func (r *run) beforeStep(ctx context.Context, s *loop.StepInfo) (c loop.StepChange, err error) {
	r.step, r.attempt = s.Step, 0
	if r.resumes != nil {
		own := s.History()
		known := min(r.history.Len(), len(own))
		for i := r.response0 + 1; i < known; i++ { // the loop has put the results in the order of their calls
			_, _ = r.history.SpliceRange(i, i+1, own[i]) // the range is within the history
		}
		r.resumed(own[known:])
	}
	if err := r.emitStep(ctx, OnStepStart, s.Step, nil); err != nil {
		return c, err
	}
	c = r.offer(s)
	c.Request.System = llm.SystemText(r.history.System())
	if r.marks {
		c.Request.System = r.history.Layers().System()
	}
	// Send the history only if other code has changed it. Otherwise keep the messages of
	// the run, which the caller's middleware may have changed.
	list := r.history.Messages()
	if n := r.history.Splices(); n != r.splices || len(list) != r.known {
		r.splices, r.known = n, len(list)
		c.Messages, c.Note = list, "history"
	}
	return c, nil
}

// offer sets the tools of a step: the added tools and those of the run's options.
func (r *run) offer(s *loop.StepInfo) loop.StepChange {
	c := loop.StepChange{Request: s.Request}
	if tools, added := r.toolsNow(); added != r.added {
		r.added = added
		all := s.Tools()
		for _, t := range tools {
			all = put(all, t)
		}
		c.Tools, c.Request.Tools = all, nil
		for _, t := range all {
			c.Request.Tools = append(c.Request.Tools, t.Definition())
		}
	}
	if len(r.opts.Tools) > 0 {
		given := slices.Clone(r.opts.Tools)
		for i, t := range given {
			given[i].Name = key(t.Name, t.Builtin)
		}
		c.Request.Tools = slices.DeleteFunc(slices.Clone(c.Request.Tools), func(own llm.Tool) bool {
			return slices.ContainsFunc(given, func(t llm.Tool) bool { return t.Name == own.Name })
		})
		c.Request.Tools = append(c.Request.Tools, given...)
	}
	return c
}

// afterModel appends the response to the history and emits onStepComplete.
func (r *run) afterModel(ctx context.Context, s *loop.StepInfo, response *llm.Response) (loop.Decision, error) {
	model := cmp.Or(response.Model, s.Request.Model)
	if list := s.History(); len(list) > len(s.Request.Messages) {
		r.keep(list[len(list)-1], history.Meta{Model: model, Usage: response.Usage, Latency: r.latency})
	}
	r.report.Model = model
	r.unchecked = r.guardrails(middleware.GuardOutput) != nil
	r.response = Response{Content: response.Parts, FinishReason: finishReason(response.FinishReason, len(response.Calls())), Usage: response.Usage, Model: model}
	step := r.response
	return loop.Decision{}, r.emitStep(ctx, OnStepComplete, s.Step, &step)
}

// keep appends a message that the kernel already has to the history, which then has the results
// of the step.
func (r *run) keep(m llm.Message, meta history.Meta) {
	r.Loop.mu.Lock()
	defer r.Loop.mu.Unlock()
	r.history.Append(m, meta)
	r.known++
	r.partial = nil
}

// onStep appends results to the history and the step to the report.
func (r *run) onStep(step loop.Step) {
	r.unchecked = false
	for _, m := range step.Messages {
		if m.Role == llm.RoleTool {
			r.keep(m, history.Meta{})
		}
	}
	if !r.tripped && (step.Results != nil || len(step.Calls) == 0) {
		r.report.add(r.stepReport(step))
	}
}

// resumed appends the messages of a run from before its first step to the history, in which one
// message has all results of a response. The report has the results of pending calls as a
// separate first step.
func (r *run) resumed(added []llm.Message) {
	if r.resumes == nil || len(added) == 0 {
		return
	}
	for _, m := range added {
		r.keep(m, history.Meta{})
	}
	step := loop.Step{Index: trace.NoStep, Calls: r.resumes}
	for _, m := range r.history.Messages()[r.response0+1:] {
		for _, p := range m.Parts {
			if res, ok := p.(llm.ToolResult); ok {
				step.Results = append(step.Results, res)
			}
		}
	}
	r.resumes = nil
	r.joinResults(r.response0)
	r.report.add(r.stepReport(step))
}

// joinResults joins the messages with the results of a response, in the order of its calls.
func (r *run) joinResults(response int) {
	list := r.history.Messages()
	from, to := response+1, response+1
	var results []llm.Part
	for ; to < len(list) && list[to].Role == llm.RoleTool; to++ {
		results = append(results, list[to].Parts...)
	}
	if to-from < 2 {
		return
	}
	place := map[string]int{}
	for i, c := range list[response].Calls() {
		place[c.ID] = i
	}
	sort.SliceStable(results, func(i, j int) bool {
		x, _ := results[i].(llm.ToolResult)
		y, _ := results[j].(llm.ToolResult)
		return place[x.ID] < place[y.ID]
	})
	_, _ = r.history.SpliceRange(from, to, llm.Message{Role: llm.RoleTool, Parts: results}) // the range is within the history
}

func (r *run) stepReport(step loop.Step) StepReport {
	rep := StepReport{
		Index: step.Index, Type: "initial", LLMLatencyMs: dialect.Milliseconds(r.latency), Usage: usageOf(step.Usage),
		FinishReason: finishReason(step.FinishReason, len(step.Calls)), ToolCalls: []ToolCallReport{}, // not null
	}
	results := map[string]llm.ToolResult{}
	for _, res := range step.Results {
		results[res.ID] = res
	}
	if len(r.report.Steps) > 0 {
		rep.Type = "tool_followup"
	}
	for _, c := range step.Calls {
		n, res := r.note(c.ID), results[c.ID]
		if res.ID == "" {
			continue // the call waits
		}
		call := ToolCallReport{
			CallID: c.ID, ToolName: c.Name, Arguments: object(c.Arguments), ResultSizeBytes: sizeOf(res.Content),
			LatencyMs: dialect.Milliseconds(n.latency), Skipped: n.skipped, Metrics: map[string]middleware.Metric{}, // not null
		}
		maps.Copy(call.Metrics, n.metrics)
		if res.IsError {
			call.Error = new(cmp.Or(n.err, errors.New(res.Text())).Error())
		}
		rep.ToolCalls = append(rep.ToolCalls, call)
		rep.ToolTotalMs += call.LatencyMs
	}
	return rep
}

func (r *run) toolFailed(ctx context.Context, f *middleware.ToolFailed) error {
	n := r.note(f.Call.ID)
	n.latency, n.metrics, n.err = f.Latency, f.Metrics, f.Err
	if err := r.emitStep(ctx, OnToolCallError, f.Call.Step, f); err != nil || !f.Unknown {
		return err
	}
	return r.emitStep(ctx, OnWarning, f.Call.Step, trace.Warning{Code: middleware.WarnToolNotFound, Message: f.Err.Error()})
}

func (r *run) triggered(ctx context.Context, g middleware.GuardrailTrigger) error {
	if g.Tripwire {
		r.tripped, r.reason = true, g.Reason
	}
	return r.emitStep(ctx, OnGuardrailTriggered, g.Step, g)
}
