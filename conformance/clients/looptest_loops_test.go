package clients

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/looptape/looptape/loop/looptest"
)

// uniqueIDs is an exception: the providers of these loops generate unique ids.
const uniqueIDs = "INV-04=the provider generates unique ids"

// loopUnderTest is the adapter of a loop for the suite.
type loopUnderTest func(ctx context.Context, client *http.Client, baseURL string, in *looptest.Input) (string, error)

// sdkLoops are loops with SDKs. Each has no fault, or the one with this name.
var sdkLoops = map[string]func(fault string) loopUnderTest{
	"anthropic streaming": anthropicStreamingLoop,
	"responses previous":  responsesPreviousLoop,
}

// TestAnthropicStreamingLoop runs the suite against a loop with Anthropic's SDK and streaming responses.
func TestAnthropicStreamingLoop(t *testing.T) {
	looptest.HTTP(t, anthropicStreamingLoop(""), uniqueIDs)
}

// TestResponsesPreviousLoop runs the suite against a loop with OpenAI's SDK and Responses, in which
// each request has the id of the response before it, and only the results of its calls.
func TestResponsesPreviousLoop(t *testing.T) {
	looptest.HTTP(t, responsesPreviousLoop(""), uniqueIDs)
}

func anthropicStreamingLoop(fault string) loopUnderTest {
	return func(ctx context.Context, client *http.Client, baseURL string, in *looptest.Input) (string, error) {
		a := newFaultyAgent(fault, in)
		params := anthropic.MessageNewParams{
			Model: "claude-sonnet-4-5", MaxTokens: 4000,
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(in.Messages[0].Text()))},
		}
		for _, tool := range in.Tools {
			params.Tools = append(params.Tools, anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: map[string]any{}}, tool.Name))
		}
		api := anthropic.NewClient(anthropicoption.WithHTTPClient(client), anthropicoption.WithBaseURL(baseURL+"/anthropic"), anthropicoption.WithAPIKey(key))
		for {
			message, err := a.streamAnthropic(ctx, &api, params)
			if err != nil {
				return "", err
			}
			var answer string
			var calls []agentCall
			for _, block := range message.Content {
				switch block.Type {
				case "text":
					answer += block.Text
				case "tool_use":
					calls = append(calls, agentCall{block.ID, block.Name, string(block.Input)})
				}
			}
			if len(calls) == 0 || fault == "stop reason" && message.StopReason == anthropic.StopReasonEndTurn {
				if !a.continues() {
					return answer, nil
				}
				params.Messages = append(params.Messages, message.ToParam(), anthropic.NewUserMessage(anthropic.NewTextBlock("continue")))
				continue
			}
			var results []anthropic.ContentBlockParamUnion
			for _, r := range a.results(ctx, calls) {
				results = append(results, anthropic.NewToolResultBlock(r.id, r.text, false))
			}
			params.Messages = append(params.Messages, message.ToParam(), anthropic.NewUserMessage(results...))
		}
	}
}

// streamAnthropic returns the message of a streaming response.
func (a *faultyAgent) streamAnthropic(ctx context.Context, api *anthropic.Client, params anthropic.MessageNewParams) (message anthropic.Message, err error) {
	events := api.Messages.NewStreaming(a.modelContext(ctx), params)
	defer func() { err = cmp.Or(err, events.Close()) }()
	for events.Next() {
		if err := message.Accumulate(events.Current()); err != nil {
			return message, err
		}
	}
	return message, events.Err()
}

func responsesPreviousLoop(fault string) loopUnderTest {
	return func(ctx context.Context, client *http.Client, baseURL string, in *looptest.Input) (string, error) {
		a := newFaultyAgent(fault, in)
		params := responses.ResponseNewParams{Model: "gpt-5"}
		for _, tool := range in.Tools {
			params.Tools = append(params.Tools, responses.ToolParamOfFunction(tool.Name, map[string]any{"type": "object", "properties": map[string]any{}}, false))
		}
		input := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(in.Messages[0].Text(), responses.EasyInputMessageRoleUser)}
		api := openai.NewClient(option.WithHTTPClient(client), option.WithBaseURL(baseURL+"/openai/v1"), option.WithAPIKey(key))
		for {
			params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: input}
			response, err := api.Responses.New(a.modelContext(ctx), params)
			if err != nil {
				return "", err
			}
			if fault != "first id" || !params.PreviousResponseID.Valid() {
				params.PreviousResponseID = param.NewOpt(response.ID)
			}
			if fault != "resends" {
				input = nil
			}
			var calls []agentCall
			for _, item := range response.Output {
				if item, ok := item.AsAny().(responses.ResponseFunctionToolCall); ok {
					calls = append(calls, agentCall{item.CallID, item.Name, item.Arguments})
				}
			}
			if len(calls) == 0 {
				if !a.continues() {
					return response.OutputText(), nil
				}
				input = append(input, responses.ResponseInputItemParamOfMessage("continue", responses.EasyInputMessageRoleUser))
				continue
			}
			for _, r := range a.results(ctx, calls) {
				output := responses.ResponseInputItemParamOfFunctionCallOutput(r.text)
				output.OfFunctionCallOutput.CallID = param.NewOpt(r.id)
				input = append(input, output)
			}
		}
	}
}

// faultyAgent runs the tools of a loop, with the fault.
type faultyAgent struct {
	myAgent
	fault     string
	continued bool
}

type agentCall struct{ id, name, arguments string }

type agentResult struct{ id, text string }

func newFaultyAgent(fault string, in *looptest.Input) *faultyAgent {
	a := &faultyAgent{myAgent{tools: map[string]func(ctx context.Context, arguments string) (string, error){}}, fault, false}
	for _, tool := range in.Tools {
		a.tools[tool.Name] = tool.Run
	}
	return a
}

// modelContext returns the context of a model call.
func (a *faultyAgent) modelContext(ctx context.Context) context.Context {
	if a.fault == "ignores cancel" {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// continues reports whether the loop continues after a response without calls, as a fault, and once.
func (a *faultyAgent) continues() bool {
	again := a.fault == "continues" && !a.continued
	a.continued = true
	return again
}

// results runs the calls.
func (a *faultyAgent) results(ctx context.Context, calls []agentCall) (list []agentResult) {
	for _, c := range calls {
		list = append(list, agentResult{c.id, a.call(ctx, c.name, c.arguments)})
	}
	switch {
	case len(list) < 2:
	case a.fault == "drops":
		list = slices.Delete(list, 1, 2)
	case a.fault == "mixes":
		list[0].text, list[1].text = list[1].text, list[0].text
	}
	return list
}

// TestFaultyLoopProcess is the test that TestFaultyLoops runs in another process.
func TestFaultyLoopProcess(t *testing.T) {
	name, fault, ok := strings.Cut(os.Getenv("LOOPTEST_LOOP"), ":")
	if !ok {
		t.Skip("TestFaultyLoops runs this test")
	}
	looptest.HTTP(t, sdkLoops[name](fault), uniqueIDs)
}

// TestFaultyLoops checks that each fault fails its test with the violation of its invariant.
func TestFaultyLoops(t *testing.T) {
	for loop, faults := range map[string]map[string]string{
		"anthropic streaming": {"drops": "INV-01", "mixes": "INV-01", "continues": "INV-11", "stop reason": "INV-11", "ignores cancel": "INV-17"},
		"responses previous":  {"drops": "INV-01", "mixes": "INV-01", "continues": "INV-11", "first id": "INV-01", "resends": "INV-01", "ignores cancel": "INV-17"},
	} {
		for fault, invariant := range faults {
			t.Run(loop+" "+fault, func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFaultyLoopProcess$") //nolint:gosec // this test
				cmd.Env = append(os.Environ(), "LOOPTEST_LOOP="+loop+":"+fault)
				out, err := cmd.CombinedOutput()
				if err == nil || !strings.Contains(string(out), " "+invariant+": run ") {
					t.Errorf("got the error %v and the output:\n%s\nwant a violation of %s", err, out, invariant)
				}
			})
		}
	}
}
