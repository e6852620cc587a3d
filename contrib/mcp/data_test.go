package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func sprint(values ...any) string { return strings.TrimSuffix(fmt.Sprintln(values...), "\n") }

// specification returns a file of the schemas and the examples of the specification, which are not in
// the repository.
func specification(t *testing.T, name ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "..", "shared", "data", "mcp"}, name...)...))
	if err != nil {
		t.Skipf("no schemas and examples of MCP in ../shared/data/mcp: %v", err)
	}
	return data
}

// The results of the specification's pages and examples are read, in both versions.
func TestSpecificationResults(t *testing.T) {
	want := map[string]string{
		"2025-11-25 383": `[{{"temperature": 22.5, "conditions": "Partly cloudy", "humidity": 65} false []}] false <nil>`,
		"2025-11-25 494": `[{Invalid departure date: must be in the future. Current date is 08/08/2025. false []}] true <nil>`,
		"2026-07-28 182": `[] false the tool asks for input of a person or a model, which this client does not give`,
		"2026-07-28 557": `[{{"temperature": 22.5, "conditions": "Partly cloudy", "humidity": 65} false []}] false <nil>`,
	}
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for line := range bytes.Lines(specification(t, version, "doc-examples.jsonl")) {
			var example struct {
				Doc  string
				Line int
				Text string
			}
			if err := json.Unmarshal(line, &example); err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprint(version, " ", example.Line)
			if !strings.HasSuffix(example.Doc, "/server/tools.mdx") || want[name] == "" {
				continue
			}
			msg, err := decode([]byte(example.Text))
			if err != nil {
				t.Fatal(name, err)
			}
			raw := &result{}
			g := &gate{}
			g.sent(capture(t.Context(), raw), call(msg))
			if _, err := g.received(msg); err != nil {
				t.Fatal(name, err)
			}
			out, err := output(raw.raw, DefaultMaxResult)
			if got := sprint(out.Content, out.IsError, err); got != want[name] {
				t.Errorf("%s: got %s, want %s", name, got, want[name])
			}
			delete(want, name)
		}
	}
	for name := range want {
		t.Errorf("%s: no such example", name)
	}
	for name, want := range map[string]string{
		"CallToolResult/result-with-unstructured-text.json":                      "[{Current weather in New York:\nTemperature: 72°F\nConditions: Partly cloudy false []}] false <nil>",
		"InputRequiredResult/input-required-result-with-request-state-only.json": "[] false the tool asks for input of a person or a model, which this client does not give",
	} {
		out, err := output(specification(t, "2026-07-28", "examples", name), DefaultMaxResult)
		if got := sprint(out.Content, out.IsError, err); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// Each message that the client sends fits the schema of its version.
func TestMessagesFitSchema(t *testing.T) {
	for version, methods := range map[string][]string{
		"2025-11-25": {"initialize", "notifications/initialized", "tools/list", "tools/call", "notifications/cancelled"},
		"2026-07-28": {"server/discover", "subscriptions/listen", "tools/list", "tools/call", "notifications/cancelled"},
	} {
		schema := func(name string) *jsonschema.Resolved {
			var s jsonschema.Schema
			if err := json.Unmarshal(specification(t, version, "schema.json"), &s); err != nil {
				t.Fatal(err)
			}
			s.Ref = "#/$defs/" + name
			resolved, err := s.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			return resolved
		}
		messages := map[bool]*jsonschema.Resolved{true: schema("ClientRequest"), false: schema("ClientNotification")}
		sent := newOutput()
		canceled := make(chan string, 2)
		server := memory(t, newServer(canceled))
		inner := server.Transport
		server.ProtocolVersion, server.Transport = version, func() (sdk.Transport, error) {
			transport, err := inner()
			return &sdk.LoggingTransport{Transport: transport, Writer: sent}, err
		}
		c := connect(t, &Config{Servers: []Server{server}})
		if _, err := run(t.Context(), c, "s__greet", `{"name":"Ada"}`); err != nil {
			t.Error(err)
		}
		hang(t, c, canceled)
		sent.wait(`"notifications/cancelled"`)
		got := map[string]bool{}
		for line := range strings.Lines(sent.String()) {
			line, ok := strings.CutPrefix(line, "write: ")
			if !ok {
				continue
			}
			var m struct {
				ID     any
				Method string
			}
			var value any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(line), &value); err != nil {
				t.Fatal(err)
			}
			if m.Method == "" {
				continue
			}
			got[m.Method] = true
			if err := messages[m.ID != nil].Validate(value); err != nil {
				t.Errorf("%s: %s: %v", version, line, err)
			}
		}
		for _, method := range methods {
			if !got[method] {
				t.Errorf("%s: no message %s", version, method)
			}
		}
	}
}
