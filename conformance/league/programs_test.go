package league

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/trace/check"
)

var withPrograms = flag.Bool("programs", false, "explore the programs of conformance/npm, too")

const npm = "../npm"

// programs returns the programs with loops from npm. They are explored with the first script.
func programs() []entry {
	const settings = "no retries"
	return []entry{
		newProgram("AI SDK", "AI SDK", "ai", "ai", "`@ai-sdk/openai`", settings+"; a finish reason `error` or `interrupted` of the run is an error", "non-streaming"),
		newProgram("AI SDK, streaming", "AI SDK", "ai", "ai", "`@ai-sdk/openai`", settings+"; the same", "streaming"),
		newProgram("OpenAI Agents", "OpenAI Agents", "@openai/agents", "agents", "`openai`", settings+"; `toolNotFoundBehavior` is `return_error_to_model`", "non-streaming"),
		newProgram("LangGraph", "LangGraph", "@langchain/langgraph", "langgraph", "`@langchain/openai`", settings+"; `createReactAgent`", "non-streaming"),
	}
}

func newProgram(name, family, module, file, client, settings, mode string) entry {
	return entry{name: name, family: family, module: module, client: client, settings: settings, program: true, explore: func(t *testing.T, s *fake.Script) *explore.Result {
		t.Helper()
		return exploreProgram(t, file, mode)
	}}
}

// exploreProgram runs looptape explore with a program of conformance/npm and the first script.
func exploreProgram(t *testing.T, file, mode string) *explore.Result {
	t.Helper()
	looptape := filepath.Join(t.TempDir(), "looptape")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", looptape, "./cmd/looptape") //nolint:gosec // this module
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	scenario, err := filepath.Abs("testdata/two_steps.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), looptape, "explore", "--format", "json", "--timeout", "60s", "--repeat", "20", "--keep", scenario, //nolint:gosec // the command above
		"--", "node", filepath.Join("clients", file+".mjs"), "openai-chat", mode, "keep")
	cmd.Dir, cmd.Stderr = npm, os.Stderr
	out, err := cmd.Output() // the exit status is that of the exploration
	var r struct {
		Runs, Orders int
		Complete     bool
		Unstable     []string
		Error        string
		Failures     []struct {
			Invariant, Message string
			Count              int
			ByFault            map[string]int `json:"by_fault"`
			Choices            []string
			Minimal            bool
		}
	}
	if decodeErr := json.Unmarshal(out, &r); decodeErr != nil || r.Error != "" {
		t.Fatalf("%v, %v: %s", err, decodeErr, out)
	}
	result := &explore.Result{Runs: r.Runs, Orders: r.Orders, Complete: r.Complete, Unstable: r.Unstable}
	for _, f := range r.Failures {
		failure := &explore.Failure{Violation: check.Violation{Invariant: f.Invariant, Message: f.Message}, Count: f.Count, ByFault: f.ByFault, Minimal: f.Minimal}
		for _, s := range f.Choices {
			c, err := explore.ParseChoice(s)
			if err != nil {
				t.Fatal(err)
			}
			failure.Choices = append(failure.Choices, c)
		}
		result.Failures = append(result.Failures, failure)
	}
	return result
}

// packageVersions adds the versions in package.json.
func packageVersions(versions map[string]string) error {
	data, err := os.ReadFile(filepath.Join(npm, "package.json"))
	if err != nil {
		return err
	}
	for _, m := range dependency.FindAllStringSubmatch(string(data), -1) {
		versions[m[1]] = m[2]
	}
	return nil
}

var dependency = regexp.MustCompile(`(?m)^ +"([^"]+)": "([0-9][^"]*)"`)
