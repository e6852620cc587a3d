// Command reactagent does what the documentation of Swift's DeepAgents describes. A deep agent plans
// with tasks, delegates the research to a sub-agent, writes a file after an approval, and continues
// its thread in a second run. The program prints the events.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/reactagent"
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
		fmt.Fprintln(os.Stderr, "reactagent:", err)
		os.Exit(1)
	}
}

// newModel returns the models of the Responses API of OpenAI if its key is set, else the scripted ones.
func newModel() (llm.Model, error) {
	key := os.Getenv("OPENAI_API_KEY")
	if key == "" {
		fmt.Fprintln(os.Stderr, "reactagent: OPENAI_API_KEY is not set: using the scripted models")
		s, err := fake.ParseScript("scenario.yaml", script)
		if err != nil {
			return nil, err
		}
		return s.NewModel(nil), nil
	}
	fmt.Fprintln(os.Stderr, "reactagent: OPENAI_API_KEY is set: using OpenAI")
	client := openai.NewResponses(key)
	client.BaseURL = cmp.Or(os.Getenv("OPENAI_BASE_URL"), client.BaseURL)
	return client, nil
}

type query struct {
	Planet string `json:"planet"`
}

var moonsOf = map[string]int{"Mercury": 0, "Venus": 0, "Earth": 1, "Mars": 2, "Jupiter": 97, "Saturn": 274, "Uranus": 29, "Neptune": 16}

func moons(_ context.Context, in query) (int, error) {
	n, ok := moonsOf[in.Planet]
	if !ok {
		return 0, fmt.Errorf("no planet %q", in.Planet)
	}
	return n, nil
}

// approve rejects new folders.
func approve(_ context.Context, req middleware.ApprovalRequest) (middleware.Approval, error) {
	if req.Call.Name == "mkdir" {
		return middleware.Approval{Decision: middleware.Reject, Reason: "one file is enough"}, nil
	}
	return middleware.Approval{Decision: middleware.Approve}, nil
}

func run(ctx context.Context, model llm.Model, out io.Writer) error {
	moonsTool, err := loop.NewTool("moons", "Get the number of known moons of a planet.", moons)
	if err != nil {
		return err
	}
	agent, err := reactagent.NewDeep(model, &reactagent.DeepConfig{
		Config: reactagent.Config{
			Config: loop.Config{Model: "gpt-5", System: "You write down what you find out, in notes.md."},
			Memory: &reactagent.Memory{},
		},
		SubAgents: []reactagent.SubAgent{{
			Name: "researcher", Description: "Knows the planets and their moons.",
			System: "You answer with the numbers of your tool.", Tools: []loop.Tool{moonsTool}, ModelName: "gpt-5-mini",
		}},
		Approve:          approve,
		NoGeneralPurpose: true, // the agent needs neither the web nor a shell
	})
	if err != nil {
		return err
	}
	for _, question := range []string{"Which of Mars, Jupiter and Vulcan has the most moons?", "What do your notes contain?"} {
		fmt.Fprintln(out, "user:", question)
		var failure error
		ok := agent.Run(ctx, []llm.Message{llm.User(question)}, "planets", func(e reactagent.Event) {
			switch e.Type {
			case "token":
				fmt.Fprint(out, e.Text)
			case "toolStarted":
				fmt.Fprintf(out, "started %s %s\n", e.Name, e.Input)
			case "toolCompleted":
				fmt.Fprintf(out, "%s %s %s\n", map[bool]string{false: "completed", true: "failed"}[e.IsError], e.Name, e.Result)
			case "completed":
				fmt.Fprintln(out, "\ncompleted")
			case "failed":
				failure = e.Err
			}
		})
		if !ok {
			return failure
		}
	}
	return nil
}
