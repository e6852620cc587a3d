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
		HTTPOptions: genai.HTTPOptions{BaseURL: wire.ServerInfo{URL: url}.BaseURL(wire.Gemini, "")},
	})
}

func googleGenAI(ctx context.Context, g game, url string) (string, error) {
	client, err := newGenAI(ctx, url)
	if err != nil {
		return "", err
	}
	var declared []*genai.FunctionDeclaration
	for _, t := range tools {
		declared = append(declared, &genai.FunctionDeclaration{Name: t.name, Description: t.description, ParametersJsonSchema: t.schema()})
	}
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: declared}}}
	contents := genai.Text(question)
	const model = "gemini-3-pro-preview"
	return byHand(func() (*string, error) {
		answers := client.Models.GenerateContentStream(ctx, model, contents, config)
		if !g.streamed {
			answer, err := client.Models.GenerateContent(ctx, model, contents, config)
			answers = func(yield func(*genai.GenerateContentResponse, error) bool) { yield(answer, err) }
		}
		said, err := genAIParts(answers)
		if err != nil {
			return nil, err
		}
		text := ""
		var results []*genai.Part
		for _, p := range said {
			text += p.Text
			if p.FunctionCall == nil {
				continue
			}
			args, err := json.Marshal(p.FunctionCall.Args)
			if err != nil {
				return nil, err
			}
			result, err := runTool(p.FunctionCall.Name, args)
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
		contents = append(contents, &genai.Content{Role: "model", Parts: said}, &genai.Content{Role: "user", Parts: results})
		return nil, nil
	})
}

// genAIParts are the parts of an answer. One that ends a stream without saying
// anything is left out: the SDK would send it back as {}.
func genAIParts(answers iter.Seq2[*genai.GenerateContentResponse, error]) (said []*genai.Part, err error) {
	for answer, err := range answers {
		if err != nil {
			return nil, err
		}
		if len(answer.Candidates) == 0 || answer.Candidates[0].Content == nil {
			continue
		}
		for _, p := range answer.Candidates[0].Content.Parts {
			if p.Text != "" || p.FunctionCall != nil || p.ThoughtSignature != nil {
				said = append(said, p)
			}
		}
	}
	return said, nil
}
