// Package examples_test runs the programs below this folder, each of which does what the
// documentation of a reference loop does.
package examples_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"

	// The programs import these. Without them, the cache of go test would miss their changes.
	_ "github.com/looptape/looptape/loop/preset"
	_ "github.com/looptape/looptape/providers/anthropic"
	_ "github.com/looptape/looptape/providers/gemini"
	_ "github.com/looptape/looptape/providers/openai"
)

// programs are the folders of the examples, each with the variable of its provider's key, and what it
// uses with the key and without.
var programs = map[string]struct{ variable, provider, scripted string }{
	"agentier":   {"OPENAI_API_KEY", "OpenAI", "the scripted model"},
	"agentloop":  {"GEMINI_API_KEY", "Gemini", "the scripted model"},
	"deepagents": {"OPENAI_API_KEY", "OpenAI", "the scripted models"},
	"deuz":       {"ANTHROPIC_API_KEY", "Anthropic", "the scripted model"},
	"reactagent": {"OPENAI_API_KEY", "OpenAI", "the scripted models"},
}

const key = "sk-a-key-that-no-output-may-contain"

// build builds all examples and returns the folder of the programs.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", dir+string(filepath.Separator), "./...").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return dir
}

// start runs a program in an empty folder, with these variables as its only environment.
func start(t *testing.T, file string, env []string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errors bytes.Buffer
	cmd := exec.CommandContext(t.Context(), file)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = t.TempDir(), append(slices.Clip(env), "SYSTEMROOT="+os.Getenv("SYSTEMROOT")), &out, &errors
	err = cmd.Run()
	return out.String(), errors.String(), err
}

// TestExamples runs each program with its scripted model, and, with a key in the environment, with its
// provider's client against the strict server. Standard error names the model. Both print the same, except for durations and the order of concurrent tools.
// Each program has less than 150 lines.
func TestExamples(t *testing.T) {
	dir := build(t)
	golden := goldie.New(t, goldie.WithFixtureDir("testdata"))
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			source, err := os.ReadFile(filepath.Join(name, "main.go"))
			if n := bytes.Count(source, []byte("\n")); err != nil || n >= 150 {
				t.Errorf("main.go has %d lines, want less than 150 (%v)", n, err)
			}
			file := filepath.Join(dir, name)
			uses := name + ": " + p.variable + " is not set: using " + p.scripted + "\n"
			var scripted string
			for _, env := range [][]string{others(p.variable), {p.variable + "="}} {
				stdout, stderr, err := start(t, file, env)
				if err != nil || stderr != uses {
					t.Fatalf("the scripted model: %v\n%swant %s", err, stderr, uses)
				}
				golden.Assert(t, name, []byte(stdout))
				scripted = stdout
			}

			server := wire.New(wire.Config{Script: script(t, name), Key: key})
			listener := httptest.NewServer(searches(script(t, name), server))
			defer listener.Close()
			env := server.Info(listener.URL).Env("", key)
			uses = name + ": " + p.variable + " is set: using " + p.provider + "\n"
			live, stderr, err := start(t, file, env)
			if err != nil || stderr != uses {
				t.Errorf("the provider: %v\n%swant %s", err, stderr, uses)
			}
			if diff := cmp.Diff(lines(scripted), lines(live)); diff != "" {
				t.Errorf("the provider prints something else (-scripted +provider):\n%s", diff)
			}
			if r := server.Done(); !r.OK() {
				t.Errorf("the server reports %+v", r)
			}

			env = server.Info(listener.URL).Env("", key+"-of-another")
			stdout, stderr, err := start(t, file, env)
			if err == nil || !strings.Contains(stderr, "status 40") || strings.Contains(stdout+stderr, key) {
				t.Errorf("with an invalid key: got %v\n%s%s", err, stdout, stderr)
			}
		})
	}
}

// others returns the variables of the keys of the other providers, which a program ignores.
func others(variable string) (env []string) {
	for _, p := range programs {
		if p.variable != variable {
			env = append(env, p.variable+"="+key)
		}
	}
	return env
}

// script returns the scenario of a program.
func script(t *testing.T, name string) *fake.Script {
	t.Helper()
	file := filepath.Join(name, "scenario.yaml")
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := fake.ParseScript(file, src)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// searches serves the requests of a search in the session of its term, as fake.WithSession does.
func searches(s *fake.Script, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		for _, m := range s.Models {
			if bytes.Contains(body, []byte("Search term: "+m.Name)) {
				r.URL.Path = "/session/" + m.Name + r.URL.Path
			}
		}
		next.ServeHTTP(w, r)
	})
}

var duration = regexp.MustCompile(`\d+ms`)

// lines returns the lines in sorted order, without durations.
func lines(s string) []string {
	return slices.Sorted(strings.Lines(duration.ReplaceAllString(s, "…ms")))
}

// TestExamplesComplete checks that each folder is in the table and has one file.
func TestExamplesComplete(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for name := range programs {
		want = append(want, filepath.Join(name, "main.go"))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-table +folder):\n%s", diff)
	}
}
