// Command deepagents is the finance bot of the documentation of @deepagents/agent. It plans
// searches, runs them concurrently, writes a report from the results, and verifies the report.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/deepagents"
	"github.com/looptape/looptape/providers/openai"
)

//go:embed scenario.yaml
var script []byte

func main() {
	model, err := newModel()
	if err == nil {
		err = run(context.Background(), model, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "deepagents:", err)
		os.Exit(1)
	}
}

// newModel returns the models of OpenAI if its key is set, else the scripted ones.
func newModel() (llm.Model, error) {
	key := os.Getenv("OPENAI_API_KEY")
	if key == "" {
		fmt.Fprintln(os.Stderr, "deepagents: OPENAI_API_KEY is not set: using the scripted models")
		s, err := fake.ParseScript("scenario.yaml", script)
		if err != nil {
			return nil, err
		}
		return s.NewModel(nil), nil
	}
	fmt.Fprintln(os.Stderr, "deepagents: OPENAI_API_KEY is set: using OpenAI")
	client := openai.NewChat(key)
	client.BaseURL = cmp.Or(os.Getenv("OPENAI_BASE_URL"), client.BaseURL)
	return client, nil
}

type plan struct {
	Searches []struct {
		Query  string `json:"query"`
		Reason string `json:"reason"`
	} `json:"searches"`
}

type report struct {
	ShortSummary   string `json:"short_summary"`
	MarkdownReport string `json:"markdown_report"`
}

type verification struct {
	Verified bool   `json:"verified"`
	Issues   string `json:"issues"`
}

type line struct {
	Item string `json:"item" jsonschema:"revenue, margin or debt"`
}

// accounts has the numbers of Example Corp for three years, in millions and percent.
var accounts = map[string][]int{"revenue": {120, 135, 162}, "margin": {8, 9, 11}, "debt": {40, 40, 35}}

func numbers(_ context.Context, in line) ([]int, error) {
	if list, ok := accounts[in.Item]; ok {
		return list, nil
	}
	return nil, fmt.Errorf("no numbers for %q", in.Item)
}

// generate runs an agent and decodes its output.
func generate[T any](ctx context.Context, agent deepagents.Agent, prompt string) (out T, err error) {
	agent.Output, err = middleware.OutputOf[T]()
	if err != nil {
		return out, err
	}
	res, err := deepagents.Generate(ctx, &agent, loop.Prompt(prompt), nil, nil)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(res.Output, &out)
}

const query = "How is Example Corp doing?"

func run(ctx context.Context, model llm.Model, out io.Writer) error {
	numbersTool, err := loop.NewTool("numbers", "Get the numbers of the last three years.", numbers)
	if err != nil {
		return err
	}
	says := func(text string) func(*middleware.Vars) string { return func(*middleware.Vars) string { return text } }
	planner := deepagents.Agent{Name: "planner", Model: model, ModelName: "gpt-5", Instructions: says("Plan the searches for the query.")}
	search := deepagents.Agent{Name: "search", Model: model, ModelName: "gpt-5-mini", Instructions: says("Search, and summarize the results."), Tools: []loop.Tool{numbersTool}}
	writer := deepagents.Agent{Name: "writer", Model: model, ModelName: "gpt-4.1", Instructions: says("Write a report from the results.")}
	verifier := deepagents.Agent{Name: "verifier", Model: model, ModelName: "gpt-4.1-mini", Instructions: says("Verify the report.")}

	todo, err := generate[plan](ctx, planner, "Query: "+query)
	if err != nil {
		return err
	}
	results, errs := make([]string, len(todo.Searches)), make([]error, len(todo.Searches))
	var searches sync.WaitGroup
	for i, item := range todo.Searches {
		searches.Go(func() {
			prompt := loop.Prompt("Search term: " + item.Query + "\nReason: " + item.Reason)
			stream, err := deepagents.Execute(fake.WithSession(ctx, item.Query), &search, prompt, nil, nil) // the session is for the script only
			if err == nil {
				results[i], err = stream.Text()
			}
			errs[i] = err
		})
	}
	searches.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, item := range todo.Searches {
		fmt.Fprintf(out, "%s, for %s: %s\n", item.Query, item.Reason, results[i])
	}
	written, err := generate[report](ctx, writer, "Query: "+query+"\nResults: "+strings.Join(results, ", "))
	if err != nil {
		return err
	}
	checked, err := generate[verification](ctx, verifier, written.MarkdownReport)
	if err == nil {
		fmt.Fprintf(out, "%s\n\n%s\nverified: %v, issues: %s\n", written.ShortSummary, written.MarkdownReport, checked.Verified, checked.Issues)
	}
	return err
}
