package taped

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"google.golang.org/genai"

	"github.com/looptape/looptape/conformance/node"
)

// goProgram is a tool loop with an SDK for Go, as in its examples: this test binary with the name as its
// argument. The base URL and the key come from the environment, and the SDK retries.
type goProgram struct {
	name      string
	protocols []string
	run       func(ctx context.Context, c node.Case) (string, error)
}

var goPrograms = []goProgram{
	{"go/openai", []string{"openai-chat", "openai-responses"}, func(ctx context.Context, c node.Case) (string, error) {
		if c.Protocol == "openai-responses" {
			return runResponses(ctx, c)
		}
		return runChat(ctx, c)
	}},
	{"go/anthropic", []string{"anthropic-messages"}, runMessages},
	{"go/genai", []string{"gemini"}, runGemini},
}

// maxSteps is the step limit of the loops.
const maxSteps = 8

var errStepLimit = fmt.Errorf("the loop reached its step limit of %d", maxSteps)

// tools are the tools of the loops, with the same results as in npm/clients/case.mjs. Each has one
// parameter.
var tools = []struct{ name, parameter string }{{"weather", "city"}, {"note", "text"}}

// schema returns the schema of arguments with one parameter.
func schema(parameter string) map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{parameter: map[string]any{"type": "string"}}, "required": []string{parameter}}
}

// runTool returns the result of a call.
func runTool(name, arguments string) string {
	var in struct{ City string }
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return err.Error()
	}
	if name == "note" {
		return "noted"
	}
	return map[string]string{"Bern": "rain", "Rome": "sun"}[in.City]
}

// runGo runs the case that it reads, and returns the exit status.
func runGo(p goProgram, in io.Reader, out io.Writer) int {
	c := node.Case{Input: "How is the weather in Bern and in Rome?"}
	err := json.NewDecoder(in).Decode(&c)
	if err == nil {
		got := node.Result{ID: c.ID}
		if got.Text, err = p.run(context.Background(), c); err != nil {
			got.Error = describe(err)
		}
		err = json.NewEncoder(out).Encode(got)
	}
	if err != nil {
		return 1
	}
	return 0
}

// describe returns an error with the message of the server, which the text of some SDKs omits.
func describe(err error) string {
	if e, ok := errors.AsType[*openai.Error](err); ok {
		return fmt.Sprint(e.StatusCode, " ", e.Message)
	}
	if e, ok := errors.AsType[*anthropic.Error](err); ok {
		return fmt.Sprint(e.StatusCode, " ", e.RawJSON())
	}
	return err.Error()
}

// runMessages is a tool loop with Anthropic's SDK.
func runMessages(ctx context.Context, c node.Case) (string, error) {
	client := anthropic.NewClient()
	params := anthropic.MessageNewParams{
		Model: "claude-opus-4-5", MaxTokens: 1024,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(c.Input))},
	}
	for _, t := range tools {
		properties := schema(t.parameter)["properties"]
		params.Tools = append(params.Tools, anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: properties, Required: []string{t.parameter}}, t.name))
	}
	for range maxSteps {
		message, err := respondMessage(ctx, client, params, c.Streaming)
		if err != nil {
			return "", err
		}
		text := ""
		var results []anthropic.ContentBlockParamUnion
		for _, block := range message.Content {
			switch block := block.AsAny().(type) {
			case anthropic.TextBlock:
				text += block.Text
			case anthropic.ToolUseBlock:
				results = append(results, anthropic.NewToolResultBlock(block.ID, runTool(block.Name, string(block.Input)), false))
			}
		}
		if results == nil {
			return text, nil
		}
		params.Messages = append(params.Messages, message.ToParam(), anthropic.NewUserMessage(results...))
	}
	return "", errStepLimit
}

// respondMessage returns the next response of the model.
func respondMessage(ctx context.Context, client anthropic.Client, params anthropic.MessageNewParams, streaming bool) (*anthropic.Message, error) {
	if !streaming {
		return client.Messages.New(ctx, params)
	}
	events := client.Messages.NewStreaming(ctx, params)
	var message anthropic.Message
	for events.Next() {
		if err := message.Accumulate(events.Current()); err != nil {
			return nil, err
		}
	}
	return &message, events.Err()
}

// runGemini is a tool loop with Google's SDK: the parts of a response go back as they came.
func runGemini(ctx context.Context, c node.Case) (string, error) {
	client, err := genai.NewClient(ctx, nil)
	if err != nil {
		return "", err
	}
	var functions []*genai.FunctionDeclaration
	for _, t := range tools {
		functions = append(functions, &genai.FunctionDeclaration{Name: t.name, ParametersJsonSchema: schema(t.parameter)})
	}
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: functions}}}
	contents := genai.Text(c.Input)
	for range maxSteps {
		responses := client.Models.GenerateContentStream(ctx, "gemini-3-pro-preview", contents, config)
		if !c.Streaming {
			response, err := client.Models.GenerateContent(ctx, "gemini-3-pro-preview", contents, config)
			responses = func(yield func(*genai.GenerateContentResponse, error) bool) { yield(response, err) }
		}
		text := ""
		var parts, results []*genai.Part
		for response, err := range responses {
			if err != nil {
				return "", err
			}
			if content := response.Candidates[0].Content; content != nil {
				// Gemini 3 ends with an empty text, which the SDK would send back as {}.
				parts = append(parts, slices.DeleteFunc(content.Parts, func(p *genai.Part) bool { return reflect.ValueOf(*p).IsZero() })...)
			}
		}
		for _, p := range parts {
			text += p.Text
			if call := p.FunctionCall; call != nil {
				arguments, err := json.Marshal(call.Args)
				if err != nil {
					return "", err
				}
				results = append(results, &genai.Part{FunctionResponse: &genai.FunctionResponse{
					ID: call.ID, Name: call.Name, Response: map[string]any{"result": runTool(call.Name, string(arguments))},
				}})
			}
		}
		if results == nil {
			return text, nil
		}
		contents = append(contents, &genai.Content{Role: genai.RoleModel, Parts: parts}, &genai.Content{Role: genai.RoleUser, Parts: results})
	}
	return "", errStepLimit
}
