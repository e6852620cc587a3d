package recordings

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/importer"
	"github.com/looptape/looptape/trace/watch"
)

// found is the result of `looptape check` for a set of cassettes.
type found struct {
	Runs, Checked int
	// Lost are violations of INV-22, the only ones, by the folder of the cassette. Each is a note,
	// because the provider accepted the request, and a fault of fantasy:
	//   - OpenAI Responses, and xAI's reasoning through OpenRouter: it omits encrypted reasoning,
	//     or adds an empty summary.
	//   - Gemini 2.5: it omits signatures of calls.
	//   - GPT-5 through Vercel: it omits the id of a summary.
	//   - Anthropic's search: it omits citations with their encrypted index.
	Lost map[string]int
	// Changed are violations of INV-05, likewise. They are notes and faults of fantasy:
	//   - OpenAI Responses, until version 0.3.0: it sends arguments back as a JSON string within a
	//     string, "\"{\\\"a\\\":2}\"".
	//   - Anthropic's computer use: it omits the text before the call.
	//   - Kimi through Avian: it omits the text before the first call, and keeps the one between calls.
	Changed map[string]int
}

// Requests that a provider accepted have no other violations than lost or changed data.
func TestCheck(t *testing.T) {
	for i, want := range []found{
		{322, 488, map[string]int{
			"TestOpenAIResponsesWithSummaryThinking": 1,
			"TestOpenRouterCommon/grok-code-fast-1":  4, "TestOpenRouterThinking/grok-code-fast-1": 2,
			"TestGoogleCommon/gemini-2.5-flash": 4, "TestGoogleCommon/gemini-2.5-pro": 4,
			"TestGoogleCommon/vertex-gemini-2-5-flash": 4, "TestGoogleCommon/vertex-gemini-2-5-pro": 4,
			"TestGoogleThinking/gemini-2.5-flash": 1, "TestGoogleThinking/gemini-2.5-pro": 1,
		}, map[string]int{
			"TestAzureResponsesCommon/azure-gpt-5-mini": 2, "TestAzureResponsesCommon/azure-o4-mini": 2,
			"TestAzureResponsesWithSummaryThinking":   2,
			"TestOpenAIResponsesCommon/openai-gpt-4o": 4, "TestOpenAIResponsesCommon/openai-gpt-4o-mini": 4,
			"TestOpenAIResponsesCommon/openai-gpt-5": 4, "TestOpenAIResponsesCommon/openai-o4-mini": 2,
			"TestOpenAIResponsesWithSummaryThinking": 3,
		}},
		{350, 534, map[string]int{
			"TestAnthropicWebSearch": 1, "TestAzureResponsesWithSummaryThinking": 2, "TestOpenAIResponsesWithSummaryThinking": 4,
			"TestOpenRouterCommon/grok": 4, "TestVercelThinking/gpt-5": 2,
		}, map[string]int{"TestAnthropicComputerUse/claude-sonnet-4": 2, "TestOpenAICompatibleCommon/avian-kimi": 1}},
	} {
		t.Run(sets[i].name, func(t *testing.T) {
			got := found{Lost: map[string]int{}, Changed: map[string]int{}}
			dir := sets[i].dir(t)
			err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
				if err != nil || filepath.Ext(path) != ".yaml" {
					return err
				}
				name, err := filepath.Rel(dir, path)
				got.file(t, path, name)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// file checks a cassette.
func (f *found) file(t *testing.T, path, name string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	src, err := importer.Open(name, file)
	if err != nil {
		t.Fatal(err)
	}
	var r watch.Recording
	for x, err := range src.Exchanges() {
		if err != nil || x.Request == nil {
			t.Fatalf("%s: interaction %d, %s, is not a model request; %v", name, x.Number, x.Title, err)
		}
		violations, err := r.Add(watch.Interaction{Number: x.Number, Session: x.Session, Protocol: x.Protocol, Request: x.Request, Response: x.Response, Body: x.Body, RequestBody: x.RequestBody})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f.Checked++
		for _, v := range violations {
			counts := map[string]map[string]int{"INV-22": f.Lost, "INV-05": f.Changed}[v.Invariant]
			if counts == nil || !v.Note {
				t.Errorf("%s: %v", name, v)
				continue
			}
			counts[group(name)]++
		}
	}
	f.Runs += r.Runs
}

// group returns the folder of a cassette, or the provider if its models give the same result.
func group(name string) string {
	folder := filepath.ToSlash(filepath.Dir(name))
	if test, _, _ := strings.Cut(folder, "/"); strings.HasSuffix(test, "WithSummaryThinking") {
		return test
	}
	return folder
}
