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

// What the full requests of all SDKs hold.
var (
	png     = []byte("\x89PNG\r\n\x1a\n no more of it")
	pdf     = []byte("%PDF-1.7 no more of it")
	verdict = map[string]any{
		"type": "object", "properties": map[string]any{"rain": map[string]any{"type": "boolean"}},
		"required": []any{"rain"}, "additionalProperties": false,
	}
)

const imageURL = "https://images.example/sky.png"

// full has a client send one request with all that it can say, and holds what our
// codec reads of it. Of what llm has no field for, extra are the names.
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
		t.Errorf("what goes beside it (-want +got):\n%s", diff)
	}
}
