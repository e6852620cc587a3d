package looptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/looptest"
)

// providerBugs are about responses that providers really send.
var providerBugs = []knownBug{
	{
		name: "finish reason stop with calls", thread: "vercel/workflow#1387", invariant: "INV-11",
		fault: "The calls of a response with the finish reason stop are not run, and the run ends.",
		change: func(s *small) {
			s.accept = func(c *smallRun, resp *llm.Response) []llm.ToolCall {
				calls := accept(c, resp)
				if resp.FinishReason != llm.FinishToolCalls {
					return nil
				}
				return calls
			}
		},
	},
	{
		name: "finish reason tool calls without calls", thread: "mastra-ai/mastra#14187", invariant: "INV-11",
		fault: "A response without calls and with the finish reason tool calls continues the loop.",
		change: func(s *small) {
			s.steps = func(c *smallRun) error {
				var last llm.FinishReason
				own := *c.small
				c.small = &own
				c.call = func(c *smallRun) (*llm.Response, error) {
					resp, err := call(c)
					last = resp.FinishReason
					return resp, err
				}
				for {
					if err := steps(c); err != nil || last != llm.FinishToolCalls {
						return err
					}
				}
			}
		},
	},
	{
		name: "the tool name as id", thread: "cloudwego/eino-ext#652", invariant: "INV-04",
		fault: "The id of a call is the name of its tool, so two calls of a tool have one id.",
		change: func(s *small) {
			s.accept = func(c *smallRun, resp *llm.Response) []llm.ToolCall {
				m := resp.Message()
				for i, p := range m.Parts {
					if call, ok := p.(llm.ToolCall); ok {
						call.ID = call.Name
						m.Parts[i] = call
					}
				}
				c.history = append(c.history, m)
				return m.Calls()
			}
		},
	},
	{
		name: "results of a repeated id are dropped", thread: "NousResearch/hermes-agent#70724", invariant: "INV-01",
		fault: "A result with an id that was seen before is dropped as a duplicate.",
		change: func(s *small) {
			s.accept = keepIDs
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				results, err := batch(c, calls)
				return slices.DeleteFunc(results, func(r llm.ToolResult) bool {
					seen := c.ids[r.ID]
					c.ids[r.ID] = true
					return seen
				}), err
			}
		},
	},
	{
		name: "results of an empty id are dropped", thread: "can1357/oh-my-pi#4108", invariant: "INV-01",
		fault: "A call with an empty id is run, and its result is deleted from the history.",
		change: func(s *small) {
			s.accept = keepIDs
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				results, err := batch(c, calls)
				return slices.DeleteFunc(results, func(r llm.ToolResult) bool { return r.ID == "" }), err
			}
		},
	},
	{
		name: "an unknown tool ends the run", thread: "openai/openai-agents-python#3459", invariant: "INV-23",
		fault: "A call of an unknown tool raises an error that ends the run.",
		change: func(s *small) {
			s.steps = func(c *smallRun) error {
				return stepsUntil(c, func(call llm.ToolCall) bool { return !c.has(call.Name) })
			}
		},
	},
	{
		name: "a call without a name is dropped", thread: "xorbitsai/xagent#1504", invariant: "INV-11", opts: &looptest.ExploreOptions{Script: oneCall()},
		fault: "Calls without a name are filtered out, and a response with only such calls ends the run as a success.",
		change: func(s *small) {
			s.accept = func(c *smallRun, resp *llm.Response) []llm.ToolCall {
				resp.Parts = slices.DeleteFunc(resp.Parts, func(p llm.Part) bool {
					call, isCall := p.(llm.ToolCall)
					return isCall && call.Name == ""
				})
				return accept(c, resp)
			}
		},
	},
	{
		name: "a call without a name ends the run", thread: "github/copilot-sdk#1540", invariant: "INV-07",
		fault: "A call without a name is an error of the session, and the history keeps the call without a result.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				if slices.ContainsFunc(calls, func(call llm.ToolCall) bool { return call.Name == "unnamed" }) {
					return nil, errors.New("tool name is missing")
				}
				return batch(c, calls)
			}
		},
	},
	{
		name: "invalid arguments become an empty object", thread: "brightwave-inc/tidebreak#1084", invariant: "INV-09",
		fault: "Arguments that are not JSON become an empty object, and the tool is run.",
		change: func(s *small) {
			s.tool = func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
				if !json.Valid([]byte(call.Arguments)) {
					call.Arguments = "{}"
				}
				return tool(ctx, c, call)
			}
		},
	},
	{
		name: "calls merged by index", thread: "langchain-ai/langchain#34807", invariant: "INV-01",
		fault: "Calls of a stream are merged if they have one index, although their ids differ.",
		change: func(s *small) {
			s.call = mergeByIndex
		},
	},
	{
		name: "tools run while the response comes", thread: "swisnl/agents-sdk#35", invariant: "INV-09",
		fault: "A tool is run as soon as its call has come, before the response is complete.",
		change: func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				var acc llm.Accumulator
				for ev, err := range c.in.Model.Stream(c.ctx, &llm.Request{Messages: slices.Clone(c.history)}) {
					if err != nil {
						c.usage = c.usage.Add(acc.Response().Usage)
						return acc.Response(), err
					}
					if acc.Add(ev); isEnd(ev) {
						calls := acc.Response().Calls()
						c.queue <- tool(c.ctx, c, calls[len(calls)-1])
					}
				}
				c.usage = c.usage.Add(acc.Response().Usage)
				return acc.Response(), nil
			}
			s.batch = func(c *smallRun, calls []llm.ToolCall) (results []llm.ToolResult, err error) {
				for i := range calls {
					r := failed(calls[i], "the call has no end")
					if len(c.queue) > 0 {
						r = <-c.queue
					}
					r.ID, r.Name = calls[i].ID, calls[i].Name
					results = append(results, r)
				}
				return results, nil
			}
		},
	},
	{
		name: "cumulative usage is summed", thread: "microsoft/agent-framework#7143", invariant: "INV-18",
		fault: "The usage of each event of a stream is added, although the later one includes the earlier one.",
		change: func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				var acc llm.Accumulator
				for ev, err := range c.in.Model.Stream(c.ctx, &llm.Request{Messages: slices.Clone(c.history)}) {
					if err != nil {
						return acc.Response(), err
					}
					if u, ok := ev.(llm.Usage); ok {
						c.usage = c.usage.Add(u)
					}
					acc.Add(ev)
				}
				return acc.Response(), nil
			}
		},
	},
	{
		name: "the usage of the last step only", thread: "browserbase/stagehand#1596", invariant: "INV-18",
		fault: "The usage of a run is that of its last step.",
		change: func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				c.usage = llm.Usage{}
				return call(c)
			}
		},
	},
	{
		name: "a retry keeps the partial response", thread: "shiaho777/web-to-app#748", invariant: "INV-09",
		fault: "A retry after a broken stream keeps the parts of the first attempt, and their calls come back.",
		change: func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				var acc llm.Accumulator
				var failure error
				for range 2 {
					failure = nil
					for ev, err := range c.in.Model.Stream(c.ctx, &llm.Request{Messages: slices.Clone(c.history)}) {
						if failure = err; err == nil {
							acc.Add(ev)
						}
					}
					if failure == nil || c.ctx.Err() != nil {
						break
					}
				}
				c.usage = c.usage.Add(acc.Response().Usage)
				return acc.Response(), failure
			}
		},
	},
	{
		name: "a retry runs finished tools again", thread: "agno-agi/agno#10366", invariant: "INV-05",
		fault: "A retry of the whole run, after a model call that failed, runs tools again that have succeeded.",
		change: func(s *small) {
			s.steps = func(c *smallRun) error {
				n := len(c.history)
				err := steps(c)
				if err != nil && c.ctx.Err() == nil {
					c.history, c.ids = slices.Clone(c.history[:n]), map[string]bool{}
					err = steps(c)
				}
				return err
			}
		},
	},
	{
		name: "a truncated stream is a success", thread: "ag-ui-protocol/ag-ui#2300", invariant: "INV-11",
		fault: "A stream that breaks counts as the end of the response, so the run ends without an error.",
		change: func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				resp, err := call(c)
				if err != nil && c.ctx.Err() == nil {
					resp.Parts = slices.DeleteFunc(resp.Parts, func(p llm.Part) bool { _, isCall := p.(llm.ToolCall); return isCall })
					return resp, nil
				}
				return resp, err
			}
		},
	},
	{
		name: "calls of a failed response stay", thread: "earendil-works/pi#9306", invariant: "INV-07",
		fault: "A response that fails after some of its calls is kept, and its calls get no results.",
		change: func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				resp, err := call(c)
				if err != nil {
					accept(c, resp)
				}
				return resp, err
			}
		},
	},
}

// historyBugs are about messages that the loop sends again.
var historyBugs = []knownBug{
	{
		name: "an empty response is sent back", thread: "defilantech/LLMKube#935", invariant: "INV-24",
		fault: "An empty response is appended to the history and sent with the next request.",
		change: func(s *small) {
			s.steps = func(c *smallRun) error {
				for c.ctx.Err() == nil {
					err := steps(c)
					if err != nil || c.history[len(c.history)-1].Role == llm.RoleAssistant {
						return err
					}
					c.history = append(c.history, llm.Assistant(), llm.User("continue"))
				}
				return c.ctx.Err()
			}
		},
	},
	{
		name: "a window that splits a step", thread: "n8n-io/n8n#26046", invariant: "INV-01",
		fault: "The window of the last messages begins with results without the message with their calls.",
		change: func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				history := c.history
				defer func() { c.history = history }()
				if n := len(history) - 3; n > 0 {
					c.history = history[n:]
				}
				return call(c)
			}
		},
	},
	{
		name: "only the first call of a step", thread: "dynamiq-ai/dynamiq#902", invariant: "INV-01",
		fault: "Only the first call of a response is run, and the others are erased from the message that is sent back.",
		change: func(s *small) {
			s.accept = func(c *smallRun, resp *llm.Response) []llm.ToolCall {
				first := true
				resp.Parts = slices.DeleteFunc(resp.Parts, func(p llm.Part) bool {
					_, isCall := p.(llm.ToolCall)
					erased := isCall && !first
					first = first && !isCall
					return erased
				})
				return accept(c, resp)
			}
		},
	},
	{
		name: "only the first result of a step", thread: "google/adk-python#187", invariant: "INV-01",
		fault: "All calls of a response are run, and only the first result is sent back.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				results, err := batch(c, calls)
				return results[:1], err
			}
		},
	},
}

// keepIDs is [accept] with the ids of the provider.
func keepIDs(c *smallRun, resp *llm.Response) []llm.ToolCall {
	if len(resp.Parts) > 0 {
		c.history = append(c.history, resp.Message())
	}
	return resp.Calls()
}

// stepsUntil is [steps] with an error at a call that is rejected.
func stepsUntil(c *smallRun, rejected func(llm.ToolCall) bool) error {
	run := c.batch
	c.small = &small{call: c.call, accept: c.accept, tool: c.tool, batch: func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
		if i := slices.IndexFunc(calls, rejected); i >= 0 {
			return nil, fmt.Errorf("tool %q not found", calls[i].Name)
		}
		return run(c, calls)
	}}
	return steps(c)
}

func isEnd(ev llm.Event) bool {
	_, ok := ev.(llm.ToolCallEnd)
	return ok
}

// mergeByIndex collects a response and merges the calls that have one index.
func mergeByIndex(c *smallRun) (*llm.Response, error) {
	var acc llm.Accumulator
	seen := map[int]bool{}
	for ev, err := range c.in.Model.Stream(c.ctx, &llm.Request{Messages: slices.Clone(c.history)}) {
		if err != nil {
			c.usage = c.usage.Add(acc.Response().Usage)
			return acc.Response(), err
		}
		switch ev := ev.(type) {
		case llm.ToolCallStart:
			if seen[ev.Index] {
				continue
			}
			seen[ev.Index] = true
			acc.Add(ev)
		case llm.ToolCallEnd: // the calls end with the response
		default:
			acc.Add(ev)
		}
	}
	c.usage = c.usage.Add(acc.Response().Usage)
	return acc.Response(), nil
}
