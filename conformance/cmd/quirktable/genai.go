package main

import (
	"context"
	"encoding/json"
	"iter"

	"google.golang.org/genai"

	"github.com/looptape/looptape/fake/wire"
)

func newGenAI(ctx context.Context, url string) (*genai.Client, error) {
	return genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, HTTPClient: newHTTP(),
		HTTPOptions: genai.HTTPOptions{BaseURL: baseURL(url, wire.Gemini)},
	})
}

func googleGenAI(ctx context.Context, c testCase, url string) (string, error) {
	client, err := newGenAI(ctx, url)
	if err != nil {
		return "", err
	}
	var declared []*genai.FunctionDeclaration
	for _, t := range tools {
		declared = append(declared, &genai.FunctionDeclaration{Name: t.name, Description: t.description, ParametersJsonSchema: t.schema()})
	}
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: declared}}}
	contents := genai.Text(prompt)
	const model = "gemini-3-pro-preview"
	return manualLoop(func() (*string, error) {
		responses := client.Models.GenerateContentStream(ctx, model, contents, config)
		if !c.streaming {
			response, err := client.Models.GenerateContent(ctx, model, contents, config)
			responses = func(yield func(*genai.GenerateContentResponse, error) bool) { yield(response, err) }
		}
		output, err := genAIParts(responses)
		if err != nil {
			return nil, err
		}
		text := ""
		var results []*genai.Part
		for _, p := range output {
			text += p.Text
			if p.FunctionCall == nil {
				continue
			}
			arguments, err := json.Marshal(p.FunctionCall.Args)
			if err != nil {
				return nil, err
			}
			result, err := runTool(p.FunctionCall.Name, arguments)
			if err != nil {
				return nil, err
			}
			results = append(results, &genai.Part{FunctionResponse: &genai.FunctionResponse{
				ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Response: map[string]any{"result": result},
			}})
		}
		if len(results) == 0 {
			return &text, nil
		}
		contents = append(contents, &genai.Content{Role: "model", Parts: output}, &genai.Content{Role: "user", Parts: results})
		return nil, nil
	})
}

// genAIParts returns the parts of a response. It omits an empty part at the end of a stream,
// because the SDK would send it back as {}.
func genAIParts(responses iter.Seq2[*genai.GenerateContentResponse, error]) (output []*genai.Part, err error) {
	for response, err := range responses {
		if err != nil {
			return nil, err
		}
		if len(response.Candidates) == 0 || response.Candidates[0].Content == nil {
			continue
		}
		for _, p := range response.Candidates[0].Content.Parts {
			if p.Text != "" || p.FunctionCall != nil || p.ThoughtSignature != nil {
				output = append(output, p)
			}
		}
	}
	return output, nil
}
