package general_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/looptape/looptape/contrib/general"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/reactagent"
)

func ExampleNew() {
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n"), 0o600); err != nil {
		panic(err)
	}
	tools, err := general.New(&general.Config{Dir: dir, Shell: general.Local})
	if err != nil {
		panic(err)
	}
	defer tools.Close() //nolint:errcheck // it is only a folder
	for _, why := range tools.Missing() {
		fmt.Println("not used:", why)
	}
	model := fake.NewModel(
		fake.Response{Calls: []fake.Call{{Name: "grep", Arguments: `{"pattern":"^package"}`}}},
		fake.Response{Calls: []fake.Call{{Name: "shell", Arguments: `{"command":"sudo rm main.go"}`}}},
		fake.Response{Text: "It has one package."},
	)
	agent, err := reactagent.NewDeep(model, &reactagent.DeepConfig{
		GeneralPurpose: tools.Middleware(),
		Approve: func(_ context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
			fmt.Println("approve", r.Call.Name)
			return middleware.Approval{Decision: middleware.Approve}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.Join(agent.Stack(), " "))
	agent.Run(context.Background(), []llm.Message{llm.User("What is here?")}, "", func(e reactagent.Event) {
		if e.Type == "toolCompleted" {
			fmt.Printf("%s: %s\n", e.Name, e.Result)
		}
	})
	// Output:
	// not used: web: no hosts that may be asked (Config.Hosts)
	// not used: git: the working folder has no repository (.git)
	// todos files subagents search text shell human_in_the_loop summarize
	// approve grep
	// grep: "main.go:1: package main\n"
	// shell: "Error: this command is not permitted: it asks for the rights of another user. Do not try it again in another form."
}
