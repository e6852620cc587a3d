package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/files"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// removeTool returns a tool that removes a file.
func removeTool() loop.Tool {
	t, err := loop.NewTool("remove", "Removes a file.", func(_ context.Context, in struct {
		Path string `json:"path"`
	}) (string, error) {
		return "removed " + in.Path, nil
	})
	if err != nil {
		panic(err)
	}
	return t
}

// removing returns a scripted model that calls the tool remove once.
func removing(path string) *fake.Model {
	arguments, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		panic(err)
	}
	return fake.NewModel(fake.Response{Calls: []fake.Call{{Name: "remove", Arguments: string(arguments)}}}, fake.Response{Text: "Finished."})
}

// runExample runs an agent with the tool remove.
func runExample(model llm.Model, list ...loop.Middleware) *loop.Result {
	agent, err := loop.New(model, &loop.Config{Tools: []loop.Tool{removeTool()}, Middleware: list})
	if err != nil {
		panic(err)
	}
	res, err := agent.Run(context.Background(), loop.Prompt("Clean up."))
	if err != nil {
		panic(err)
	}
	return res
}

// describe returns each tool result, the final answer and the stop reason of a run.
func describe(res *loop.Result) string {
	var b strings.Builder
	for _, step := range res.Steps {
		for _, r := range step.Results {
			fmt.Fprintf(&b, "%s: %s\n", r.Name, r.Text())
		}
	}
	return fmt.Sprintln(b.String()+res.Text, res.StopReason)
}

// A policy allows calls, denies them, or asks for an approval.
func ExamplePermissions() {
	policy := func(_ context.Context, req middleware.PermissionRequest) (middleware.Permission, error) {
		if strings.Contains(req.Arguments, "/etc") {
			return middleware.Permission{Reason: "files below /etc must stay"}, nil
		}
		return middleware.Permission{Ask: true}, nil
	}
	approvals := &middleware.Approvals{Approve: func(_ context.Context, req middleware.ApprovalRequest) (middleware.Approval, error) {
		fmt.Println("approving", req.Arguments)
		return middleware.Approval{Decision: middleware.Approve}, nil
	}}
	fmt.Print(describe(runExample(removing("/etc/hosts"), middleware.Permissions(policy, approvals))))
	fmt.Print(describe(runExample(removing("/tmp/a"), middleware.Permissions(policy, approvals))))
	// Output:
	// remove: files below /etc must stay
	// Finished. end_turn
	// approving {"path":"/tmp/a"}
	// remove: removed /tmp/a
	// Finished. end_turn
}

// A suspended run continues when another part of the program has decided.
func ExampleApprovalStore() {
	ask := func(context.Context, middleware.PermissionRequest) (middleware.Permission, error) {
		return middleware.Permission{Ask: true}, nil
	}
	later := func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
		return middleware.Approval{Decision: middleware.Suspend}, nil
	}
	var store middleware.ApprovalStore
	agent, err := loop.New(removing("/tmp/a"), &loop.Config{
		Tools:      []loop.Tool{removeTool()},
		Middleware: []loop.Middleware{middleware.Permissions(ask, &middleware.Approvals{Approve: later, Store: &store})},
	})
	if err != nil {
		panic(err)
	}
	res, err := agent.Run(context.Background(), loop.Input{ID: "first", Messages: []llm.Message{llm.User("Clean up.")}})
	fmt.Println(res.StopReason, err)
	for _, req := range store.Pending() {
		store.Resolve(req.Call.ID, middleware.Approval{Decision: middleware.Approve})
	}
	history := append([]llm.Message{llm.User("Clean up.")}, res.Messages...)
	res, err = agent.Run(context.Background(), loop.Input{Messages: history, Resume: &loop.Resume{Of: "first"}})
	fmt.Println(res.Text, res.StopReason, err)
	// Output:
	// approval <nil>
	// Finished. end_turn <nil>
}

// A person may change the arguments of a call before it is run.
func ExampleHumanInTheLoop() {
	person := func(_ context.Context, req middleware.ApprovalRequest) (middleware.Approval, error) {
		fmt.Println(req.Description, req.Allowed)
		return middleware.Approval{Decision: middleware.Edit, Arguments: `{"path":"/tmp/b"}`}, nil
	}
	m, err := middleware.HumanInTheLoop(person, map[string]middleware.ApprovalRule{
		"remove": {Allowed: []middleware.ApprovalDecision{middleware.Approve, middleware.Edit}, Description: "Remove this file?"},
	})
	if err != nil {
		panic(err)
	}
	fmt.Print(describe(runExample(removing("/tmp/a"), m)))
	// Output:
	// Remove this file? [approve edit]
	// remove: removed /tmp/b
	// Finished. end_turn
}

// A guardrail with a tripwire ends the run before the calls of a response are run.
func ExampleGuardrails() {
	guardrail := middleware.Guardrail{
		Name: "paths", Kind: middleware.GuardOutput,
		Check: func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
			for _, call := range c.Response.Calls() {
				if strings.Contains(call.Arguments, "/etc") {
					return middleware.GuardrailResult{Tripwire: true, Reason: "a call uses /etc", Severity: "high"}, nil
				}
			}
			return middleware.GuardrailResult{Pass: true}, nil
		},
	}
	res := runExample(removing("/etc/hosts"), middleware.Guardrails([]middleware.Guardrail{guardrail}, nil))
	fmt.Print(describe(res))
	fmt.Println(res.Note, len(res.Pending))
	// Output:
	// guardrail
	// a call uses /etc 1
}

// The loop requests a new final answer until it matches the Go type.
func ExampleOutputOf() {
	type report struct {
		Removed int `json:"removed"`
	}
	output, err := middleware.OutputOf[report]()
	if err != nil {
		panic(err)
	}
	model := fake.NewModel(fake.Response{Text: "I removed two files."}, fake.Response{Text: `{"removed":2}`})
	res := runExample(model, output.Middleware(1))
	fmt.Print(describe(res))
	var r report
	_, err = output.Read(res.Text, &r)
	fmt.Println(r.Removed, err)
	// Output:
	// {"removed":2} end_turn
	// 2 <nil>
}

// Another model repairs arguments that do not match the schema of the tool.
func ExampleRepair() {
	model := fake.NewModel(fake.Response{Calls: []fake.Call{{Name: "remove", Arguments: `{"file":"/tmp/a"}`}}}, fake.Response{Text: "Finished."})
	fmt.Print(describe(runExample(model, middleware.Repair{Model: fake.NewModel(fake.Response{Text: `{"path":"/tmp/a"}`})}.Middleware())))
	// Output:
	// remove: removed /tmp/a
	// Finished. end_turn
}

// A conversation that is too long for the model is replaced by a summary.
func ExampleSummarizer() {
	m, err := middleware.Summarizer{Window: 200, KeepMessages: 1, Model: fake.NewModel(fake.Response{Text: "The user likes long questions."})}.Middleware()
	if err != nil {
		panic(err)
	}
	model := fake.NewModel(fake.Response{Text: "Yes."})
	agent, err := loop.New(model, &loop.Config{Middleware: []loop.Middleware{m}})
	if err != nil {
		panic(err)
	}
	long := strings.Repeat("Why? ", 200)
	_, err = agent.Run(context.Background(), loop.Continue([]llm.Message{llm.User(long), llm.Assistant(llm.Text{Text: "Because."})}, llm.User("Really?")))
	for _, m := range model.RecordedRequests()[0].Request.Messages {
		fmt.Printf("%s: %q\n", m.Role, m.Text())
	}
	fmt.Println(err)
	// Output:
	// user: "This is a summary of the conversation so far:\n\nThe user likes long questions."
	// assistant: "I have read the summary and go on from there."
	// user: "Really?"
	// <nil>
}

// An agent hands the conversation over to another one. All agents share the variables.
func ExampleHandoff() {
	const user middleware.Var[string] = "user"
	vars := middleware.NewVars(map[string]any{"user": "Ada"})
	billing := &middleware.HandoffAgent{Name: "billing", Description: "Knows all invoices.", Instructions: func(vars *middleware.Vars) string {
		name, _ := user.Get(vars)
		return "You answer questions of " + name + " about invoices."
	}}
	m, err := middleware.Handoff(&middleware.HandoffAgent{Name: "front", Handoffs: []*middleware.HandoffAgent{billing}}, vars)
	if err != nil {
		panic(err)
	}
	model := fake.NewModel(fake.Response{Calls: []fake.Call{{Name: "transfer_to_billing", Arguments: "{}"}}}, fake.Response{Text: "You owe nothing."})
	fmt.Print(describe(runExample(model, middleware.Variables(vars), m)))
	fmt.Println(model.RecordedRequests()[1].Request.System.Text())
	// Output:
	// transfer_to_billing: transferred to billing
	// You owe nothing. end_turn
	// You answer questions of Ada about invoices.
}

// A model gives a task to another agent, whose final text is the result of the call.
func ExampleSubAgents() {
	reader, err := loop.New(fake.NewModel(fake.Response{Text: "It is about tapes."}), &loop.Config{System: "You read texts."})
	if err != nil {
		panic(err)
	}
	m, err := middleware.SubAgents(middleware.SubAgent{Name: "reader", Description: "reads texts", Agent: reader})
	if err != nil {
		panic(err)
	}
	model := fake.NewModel(
		fake.Response{Calls: []fake.Call{{Name: "task", Arguments: `{"subagent_type":"reader","description":"What is the text about?"}`}}},
		fake.Response{Text: "Tapes."},
	)
	fmt.Print(describe(runExample(model, m)))
	// Output:
	// task: It is about tapes.
	// Tapes. end_turn
}

// The trace contains the list of tasks after each change.
func ExampleTodos() {
	model := fake.NewModel(
		fake.Response{Calls: []fake.Call{{Name: "write_todos", Arguments: `{"todos":[{"content":"look","status":"completed"},"clean up"]}`}}},
		fake.Response{Text: "I looked."},
	)
	agent, err := loop.New(model, &loop.Config{Middleware: []loop.Middleware{middleware.Todos()}})
	if err != nil {
		panic(err)
	}
	for ev, err := range agent.Start(context.Background(), loop.Prompt("Clean up.")).Events() {
		var todos []middleware.Todo
		if c, ok := ev.Body.(trace.Custom); ok && c.Name == middleware.EventTodos && json.Unmarshal(c.Data, &todos) == nil {
			fmt.Println(todos, err)
		}
	}
	// Output:
	// [{look completed} {clean up pending}] <nil>
}

// A hook replaces the result of a failed tool.
func ExampleToolHooks() {
	hooks := middleware.ToolHooks{
		Failed: func(_ context.Context, f *middleware.ToolFailed) error {
			fmt.Println("failed:", f.Err)
			f.Fallback = []llm.Part{llm.Text{Text: "try again tomorrow"}}
			return nil
		},
	}
	broken := loop.Tool{Name: "fetch", Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Output{}, errors.New("connection refused")
	}}
	agent, err := loop.New(fake.NewModel(fake.Response{Calls: []fake.Call{{Name: "fetch", Arguments: "{}"}}}, fake.Response{Text: "Finished."}), &loop.Config{
		Tools: []loop.Tool{broken}, Middleware: []loop.Middleware{hooks.Middleware()},
	})
	if err != nil {
		panic(err)
	}
	res, err := agent.Run(context.Background(), loop.Prompt("Fetch it."))
	fmt.Println(res.Steps[0].Results[0].Text(), res.Steps[0].Results[0].IsError, err)
	// Output:
	// failed: connection refused
	// try again tomorrow true <nil>
}

// Tools write variables that outlive the run.
func ExampleVars() {
	const count middleware.Var[int] = "count"
	add := loop.Tool{Name: "add", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		if vars, ok := middleware.VarsFromContext(ctx); ok {
			count.Update(vars, func(old int) int { return old + 1 })
		}
		return loop.TextOutput("added"), nil
	}}
	vars := middleware.NewVars(nil)
	agent, err := loop.New(fake.NewModel(fake.Response{Calls: []fake.Call{{Name: "add", Arguments: "{}"}, {Name: "add", Arguments: "{}"}}}, fake.Response{Text: "Finished."}), &loop.Config{
		Tools: []loop.Tool{add}, Middleware: []loop.Middleware{middleware.Variables(vars)},
	})
	if err != nil {
		panic(err)
	}
	_, err = agent.Run(context.Background(), loop.Prompt("Count."))
	fmt.Println(vars.Values(), err)
	// Output:
	// map[count:2] <nil>
}

// An agent works with files in memory.
func ExampleFiles() {
	var memory files.Memory
	m, err := middleware.Files(func(loop.RunInfo) files.Backend { return &memory })
	if err != nil {
		panic(err)
	}
	fmt.Print(describe(runExample(fake.NewModel(
		fake.Response{Calls: []fake.Call{{Name: "write_file", Arguments: `{"path":"/notes/a.md","content":"rest"}`}}},
		fake.Response{Calls: []fake.Call{{Name: "ls", Arguments: `{"path":"/notes"}`}}},
		fake.Response{Text: "Written."},
	), m)))
	// Output:
	// write_file: wrote 4 bytes to "/notes/a.md"
	// ls: a.md (4 bytes)
	// Written. end_turn
}

// One function wraps all actions of a run.
func ExampleWrap() {
	m := middleware.Wrap("log", func(ctx context.Context, a *middleware.Action, next func(context.Context) error) error {
		err := next(ctx)
		fmt.Println(a.Kind, a.Tool.Name, err)
		return err
	})
	fmt.Print(describe(runExample(removing("/tmp/a"), m)))
	// Output:
	// loop_start  <nil>
	// model_call  <nil>
	// tool_call remove <nil>
	// model_call  <nil>
	// loop_end  <nil>
	// remove: removed /tmp/a
	// Finished. end_turn
}
