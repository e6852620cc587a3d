package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

var object = json.RawMessage(`{"type":"object"}`)

// newServer returns a server of the SDK with a tool for each kind of result. canceled gets
// "begun" from each call of the tool hang, and then the error of its context; nil means that there is no
// such tool.
func newServer(canceled chan<- string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ServerOptions{
		PageSize:     3,
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.TTLMs = 3_600_000 }, // the client lists its tools nevertheless
	})
	content := func(blocks ...sdk.Content) sdk.ToolHandler {
		return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: blocks}, nil
		}
	}
	add := func(name string, h sdk.ToolHandler) {
		s.AddTool(&sdk.Tool{Name: name, Description: "Tests " + name + ".", InputSchema: object}, h)
	}
	type greeting struct {
		Name string `json:"name" jsonschema:"who"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "greet", Title: "Greets"}, func(_ context.Context, _ *sdk.CallToolRequest, in greeting) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Hello " + in.Name}}}, nil, nil
	})
	add("image", content(&sdk.ImageContent{MIMEType: "image/png", Data: []byte("PNG")}))
	add("audio", content(&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("WAV")}))
	add("resource", content(
		&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///dir/a.txt", MIMEType: "text/plain", Text: "the text"}},
		&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///dir/b.pdf", MIMEType: "application/pdf", Blob: []byte("PDF")}},
		&sdk.ResourceLink{URI: "file:///dir/c.txt", Name: "c"},
	))
	add("structured", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: json.RawMessage(`{"z":1,"id":12345678901234567890}`)}, nil
	})
	add("fails", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no such city"}}}, nil
	})
	add("rejects", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, fmt.Errorf("a protocol error")
	})
	add("big", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var in struct{ Size int }
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", in.Size)}}}, nil
	})
	add("dotted.name", content(&sdk.TextContent{Text: "dotted"}))
	if canceled != nil {
		add("hang", func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			canceled <- "begun"
			<-ctx.Done()
			canceled <- ctx.Err().Error()
			return nil, ctx.Err()
		})
	}
	return s
}

// onlyNew makes a server reject the requests of older versions, except initialize.
func onlyNew(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		meta := map[string]any{}
		if p := req.GetParams(); p != nil {
			meta = p.GetMeta()
		}
		if method == "tools/list" && meta["io.modelcontextprotocol/protocolVersion"] == nil {
			return nil, fmt.Errorf("this server supports 2026-07-28")
		}
		return next(ctx, method, req)
	}
}
