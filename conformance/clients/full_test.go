package clients

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// The content of the full requests of all SDKs.
var (
	png     = []byte("\x89PNG\r\n\x1a\n no more of it")
	pdf     = []byte("%PDF-1.7 no more of it")
	verdict = map[string]any{
		"type": "object", "properties": map[string]any{"rain": map[string]any{"type": "boolean"}},
		"required": []any{"rain"}, "additionalProperties": false,
	}
)

const imageURL = "https://images.example/sky.png"

// full has a client send one request with everything that it supports, and checks what our
// codec reads of it. The names without a field in llm are in extra.
func full(t *testing.T, want *llm.Request, extra []string, send func(t *testing.T, l *lab)) {
	t.Helper()
	l := open(t, fake.Response{Text: "Fine."})
	send(t, l)
	l.quiet(t, 1)
	got := l.asked(t)[0]
	names := slices.Sorted(maps.Keys(got.Extra))
	got.Extra = nil
	compact := cmp.Transformer("JSON", func(raw json.RawMessage) string { return jsonval.Canonical(string(raw)) })
	if diff := cmp.Diff(want, got, compact); diff != "" {
		t.Errorf("what our codec read (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(extra, names); diff != "" {
		t.Errorf("other members (-want +got):\n%s", diff)
	}
}
