package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// noText is the result of a tool that fails without a text.
const noText = "The tool failed without a message."

// maxBlocks limits the content blocks of a result.
const maxBlocks = 10_000

// output converts the result of a tools/call request. A result of more than limit bytes is an error.
func output(raw json.RawMessage, limit int) (loop.Output, error) {
	var res struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		IsError    bool              `json:"isError"`
		Type       string            `json:"resultType"`
	}
	if err := json.Unmarshal(raw, &res); err != nil {
		return loop.Output{}, fmt.Errorf("the result is invalid: %w", err)
	}
	switch res.Type {
	case "", "complete":
	case "input_required":
		return loop.Output{}, errors.New("the tool asks for input of a person or a model, which this client does not give")
	default:
		return loop.Output{}, fmt.Errorf("the result has the unknown type %q", res.Type)
	}
	if len(res.Content) > maxBlocks {
		return loop.Output{}, fmt.Errorf("the result has %d content blocks, more than %d: ask for less", len(res.Content), maxBlocks)
	}
	out := loop.Output{IsError: res.IsError}
	size := len(res.Structured)
	for i, block := range res.Content {
		p, n, err := part(block)
		if err != nil {
			return loop.Output{}, fmt.Errorf("the result is invalid: content[%d]: %w", i, err)
		}
		out.Content = append(out.Content, p)
		size += n
	}
	if size > limit {
		return loop.Output{}, fmt.Errorf("the result has %d bytes, more than %d (Config.MaxResult): ask for less", size, limit)
	}
	if string(res.Structured) != "null" && len(res.Structured) > 0 {
		out.Value = res.Structured
		if len(out.Content) == 0 {
			out.Content = []llm.Part{llm.Text{Text: string(res.Structured)}}
		}
	}
	if out.IsError && len(out.Content) == 0 {
		out.Content = []llm.Part{llm.Text{Text: noText}}
	}
	return out, nil
}

// part converts a content block and returns its size.
func part(block json.RawMessage) (llm.Part, int, error) {
	var b struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		Data      []byte `json:"data"`
		MediaType string `json:"mimeType"`
		Resource  struct {
			URI       string  `json:"uri"`
			MediaType string  `json:"mimeType"`
			Text      *string `json:"text"`
			Blob      []byte  `json:"blob"`
		} `json:"resource"`
	}
	if err := json.Unmarshal(block, &b); err != nil {
		return nil, 0, err
	}
	switch {
	case b.Type == "text":
		return llm.Text{Text: b.Text}, len(b.Text), nil
	case b.Type == "image" || b.Type == "audio":
		return llm.Media{MediaType: b.MediaType, Data: b.Data}, len(b.MediaType) + len(b.Data), nil
	case b.Type == "resource" && b.Resource.Text != nil:
		return llm.Text{Text: *b.Resource.Text}, len(*b.Resource.Text), nil
	case b.Type == "resource":
		m := llm.Media{MediaType: b.Resource.MediaType, Name: path.Base(b.Resource.URI), Data: b.Resource.Blob}
		return m, len(m.MediaType) + len(m.Name) + len(m.Data), nil
	}
	return llm.Text{Text: string(block)}, len(block), nil // a resource_link, or a type of a later version
}
