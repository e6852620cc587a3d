package mcp_test

import (
	"context"
	"fmt"
	"log"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptape/looptape/contrib/mcp"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
)

// A program gives its agent the tools of a program and of an HTTP server.
func Example_servers() {
	ctx := context.Background()
	client, err := mcp.Connect(ctx, &mcp.Config{Servers: []mcp.Server{
		{Namespace: "files", Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "."}},
		{Namespace: "docs", URL: "https://mcp.example.org/mcp", Select: func(name string) bool { return name == "search" }},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for _, tool := range client.Tools() {
		fmt.Println(tool.Name) // files__read_text_file, …, docs__search
	}
}

// The server of this example runs in the same process.
func Example() {
	type input struct {
		City string `json:"city"`
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "weather", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "today", Description: "Returns the weather of a city."},
		func(_ context.Context, _ *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "sunny in " + in.City}}}, nil, nil
		})
	ctx := context.Background()
	client, err := mcp.Connect(ctx, &mcp.Config{Servers: []mcp.Server{{Namespace: "weather", Transport: func() (sdk.Transport, error) {
		there, here := sdk.NewInMemoryTransports()
		_, err := server.Connect(ctx, there, nil)
		return here, err
	}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	model := fake.NewModel(
		fake.Response{Calls: []fake.Call{{Name: "weather__today", Arguments: `{"city":"Oslo"}`}}},
		fake.Response{Text: "It is sunny."},
	)
	agent, err := loop.New(model, &loop.Config{Middleware: []loop.Middleware{client.Middleware()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := agent.Run(ctx, loop.Prompt("How is the weather in Oslo?"))
	fmt.Println(res.Steps[0].Results[0].Text())
	fmt.Println(res.Text, err)
	// Output:
	// sunny in Oslo
	// It is sunny. <nil>
}
