package anthropic_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/providers/anthropic"
)

type cassette struct {
	Interactions []struct {
		Request  struct{ Body, URL string }
		Response struct {
			Body    string
			Headers map[string][]string
		}
	}
}

// TestCassettes reads the bodies that another project recorded with Anthropic and
// with Vertex and Bedrock, which wrap the same.
func TestCassettes(t *testing.T) {
	dir := shared(t, "fantasy-cassettes")
	requests, streams, answers := 0, 0, 0
	walk := func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.Contains(body, []byte("anthropic")) {
			return nil
		}
		var c cassette
		if err := yaml.Unmarshal(body, &c); err != nil {
			return err
		}
		for _, i := range c.Interactions {
			if !ours(i.Request.URL) {
				continue
			}
			t.Run(strings.TrimPrefix(path, dir), func(t *testing.T) {
				sameRequest(t, i.Request.Body)
				requests++
				switch kind := strings.Join(i.Response.Headers["Content-Type"], ""); {
				case strings.HasPrefix(kind, "text/event-stream"):
					turn, err := decode(strings.NewReader(i.Response.Body))
					sameFacts(t, readEvents(t, eventData([]byte(i.Response.Body))), turn, err)
					streams++
				case strings.HasPrefix(kind, "application/json"):
					turn, err := decodeBuffered(i.Response.Body)
					sameFacts(t, readWhole(t, []byte(i.Response.Body)), turn, err)
					answers++
				}
			})
		}
		return nil
	}
	if err := filepath.WalkDir(dir, walk); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d requests, %d streams, %d non-streaming responses", requests, streams, answers)
	if requests < 60 || streams < 25 || answers < 30 {
		t.Errorf("too few: %d requests, %d streams, %d non-streaming responses", requests, streams, answers)
	}
}

func ours(url string) bool {
	return strings.Contains(url, "api.anthropic.com/v1/messages") || strings.Contains(url, "/publishers/anthropic/") ||
		strings.Contains(url, "bedrock-runtime") && strings.Contains(url, "anthropic")
}

// sameRequest decodes and encodes a request, and compares the two as values except for
// the differences that DecodeRequest lists.
func sameRequest(t *testing.T, body string) {
	t.Helper()
	req, err := anthropic.Messages{}.DecodeRequest("/v1/messages", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal([]byte(body), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(encodeRequest(t, req)), &got); err != nil {
		t.Fatal(err)
	}
	plainSystem(want.(map[string]any))
	if body := want.(map[string]any); cmp.Equal(body["tool_choice"], any(map[string]any{"type": "auto"})) {
		delete(body, "tool_choice")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the request (-recorded +encoded again):\n%s", diff)
	}
}

// plainSystem makes a system prompt with one plain block per text.
func plainSystem(body map[string]any) {
	blocks, ok := body["system"].([]any)
	if !ok || len(blocks) != 1 {
		return
	}
	if block := blocks[0].(map[string]any); len(block) == 2 && block["type"] == "text" {
		body["system"] = block["text"]
	}
}
