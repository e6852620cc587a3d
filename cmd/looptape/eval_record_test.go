package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// graded is a folder with a suite whose grader is a provider that counts its requests.
type graded struct {
	*testing.T

	dir, url string
	requests atomic.Int32
	// most is the number of requests that succeed; the handler over answers others.
	most atomic.Int32
	over http.HandlerFunc
}

// gradedSuite has two scorers with a grader, one of which takes two samples.
const gradedSuite = `suite: 2
runs: ['*.jsonl']
scorers:
  - {kind: rubric, metric: right, settings: {criteria: It is right., grader: {cassette: grader.tape, provider: openai, model: m}}}
  - {kind: rubric, metric: kind, settings: {criteria: It is kind., samples: 2, grader: {cassette: grader.tape, provider: openai, model: m}}}
  - {kind: exact, metric: same}
`

func newGraded(t *testing.T) *graded {
	t.Helper()
	g := &graded{T: t, dir: t.TempDir()}
	g.most.Store(1000)
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	g.url = server.URL
	g.write("eval.yaml", gradedSuite)
	g.write("1.jsonl", gradedRow("a", "good")+gradedRow("b", "bad"))
	g.write("2.jsonl", gradedRow("c", "good"))
	return g
}

func gradedRow(name, answer string) string {
	return fmt.Sprintf(`{"task_id":%q,"prompt":"Well?","completion":%q,"ideal":"good"}`+"\n", name, answer+" "+name)
}

// ServeHTTP grades an answer with "good" in it as a pass.
func (g *graded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.requests.Add(1) > g.most.Load() {
		g.over(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	grade := "fail"
	if strings.Contains(string(body), "good ") {
		grade = "pass"
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"{\"grade\":\"%s\"}"}}],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}`, grade)
}

func (g *graded) write(name, text string) {
	g.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
		g.Fatal(err)
	}
}

func (g *graded) path(name string) string { return filepath.Join(g.dir, name) }

// score runs looptape eval score with the suite. It returns its status, the number of requests, and what it
// printed.
func (g *graded) score(args ...string) (status cli.Status, requests int, out, err string) {
	g.Helper()
	w, stdout, stderr := clitest.Terminal(map[string]string{"NO_COLOR": "1", "OPENAI_API_KEY": "key-of-the-test", "OPENAI_BASE_URL": g.url})
	before := g.requests.Load()
	status = execute(append([]string{"eval", "score"}, append(args, g.path("eval.yaml"))...), w)
	return status, int(g.requests.Load() - before), stdout.String(), strings.ReplaceAll(stderr.String(), g.dir+string(filepath.Separator), "")
}

// TestEvalRecordUnreadable checks that input that cannot be scored is found before the first request.
func TestEvalRecordUnreadable(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"a run twice": {"3.jsonl", `{"task_id":"a","epoch":1,"prompt":"Well?","completion":"x"}` + "\n" + `{"task_id":"a","epoch":1,"prompt":"Well?","completion":"y"}` + "\n", `two runs of case "a", epoch 1: `},
		"a copy":      {"3.jsonl", gradedRow("c", "good"), "the same run"},
		"a record":    {"3.jsonl", gradedRow("d", "good") + "{\n", "--record: 1 unreadable record: no request was sent"},
		"a file":      {"3.jsonl", "not a recording", "--record: 1 unreadable record: no request was sent"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGraded(t)
			g.write(c.file, c.text)
			status, requests, _, said := g.score("--record")
			if status != cli.Usage || requests != 0 || !strings.Contains(said, c.want) {
				t.Errorf("got status %d, %d requests and %q, want status 2, no request and %q", status, requests, said, c.want)
			}
			if left, _ := filepath.Glob(g.path("grader.tape*")); len(left) > 0 {
				t.Errorf("got the files %q, want none", left)
			}
		})
	}
}
