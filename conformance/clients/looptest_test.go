package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
	"google.golang.org/genai"

	"github.com/looptape/looptape/loop/looptest"
)

// TestMyAgent is the example of docs/testing-your-loop.md.
func TestMyAgent(t *testing.T) {
	looptest.HTTP(t, runMyAgent, "INV-04=api.openai.com generates unique ids")
}

func runMyAgent(ctx context.Context, client *http.Client, baseURL string, in *looptest.Input) (string, error) {
	agent := myAgent{
		api:   openai.NewClient(option.WithHTTPClient(client), option.WithBaseURL(baseURL+"/openai/v1"), option.WithAPIKey("any-key")),
		tools: map[string]func(ctx context.Context, arguments string) (string, error){},
	}
	for _, tool := range in.Tools {
		agent.tools[tool.Name] = tool.Run
	}
	return agent.Run(ctx, in.Messages[0].Text())
}

// myAgent is an agent with OpenAI's SDK.
type myAgent struct {
	api   openai.Client
	tools map[string]func(ctx context.Context, arguments string) (string, error)
}

func (a *myAgent) Run(ctx context.Context, prompt string) (string, error) {
	params := openai.ChatCompletionNewParams{Model: "gpt-5", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)}}
	for _, name := range slices.Sorted(maps.Keys(a.tools)) { // the order of the map differs from run to run
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: name, Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{}}}))
	}
	for {
		completion, err := a.api.Chat.Completions.New(ctx, params)
		if err != nil {
			return "", err
		}
		if len(completion.Choices) == 0 {
			return "", errors.New("the response has no message")
		}
		message := completion.Choices[0].Message
		if len(message.ToolCalls) == 0 {
			return message.Content, nil
		}
		params.Messages = append(params.Messages, message.ToParam())
		for _, call := range message.ToolCalls {
			params.Messages = append(params.Messages, openai.ToolMessage(a.call(ctx, call.Function.Name, call.Function.Arguments), call.ID))
		}
	}
}

// TestMyAgentExplored explores the agent: its requests depend on the order of answers alone.
func TestMyAgentExplored(t *testing.T) {
	looptest.ExploreHTTP(t, runMyAgent, &looptest.ExploreOptions{Exceptions: []string{
		"INV-04=api.openai.com generates unique ids",
		"INV-05=api.openai.com sends a text as a string, not as a list of parts",
		"INV-09=api.openai.com has no finish reason error",
		"INV-11=api.openai.com has no finish reason error",
		"INV-24=api.openai.com names the tool of each call",
	}})
}

// call runs a tool and returns its result or its error.
func (a *myAgent) call(ctx context.Context, name, arguments string) (result string) {
	defer func() {
		if v := recover(); v != nil {
			result = fmt.Sprint("the tool panicked: ", v)
		}
	}()
	tool := a.tools[name]
	switch {
	case ctx.Err() != nil:
		return "canceled"
	case tool == nil:
		return "unknown tool"
	case !json.Valid([]byte(arguments)):
		return "the arguments are not JSON"
	}
	text, err := tool(ctx, arguments)
	if err != nil {
		return err.Error()
	}
	return text
}

// TestAnthropicLoop runs the suite against a loop with Anthropic's SDK.
func TestAnthropicLoop(t *testing.T) {
	looptest.HTTP(t, func(ctx context.Context, client *http.Client, baseURL string, in *looptest.Input) (string, error) {
		agent := myAgent{tools: map[string]func(ctx context.Context, arguments string) (string, error){}}
		params := anthropic.MessageNewParams{
			Model: "claude-sonnet-4-5", MaxTokens: 4000,
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(in.Messages[0].Text()))},
		}
		for _, tool := range in.Tools {
			agent.tools[tool.Name] = tool.Run
			params.Tools = append(params.Tools, anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: map[string]any{}}, tool.Name))
		}
		api := anthropic.NewClient(anthropicoption.WithHTTPClient(client), anthropicoption.WithBaseURL(baseURL+"/anthropic"), anthropicoption.WithAPIKey(key))
		for {
			message, err := api.Messages.New(ctx, params)
			if err != nil {
				return "", err
			}
			var text string
			var results []anthropic.ContentBlockParamUnion
			for _, block := range message.Content {
				switch block := block.AsAny().(type) {
				case anthropic.TextBlock:
					text += block.Text
				case anthropic.ToolUseBlock:
					results = append(results, anthropic.NewToolResultBlock(block.ID, agent.call(ctx, block.Name, string(block.Input)), false))
				}
			}
			if len(results) == 0 {
				return text, nil
			}
			params.Messages = append(params.Messages, message.ToParam(), anthropic.NewUserMessage(results...))
		}
	}, "INV-04=api.anthropic.com generates unique ids")
}

// TestGeminiLoop runs the suite against a loop with Google's SDK.
func TestGeminiLoop(t *testing.T) {
	looptest.HTTP(t, func(ctx context.Context, client *http.Client, baseURL string, in *looptest.Input) (string, error) {
		agent := myAgent{tools: map[string]func(ctx context.Context, arguments string) (string, error){}}
		declared := &genai.Tool{}
		for _, tool := range in.Tools {
			agent.tools[tool.Name] = tool.Run
			declared.FunctionDeclarations = append(declared.FunctionDeclarations, &genai.FunctionDeclaration{Name: tool.Name})
		}
		api, err := genai.NewClient(ctx, &genai.ClientConfig{
			APIKey: key, Backend: genai.BackendGeminiAPI, HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: baseURL + "/gemini"},
		})
		if err != nil {
			return "", err
		}
		contents := genai.Text(in.Messages[0].Text())
		for {
			response, err := api.Models.GenerateContent(ctx, "gemini-3-pro-preview", contents, &genai.GenerateContentConfig{Tools: []*genai.Tool{declared}})
			if err != nil {
				return "", err
			}
			var results []*genai.Part
			for _, call := range response.FunctionCalls() {
				arguments, err := json.Marshal(call.Args)
				if err != nil {
					return "", err
				}
				result := genai.NewPartFromFunctionResponse(call.Name, map[string]any{"result": agent.call(ctx, call.Name, string(arguments))})
				result.FunctionResponse.ID = call.ID
				results = append(results, result)
			}
			if len(results) == 0 {
				return response.Text(), nil
			}
			contents = append(contents, response.Candidates[0].Content, genai.NewContentFromParts(results, genai.RoleUser))
		}
	})
}
