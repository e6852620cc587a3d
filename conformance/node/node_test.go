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

// installed returns the folder of the programs. Where they cannot run, the test is
// skipped, unless LOOPTAPE_NPM says that they have to.
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

// refusal is what the strict server has against a client, and rightly so.
type refusal struct {
	rule string // of the first request that it refuses
	why  string
}

// refused are the clients that cannot play even the plain scenario.
var refused = map[string]refusal{
	"google-chat/gemini/streamed": {"SG-02", "each chunk becomes a turn of its own, so that calls made at once are apart (googleapis/go-genai#692)"},
	"langgraph/gemini/streamed":   {"SG-01", "each result becomes a turn of its own (langchain-ai/langchainjs#10342)"},
	"langgraph/gemini/buffered":   {"SG-01", "each result becomes a turn of its own (langchain-ai/langchainjs#10342)"},
}

// Every program plays the scenario under looptape serve, in each protocol that it
// speaks, streamed and buffered, and the strict server has nothing to say; the
// exceptions are known.
func TestServe(t *testing.T) {
	npm := installed(t)
	root := filepath.Join(npm, "..", "..")
	looptape := filepath.Join(t.TempDir(), "looptape")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", looptape, "./cmd/looptape")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range Clients() {
		for _, protocol := range c.Protocols {
			for _, delivery := range []string{"streamed", "buffered"} {
				name := c.Name + "/" + protocol + "/" + delivery
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					report := filepath.Join(t.TempDir(), "report.json")
					cmd := exec.CommandContext(t.Context(), looptape, "serve", "fake/wire/testdata/scenarios/calls.yaml", "--report", report,
						"--", "node", filepath.Join(npm, c.File()), protocol, delivery)
					cmd.Dir = root
					var words bytes.Buffer
					cmd.Stderr = &words
					out, err := cmd.Output()
					holds(t, refused[name], strings.HasPrefix(string(out), answer+"\n") && err == nil, report)
					if t.Failed() {
						t.Logf("%v\n%s\n%s", err, out, &words)
					}
				})
			}
		}
	}
}

// holds holds a report to what is known of a client.
func holds(t *testing.T, known refusal, right bool, file string) {
	t.Helper()
	var r wire.Report
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	switch {
	case err != nil:
		t.Error(err)
	case known == refusal{}:
		if !right || r.Requests != 3 || !r.OK() {
			t.Errorf("the answer is right: %t; the report is %s", right, text)
		}
	case len(r.RejectedRequests) == 0 || r.RejectedRequests[0].ID != known.rule || right:
		t.Errorf("%s was refused by %s; if that is mended, take it off the list; the report is %s", known.why, known.rule, text)
	}
}

// A worker plays one case after the other, tells of errors, and is started anew
// where it hangs or has ended.
func TestWorker(t *testing.T) {
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
	play := func(ctx context.Context, id, key string) (Outcome, error) {
		return w.Play(ctx, Case{ID: id, Protocol: "openai-chat", Env: map[string]string{"OPENAI_BASE_URL": wire.ServerInfo{URL: h.URL}.BaseURL(wire.OpenAI, id), "OPENAI_API_KEY": key}})
	}
	got, err := play(t.Context(), "a", "k")
	if diff := cmp.Diff(Outcome{ID: "a", Text: "one"}, got); diff != "" || err != nil {
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
		t.Errorf("the error is %v", err)
	}
	stall.Store(false)
	if got, err = play(t.Context(), "d", "k"); err != nil || got.Text != "one" {
		t.Errorf("after a stall: %+v, %v", got, err)
	}
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err = play(t.Context(), "e", "k"); err == nil {
		t.Error("the program was ended, and nothing is said of it")
	}
	if got, err = play(t.Context(), "f", "k"); err != nil || got.Text != "one" {
		t.Errorf("after its end: %+v, %v", got, err)
	}
}

// What is missing is said.
func TestDir(t *testing.T) {
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
		t.Errorf("the folder is %q, the error %v", dir, err)
	}
	t.Setenv("PATH", "")
	if _, err := Dir(); err == nil || !strings.Contains(err.Error(), "Node.js") {
		t.Errorf("the error is %v", err)
	}
}
