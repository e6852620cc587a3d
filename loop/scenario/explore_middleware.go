package scenario

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/trace"
)

// middlewareHooks are where a run can have a middleware that does one thing, at one of the calls of its hook.
var middlewareHooks = []string{
	"", "acts at the start", "acts before a step", "acts around a model call", "acts after a response", "acts before tools",
	"acts around a tool", "acts after a step", "acts at the end",
}

var errMiddleware = errors.New("the middleware failed")

// actor is a middleware of an explored run, outside all others.
type actor struct {
	x     *exploration
	c     *explore.Choices
	acted bool
}

// addMiddleware adds a middleware to the configuration, if that is chosen.
func (x *exploration) addMiddleware(cfg *loop.Config, c *explore.Choices) {
	if !c.MayFault() {
		return
	}
	i := c.Fault("middleware", "", middlewareHooks)
	if i == 0 {
		return
	}
	m := &actor{x: x, c: c}
	hooks := [...]loop.Hooks{
		1: {Start: m.start}, 2: {BeforeStep: m.beforeStep}, 3: {WrapModel: m.wrapModel}, 4: {AfterModel: m.afterModel}, 5: {BeforeTools: m.beforeTools},
		6: {WrapTool: m.wrapTool}, 7: {AfterStep: m.afterStep}, 8: {End: m.end},
	}
	add := loop.Middleware{Name: "explored", New: func(loop.RunInfo) loop.Hooks { return hooks[i] }}
	cfg.Middleware = slices.Concat([]loop.Middleware{add}, cfg.Middleware)
}

// act chooses what the middleware does, and fails if that is chosen.
func (m *actor) act(at string, others ...string) (action string, err error) {
	action = m.choose(at, others...)
	return action, fail(action)
}

// choose chooses what the middleware does. It does one thing in a run.
func (m *actor) choose(at string, others ...string) (action string) {
	if m.acted {
		return ""
	}
	options := slices.Concat([]string{"", "fails", "panics", "ends the goroutine"}, others)
	action = options[m.c.Order("middleware", at, options)]
	m.acted = action != ""
	return action
}

// fail fails in the way of an action, if it is one that fails.
func fail(action string) error {
	switch action {
	case "fails":
		return errMiddleware
	case "panics":
		panic("the middleware panicked")
	case "ends the goroutine":
		runtime.Goexit()
	}
	return nil
}

func stepName(at string, step int) string {
	if step == trace.NoStep {
		return at + " the pending calls"
	}
	return at + " step " + strconv.Itoa(step+1)
}

func (m *actor) start(ctx context.Context) (context.Context, error) {
	action, err := m.act("at the start", "ends the context", "returns a context within")
	switch action {
	case "ends the context":
		ended, cancel := context.WithCancel(ctx)
		cancel()
		return ended, nil
	case "returns a context within":
		return context.WithValue(ctx, actor{}, 1), nil
	}
	return nil, err
}

func (m *actor) beforeStep(ctx context.Context, s *loop.StepInfo) (c loop.StepChange, err error) {
	action, err := m.act(stepName("before", s.Step), "stops the run", "stops the run with an error", "forces the final answer", "removes the tools",
		"adds a message", "replaces the history", "removes the last message", "calls the model")
	switch action {
	case "stops the run":
		c.Action = trace.Stop
	case "stops the run with an error":
		c.Action, c.Err = trace.Stop, errMiddleware
	case "forces the final answer":
		c.Action = trace.ForceFinal
	case "removes the tools":
		c.Tools = []loop.Tool{}
	case "adds a message":
		c.Messages = append(slices.Clone(s.History()), llm.User("Be brief."))
	case "replaces the history":
		c.Messages = []llm.Message{llm.User("Begin again.")}
	case "removes the last message":
		c.Messages = slices.Clone(s.History()[:max(len(s.History())-1, 0)])
	case "calls the model":
		err = m.callModel(ctx, s)
	}
	return c, err
}

// callModel makes a model call of the middleware.
func (m *actor) callModel(ctx context.Context, s *loop.StepInfo) error {
	_, err := s.CallModel(ctx, loop.ModelCall{Purpose: trace.PurposeSummary, Request: &llm.Request{Messages: []llm.Message{llm.User("Summarize.")}}})
	return err
}

func (m *actor) wrapModel(next loop.ModelFunc) loop.ModelFunc {
	return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
		action, err := m.act(stepName("around the model call of", call.Step), "answers", "answers with a call", "returns nothing", "fails after the call",
			"panics after the call", "calls the model twice", "changes the text", "repeats the first part", "sends other messages")
		switch action {
		case "":
		case "answers":
			return &llm.Response{Parts: []llm.Part{llm.Text{Text: "the middleware's answer"}}, FinishReason: llm.FinishStop}, nil
		case "answers with a call":
			name := "none"
			if len(m.x.script.Tools) > 0 {
				name = m.x.script.Tools[0].Name
			}
			return &llm.Response{Parts: []llm.Part{llm.ToolCall{Name: name, Arguments: "{}"}}, FinishReason: llm.FinishToolCalls}, nil
		case "returns nothing":
			return nil, nil
		case "sends other messages":
			req := *call.Request
			req.Messages = []llm.Message{llm.User("Begin again.")}
			call.Request = &req
		}
		if err != nil {
			return nil, err
		}
		response, err := next(ctx, call)
		switch {
		case action == "fails after the call":
			return response, errMiddleware
		case action == "panics after the call":
			panic("the middleware panicked")
		case action == "calls the model twice":
			return next(ctx, call)
		case action == "changes the text" && err == nil:
			changed := *response
			changed.Parts = slices.Concat([]llm.Part{llm.Text{Text: "By the middleware: "}}, response.Parts)
			return &changed, nil
		case action == "repeats the first part" && err == nil:
			changed := *response
			changed.Parts = slices.Concat(response.Parts[:min(1, len(response.Parts))], response.Parts)
			return &changed, nil
		}
		return response, err
	}
}

func (m *actor) afterModel(_ context.Context, s *loop.StepInfo, _ *llm.Response) (d loop.Decision, err error) {
	action, err := m.act(stepName("after the response of", s.Step), "stops the run", "stops the run with an error", "continues")
	switch action {
	case "stops the run":
		d.Action = trace.Stop
	case "stops the run with an error":
		d.Action, d.Err = trace.Stop, errMiddleware
	case "continues":
		d.Action, d.Messages = trace.Continue, []llm.Message{llm.User("More.")}
	}
	return d, err
}

func (m *actor) beforeTools(_ context.Context, s *loop.StepInfo, calls []loop.PlannedCall) (all []loop.CallDecision, d loop.Decision, err error) {
	action, err := m.act(stepName("before the tools of", s.Step), "stops the run", "suspends the run", "answers the first call", "answers all calls",
		"changes the arguments of the last call", "changes the arguments of the last call into a list", "decides about an unknown call")
	answer := new(loop.TextOutput("the middleware's result"))
	last := len(calls) - 1
	switch action {
	case "stops the run":
		d.Action = trace.Stop
	case "suspends the run":
		d.Action = trace.Suspend
	case "answers the first call":
		all = []loop.CallDecision{{Index: calls[0].Index, Output: answer}}
	case "answers all calls":
		for _, p := range calls {
			all = append(all, loop.CallDecision{Index: p.Index, Output: answer})
		}
	case "changes the arguments of the last call":
		all = []loop.CallDecision{{Index: calls[last].Index, Arguments: `{"changed":true}`}}
	case "changes the arguments of the last call into a list":
		all = []loop.CallDecision{{Index: calls[last].Index, Arguments: `[1]`}}
	case "decides about an unknown call":
		all = []loop.CallDecision{{Index: calls[last].Index + 1, Output: answer}}
	}
	return all, d, err
}

func (m *actor) wrapTool(next loop.ToolFunc) loop.ToolFunc {
	return func(ctx context.Context, call loop.Call) (loop.Output, error) {
		action := m.choose("around "+call.ID, "answers", "runs the tool twice", "changes the arguments", "changes the arguments into a list",
			"fails after the tool", "panics after the tool", "changes the result into an error")
		switch action {
		case "fails", "panics", "ends the goroutine", "answers", "changes the arguments into a list": // a call that does not run ends in any order, too
			if _, _, err := m.x.world.Await(ctx, "", "middleware around "+call.ID, []string{""}); err != nil {
				return loop.Output{}, err
			}
		}
		if err := fail(action); err != nil {
			return loop.Output{}, err
		}
		switch action {
		case "answers":
			return loop.TextOutput("the middleware's result"), nil
		case "changes the arguments":
			call.Arguments = `{"changed":true}`
		case "changes the arguments into a list":
			call.Arguments = `[1]`
		}
		out, err := next(ctx, call)
		switch action {
		case "runs the tool twice":
			return next(ctx, call)
		case "fails after the tool":
			return out, errMiddleware
		case "panics after the tool":
			panic("the middleware panicked")
		case "changes the result into an error":
			out.IsError = true
		}
		return out, err
	}
}

func (m *actor) afterStep(ctx context.Context, s *loop.StepInfo, _ *loop.Step) (d loop.Decision, err error) {
	action, err := m.act(stepName("after", s.Step), "stops the run", "stops the run with an error", "forces the final answer", "calls the model")
	switch action {
	case "stops the run":
		d.Action = trace.Stop
	case "stops the run with an error":
		d.Action, d.Err = trace.Stop, errMiddleware
	case "forces the final answer":
		d.Action = trace.ForceFinal
	case "calls the model":
		err = m.callModel(ctx, s)
	}
	return d, err
}

func (m *actor) end(_ context.Context, res loop.Result) (loop.Result, error) {
	action, err := m.act("at the end", "changes the result")
	if action != "" && err == nil {
		res.Text, res.Steps = "the middleware's result", nil
	}
	return res, err
}
