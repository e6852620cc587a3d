package wire_test

import (
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// post sends a body to a server with a key and returns the response.
func post(t *testing.T, s *wire.Server, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer some-key")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// recordings are folders of cassettes whose requests real providers accepted, with the number
// of requests.
func recordings(t *testing.T) map[string]int {
	t.Helper()
	dirs := map[string]int{filepath.Join(shared(), "data", "fantasy-cassettes"): 534}
	if out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output(); err == nil {
		dirs[filepath.Join(strings.TrimSpace(string(out)), "charm.land", "fantasy@v0.3.0", "providertests", "testdata")] = 488
	}
	maps.DeleteFunc(dirs, func(dir string, _ int) bool {
		_, err := os.Stat(dir)
		return err != nil
	})
	return dirs
}

// shared returns the folder with shared data, which LOOPTAPE_SHARED names or which is above
// this package; empty if missing.
func shared() string {
	if dir := os.Getenv("LOOPTAPE_SHARED"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "shared", "data")); err == nil {
			return filepath.Join(dir, "shared")
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// cassette is the part of a go-vcr file that the test reads.
type cassette struct {
	Interactions []struct {
		Request struct{ URL, Body string }
	}
}

// served returns the path of the server for the URL of a provider.
func served(url string) string {
	url, _, _ = strings.Cut(url, "?")
	switch {
	case strings.HasSuffix(url, "/chat/completions"):
		return "/openai/v1/chat/completions"
	case strings.HasSuffix(url, "/responses"):
		return "/openai/v1/responses"
	case strings.Contains(url, "enerateContent"):
		return "/gemini/v1beta" + url[strings.LastIndex(url, "/models/"):]
	}
	return "/anthropic/v1/messages" // also after Bedrock and Vertex AI
}

// The server accepts each request that a real provider accepted.
func TestStrictAcceptsRecordedRequests(t *testing.T) {
	t.Parallel()
	dirs := recordings(t)
	if len(dirs) == 0 {
		t.Skip("no recordings: no folder shared above this package, LOOPTAPE_SHARED is not set, and charm.land/fantasy@v0.3.0 is not in the module cache")
	}
	for dir, want := range dirs {
		took := 0
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".yaml" {
				return err
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			var c cassette
			if err := yaml.Unmarshal(src, &c); err != nil {
				return err
			}
			for i, x := range c.Interactions {
				s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})})
				if w := post(t, s, served(x.Request.URL), x.Request.Body); w.Code != http.StatusOK {
					t.Errorf("%s, request %d to %s: %d %s\n%s", strings.TrimPrefix(path, dir), i, x.Request.URL, w.Code, w.Body, x.Request.Body)
				}
				took++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if took != want {
			t.Errorf("%s has %d requests, not %d", dir, took, want)
		}
	}
}
