package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// installed returns the folder of the programs. If they cannot run, it skips the test, or fails it
// if LOOPTAPE_NPM is set.
func installed(t *testing.T) string {
	t.Helper()
	dir, err := Dir()
	switch {
	case err == nil:
	case os.Getenv("LOOPTAPE_NPM") != "":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	return dir
}

const answer = "It rains in Bern, the sun shines in Rome ☀."

// rejection is a known fault of a client that the strict server rejects.
type rejection struct {
	rule   string // of the first rejected request
	reason string
}

// rejected are the clients that fail even without a quirk.
var rejected = map[string]rejection{
	"google-chat/gemini/streaming":   {"SG-02", "each chunk becomes its own message, which separates the calls of a response (googleapis/go-genai#692)"},
	"langgraph/gemini/streaming":     {"SG-01", "each result becomes its own message (langchain-ai/langchainjs#10342)"},
	"langgraph/gemini/non-streaming": {"SG-01", "each result becomes its own message (langchain-ai/langchainjs#10342)"},
}

// TestServeAcceptsPrograms runs each program with the scenario under looptape serve, in each of its
// protocols, streaming and non-streaming. The strict server accepts all requests except those of
// rejected.
func TestServeAcceptsPrograms(t *testing.T) {
	npm := installed(t)
	root := filepath.Join(npm, "..", "..")
	looptape := built(t, root)
	for _, c := range Clients() {
		for _, protocol := range c.Protocols {
			for _, mode := range []string{"streaming", "non-streaming"} {
				name := c.Name + "/" + protocol + "/" + mode
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					report := filepath.Join(t.TempDir(), "report.json")
					cmd := exec.CommandContext(t.Context(), looptape, "serve", "fake/wire/testdata/scenarios/calls.yaml", "--report", report,
						"--", "node", filepath.Join(npm, c.File()), protocol, mode)
					cmd.Dir = root
					var stderr bytes.Buffer
					cmd.Stderr = &stderr
					out, err := cmd.Output()
					checkReport(t, rejected[name], strings.HasPrefix(string(out), answer+"\n") && err == nil, report)
					if t.Failed() {
						t.Logf("%v\n%s\n%s", err, out, &stderr)
					}
				})
			}
		}
	}
}

// built builds the command and returns its path.
func built(t *testing.T, root string) string {
	t.Helper()
	looptape := filepath.Join(t.TempDir(), "looptape")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", looptape, "./cmd/looptape")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return looptape
}

// checkReport compares a report with the known fault of a client.
func checkReport(t *testing.T, known rejection, right bool, file string) {
	t.Helper()
	var r wire.Report
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	switch {
	case err != nil:
		t.Error(err)
	case known == rejection{}:
		if !right || r.Requests != 3 || !r.OK() {
			t.Errorf("correct answer: %t, want true; report: %s", right, text)
		}
	case len(r.RejectedRequests) == 0 || r.RejectedRequests[0].ID != known.rule || right:
		t.Errorf("%s: not rejected by %s: if the client is fixed, remove it from the list; report: %s", known.reason, known.rule, text)
	}
}

// TestWorkerRestarts checks that a worker runs cases sequentially, returns errors, and starts again
// after a hang or its end.
func TestWorkerRestarts(t *testing.T) {
	client := Clients()[0]
	w := &Worker{Dir: installed(t), Client: client}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	var stall atomic.Bool
	s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "one"})})
	h := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if stall.Load() {
			<-r.Context().Done()
			return
		}
		s.ServeHTTP(rw, r)
	}))
	defer h.Close()
	play := func(ctx context.Context, id, key string) (Result, error) {
		return w.Run(ctx, Case{ID: id, Protocol: "openai-chat", Env: map[string]string{"OPENAI_BASE_URL": wire.ServerInfo{URL: h.URL}.BaseURL(wire.OpenAI, id), "OPENAI_API_KEY": key}})
	}
	got, err := play(t.Context(), "a", "k")
	if diff := cmp.Diff(Result{ID: "a", Text: "one"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err = play(t.Context(), "b", ""); err != nil || !strings.Contains(got.Error, "Missing credentials") {
		t.Errorf("without a key: %+v, %v", got, err)
	}
	stall.Store(true)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("waited long enough")
	cancel(gone)
	if _, err = play(ctx, "c", "k"); !errors.Is(err, gone) {
		t.Errorf("got error %v, want %v", err, gone)
	}
	stall.Store(false)
	if got, err = play(t.Context(), "d", "k"); err != nil || got.Text != "one" {
		t.Errorf("after a stall: %+v, %v", got, err)
	}
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err = play(t.Context(), "e", "k"); err == nil {
		t.Error("got no error after the program was killed")
	}
	if got, err = play(t.Context(), "f", "k"); err != nil || got.Text != "one" {
		t.Errorf("after its end: %+v, %v", got, err)
	}
}

// TestDirReportsMissing checks the errors for missing folders and programs.
func TestDirReportsMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := Dir(); err == nil || !strings.Contains(err.Error(), "conformance/npm") {
		t.Errorf("the error is %v", err)
	}
	if err := os.MkdirAll("conformance/npm/clients", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("conformance/npm/clients/case.mjs", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if dir, err := Dir(); err == nil || filepath.Base(dir) != "npm" {
		t.Errorf("got folder %q and error %v", dir, err)
	}
	t.Setenv("PATH", "")
	if _, err := Dir(); err == nil || !strings.Contains(err.Error(), "Node.js") {
		t.Errorf("the error is %v", err)
	}
}
