package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// graded is a folder with a suite whose grader is a provider that counts its requests.
type graded struct {
	*testing.T

	dir, url string

	mu             sync.Mutex
	requests, good int              // numbers of requests, and of those with a grade
	most           int              // the number of requests that get a grade
	over           http.HandlerFunc // answers other requests
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
	g.limit(1000, nil)
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
	body, _ := io.ReadAll(r.Body) // a request without its end is not one of a grader
	g.mu.Lock()
	g.requests++
	over := g.over
	if g.good < g.most {
		g.good++
		over = nil
	}
	g.mu.Unlock()
	if over != nil {
		over(w, r)
		return
	}
	grade := "fail"
	if strings.Contains(string(body), "good ") {
		grade = "pass"
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"{\"grade\":\"%s\"}"}}],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}`, grade)
}

// limit sets the number of requests that get a grade, and the handler of others.
func (g *graded) limit(most int, over http.HandlerFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.most, g.over = most, over
}

// counts returns the number of requests, and of those with a grade.
func (g *graded) counts() (requests, good int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.requests, g.good
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
	before, _ := g.counts()
	status = execute(append([]string{"eval", "score"}, append(args, g.path("eval.yaml"))...), w)
	after, _ := g.counts()
	return status, after - before, stdout.String(), strings.ReplaceAll(stderr.String(), g.dir+string(filepath.Separator), "")
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

// whole returns the score file of one recording of all responses, which is removed.
func (g *graded) whole(want int) string {
	g.Helper()
	status, requests, _, said := g.score("--record", "-o", g.path("whole"))
	if status != cli.OK || requests != want {
		g.Fatalf("a whole recording: got status %d, %d requests and %q, want 0 and %d requests", status, requests, said, want)
	}
	if err := os.Remove(g.path("grader.tape")); err != nil {
		g.Fatal(err)
	}
	return g.read("whole")
}

func (g *graded) read(name string) string {
	g.Helper()
	text, err := os.ReadFile(g.path(name))
	if err != nil {
		g.Fatal(err)
	}
	return string(text)
}

// TestEvalRecordMissing checks that a recording after failed requests asks only for their responses, one
// after a changed answer only for its grades, and that the scores are those of a whole recording.
func TestEvalRecordMissing(t *testing.T) {
	for failed := 1; failed <= 8; failed++ {
		g := newGraded(t)
		whole := g.whole(9)
		g.limit(9+9-failed, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "overloaded", http.StatusServiceUnavailable)
		})
		if status, _, _, said := g.score("--record"); status != cli.Failed {
			t.Errorf("%d failed requests: got status %d, want 1: %s", failed, status, said)
		}
		g.limit(1000, nil)
		f, err := cassettes.ReadFile(g.path("grader.tape"))
		if err != nil {
			t.Fatal(err)
		}
		good := 0
		for x, err := range f.All() {
			if err == nil && x.Response.Status == http.StatusOK {
				good++
			}
		}
		for _, want := range []int{9 - good, 0} {
			if status, requests, _, said := g.score("--record", "missing", "-o", g.path("scores")); status != cli.OK || requests != want {
				t.Errorf("%d failed requests: got status %d, %d requests and %q, want 0 and %d requests", failed, status, requests, said, want)
			}
			if got := g.read("scores"); got != whole {
				t.Errorf("%d failed requests: got the scores %s, want %s", failed, got, whole)
			}
		}
		if status, requests, _, said := g.score(); status != cli.OK || requests != 0 {
			t.Errorf("a replay: got status %d, %d requests and %q, want 0 and no request", status, requests, said)
		}
		g.write("2.jsonl", gradedRow("c", "bad"))
		if status, requests, _, said := g.score("--record=missing"); status != cli.OK || requests != 3 {
			t.Errorf("a changed answer: got status %d, %d requests and %q, want 0 and 3 requests", status, requests, said)
		}
		if status, requests, _, said := g.score("--record"); status != cli.OK || requests != 9 {
			t.Errorf("all again: got status %d, %d requests and %q, want 0 and 9 requests", status, requests, said)
		}
	}
}

// TestEvalRecordMode checks the values of --record.
func TestEvalRecordMode(t *testing.T) {
	g := newGraded(t)
	if status, requests, _, said := g.score("--record=new"); status != cli.Usage || requests != 0 || !strings.Contains(said, `--record "new": want all or missing`) {
		t.Errorf("got status %d, %d requests and %q, want an error", status, requests, said)
	}
	if status, requests, _, said := g.score("--record", "--resume", "-o", g.path("scores")); status != cli.Usage || requests != 0 || !strings.Contains(said, "remove --resume") {
		t.Errorf("got status %d, %d requests and %q, want an error", status, requests, said)
	}
}

// TestEvalRecordCost checks the estimate before a recording and the tokens after it.
func TestEvalRecordCost(t *testing.T) {
	g := newGraded(t)
	for _, c := range []struct {
		mode string
		want []string
	}{
		{"all", []string{"--record: 9 requests to m, about ", "which cost ", "; the output is not estimated\n", "--record: m used 900 input and 90 output tokens, which cost 0.01125\n"}},
		{"missing", []string{"--record: 0 requests to m, about 0 input tokens (a token is 4 characters), which cost 0;", "--record: m used 0 input and 0 output tokens, which cost 0\n"}},
		{"all", []string{"--record: 9 requests to m, ", "--record: m used 900 input and 90 output tokens, "}},
	} {
		status, _, _, said := g.score("--record="+c.mode, "--price", "m=10,25")
		for _, want := range c.want {
			if status != cli.OK || !strings.Contains(said, want) {
				t.Errorf("%s: got status %d and %q, want %q", c.mode, status, said, want)
			}
		}
	}
	g.write("2.jsonl", gradedRow("c", "bad"))
	if _, _, _, said := g.score("--record=missing"); !strings.Contains(said, "--record: 3 requests to m, ") || !strings.Contains(said, "--record: m used 300 input and 30 output tokens\n") {
		t.Errorf("a changed answer: got %q, want 3 requests and their tokens", said)
	}
	if status, requests, _, said := g.score("--record", "--price", "m=1"); status != cli.Usage || requests != 0 || !strings.Contains(said, "want MODEL=INPUT,OUTPUT") {
		t.Errorf("got status %d, %d requests and %q, want an error", status, requests, said)
	}
}
