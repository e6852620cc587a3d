//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/internal/docpage"
)

// ciBlock returns the block of docs/ci.md after the line with its name.
func ciBlock(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range docpage.Blocks(string(page)) {
		if b.File == name {
			return b.Text
		}
	}
	t.Fatalf("docs/ci.md has no block %s", name)
	return ""
}

// The recipes of docs/ci.md pass on what looptape init writes, and fail if a part fails.
func TestCIPage(t *testing.T) {
	const (
		zeros = "0000000000000000000000000000000000000000000000000000000000000000"
		name  = "looptape_1.2.3_linux_amd64.tar.gz"
	)
	archive, sum := archived(t)
	url, _ := serveFiles(t, map[string]string{"/v1.2.3/" + name: string(archive)})

	t.Run("workflow", func(t *testing.T) {
		var workflow struct {
			Jobs map[string]struct {
				Steps []struct {
					Uses string
					With map[string]string
				}
			}
		}
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(ciBlock(t, ".github/workflows/looptape.yml"), zeros, sum)), &workflow); err != nil {
			t.Fatal(err)
		}
		steps := workflow.Jobs["looptape"].Steps
		if len(steps) != 2 || steps[1].Uses != "looptape/looptape@v1.2.3" {
			t.Fatalf("steps %v", steps)
		}
		a, _ := readAction(t)
		for name := range steps[1].With {
			if _, ok := a.Inputs[name]; !ok {
				t.Errorf("unknown input %s", name)
			}
		}
		for name := range a.Inputs {
			page, err := os.ReadFile(filepath.Join("..", "..", "docs", "ci.md"))
			if err != nil || !regexp.MustCompile("(?m)^\\|.*`"+name+"`.*\\|").Match(page) {
				t.Errorf("docs/ci.md has no row for the input %s", name)
			}
		}
		r := newRunner(t, steps[1].With)
		r.goodFiles()
		r.environ["LOOPTAPE_RELEASES"] = url
		r.context["inputs.comment"] = "false"
		r.run().want("")
		r.wantReports("check", "cassette-verify", "eval-gate-1", "run")
	})

	t.Run("shell and GitLab", func(t *testing.T) {
		var gitlab struct {
			Looptape struct {
				Script    []string
				Artifacts struct {
					When    string
					Reports struct{ Junit string }
				}
			}
		}
		if err := yaml.Unmarshal([]byte(ciBlock(t, ".gitlab-ci.yml")), &gitlab); err != nil {
			t.Fatal(err)
		}
		job := gitlab.Looptape
		if !slices.Equal(job.Script, []string{"sh looptape-ci.sh"}) || job.Artifacts.When != "always" {
			t.Fatalf("the job %+v", job)
		}
		r := newRunner(t, nil)
		r.goodFiles()
		script := strings.ReplaceAll(ciBlock(t, "looptape-ci.sh"), zeros, sum)
		for _, c := range []struct{ name, text, edit, want string }{
			{"passes", "", "", ""},
			{"wrong checksum", "", "sha256=" + zeros, "FAILED"},
			{"violation", `{"messages":[{"role":"tool","tool_call_id":"a","content":"x"}]}`, "", "1 violation"},
		} {
			edited := script
			if c.edit != "" {
				edited = strings.Replace(script, "sha256="+sum, c.edit, 1)
			}
			r.write("looptape-ci.sh", edited)
			r.write("looptape-tests/runs.jsonl", c.text)
			cmd := exec.CommandContext(t.Context(), "sh", "-c", job.Script[0])
			cmd.Dir, cmd.Env = r.folder, append(os.Environ(), "LOOPTAPE_RELEASES="+url, "TMPDIR="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if (err == nil) != (c.want == "") || !strings.Contains(string(out), c.want) {
				t.Errorf("%s: %v, want %q:\n%s", c.name, err, c.want, out)
			}
			if found, _ := filepath.Glob(filepath.Join(r.folder, job.Artifacts.Reports.Junit)); len(found) != 4 {
				t.Errorf("%s: reports %q", c.name, found)
			}
		}
	})
}
