// Command agentloop does what the documentation of AgentLoop describes. A streaming run stops at a
// tool that needs an approval. A snapshot continues the agent in a new one, which gets the decision,
// resumes the run and reports it. A guardrail ends a run before the model reads the input.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/protocol"
)

//go:embed scenario.yaml
var script []byte

func main() {
	client, err := newClient()
	if err == nil {
		err = run(context.Background(), client, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agentloop:", err)
		os.Exit(1)
	}
}

// newClient returns the client of Gemini if its key is set, else the scripted model.
func newClient() (llm.Model, error) {
	key := os.Getenv("GEMINI_API_KEY")
	if key == "" {
		fmt.Fprintln(os.Stderr, "agentloop: GEMINI_API_KEY is not set: using the scripted model")
		s, err := fake.ParseScript("scenario.yaml", script)
		if err != nil {
			return nil, err
		}
		return s.NewModel(nil), nil
	}
	fmt.Fprintln(os.Stderr, "agentloop: GEMINI_API_KEY is set: using Gemini")
	client := &protocol.Client{Protocol: gemini.GenerateContent{}, BaseURL: gemini.BaseURL, Authorize: gemini.Key(key)}
	if url := os.Getenv("GOOGLE_GEMINI_BASE_URL"); url != "" {
		client.BaseURL = url + "/v1beta"
	}
	return client, nil
}

type order struct {
	Number int    `json:"number"`
	Item   string `json:"item,omitempty"`
	Amount int    `json:"amount,omitempty"`
}

var orders = map[int]order{17: {17, "lamp", 40}, 18: {18, "chair", 90}}

func lookUp(_ context.Context, in order) (order, error) {
	if o, ok := orders[in.Number]; ok {
		return o, nil
	}
	return in, fmt.Errorf("no order %d", in.Number)
}

func refund(ctx context.Context, in order) (string, error) {
	o, err := lookUp(ctx, in)
	return fmt.Sprintf("refunded %d for the %s", min(in.Amount, o.Amount), o.Item), err
}

var cardNumber = regexp.MustCompile(`\d{4} ?\d{4} ?\d{4} ?\d{4}`)

// noCards ends a run whose input has the number of a card.
func noCards(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
	found := cardNumber.MatchString(c.Messages[len(c.Messages)-1].Text())
	return middleware.GuardrailResult{Pass: !found, Tripwire: true, Reason: "Please send no card numbers."}, nil
}

func run(ctx context.Context, client llm.Model, out io.Writer) error {
	orderTool, err := loop.NewTool("order", "Get an order by its number.", lookUp)
	refundTool, err2 := loop.NewTool("refund", "Refund an amount for an order.", refund)
	if err = cmp.Or(err, err2); err != nil {
		return err
	}
	cfg := agentloop.Config{
		Model: "gemini-3-pro-preview", System: "You are the support of a shop.", Context: "Today is a sale.",
		Tools:      []loop.Tool{orderTool, refundTool},
		Guardrails: []middleware.Guardrail{{Name: "cards", Kind: middleware.GuardInput, Check: noCards}},
		Policy: func(_ context.Context, req middleware.PermissionRequest) (middleware.Permission, error) {
			return middleware.Permission{Allow: true, Ask: req.Tool == "refund"}, nil
		},
		Approve: func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
			return middleware.Approval{Decision: middleware.Suspend}, nil // nobody is there now
		},
	}
	agent, err := agentloop.New(ctx, client, &cfg)
	if err != nil {
		return err
	}
	for ev, err := range agent.Stream(ctx, agentloop.Input{Text: "My lamp, order 17, is broken."}, nil) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s %q\n", ev.Type, ev.Text+ev.ToolName)
	}
	saved, err := json.Marshal(agent.Dump()) // for another process
	var snapshot agentloop.Snapshot
	if err = cmp.Or(err, json.Unmarshal(saved, &snapshot)); err != nil {
		return err
	}
	agent, err = agentloop.Restore(ctx, client, snapshot, &cfg)
	if err != nil {
		return err
	}
	for _, call := range agent.Pending() {
		fmt.Fprintln(out, "approved:", call.Call.Name, call.Arguments)
		if err := agent.ResumeWithApproval(ctx, call.Call.ID, middleware.Approval{Decision: middleware.Approve}); err != nil {
			return err
		}
	}
	for _, text := range []string{"Thank you. When do I get it?", "Send it to my card, 4111 1111 1111 1111."} {
		res, err := agent.Complete(ctx, agentloop.Input{Text: text}, nil)
		if err = cmp.Or(err, res.Err); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s\n", res.Reason, res.Text())
	}
	for _, r := range agent.Reports() {
		fmt.Fprintf(out, "report: %s, %d steps, %d tool calls, %d tokens\n", r.Reason, r.StepCount, r.ToolCallCount, r.TotalUsage.InputTokens+r.TotalUsage.OutputTokens)
		for _, step := range r.Steps {
			for _, c := range step.ToolCalls {
				fmt.Fprintf(out, "- %s %s: %d bytes, failed: %v\n", c.ToolName, c.Arguments, c.ResultSizeBytes, c.Error != nil)
			}
		}
	}
	return nil
}
