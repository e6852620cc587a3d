package wire_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// writes counts the writes of a handler.
type writes struct {
	*httptest.ResponseRecorder
	count int
}

func (w *writes) Write(p []byte) (int, error) {
	w.count++
	return w.ResponseRecorder.Write(p)
}

// TestQuirkChunks checks that QT-04 writes each byte alone.
func TestQuirkChunks(t *testing.T) {
	s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "hello"}), Quirks: parseQuirks(t, "QT-04")})
	for _, stream := range []string{"true", "false"} {
		body := `{"model":"m","stream":` + stream + `,"messages":[{"role":"user","content":"hi"}]}`
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/openai/v1/chat/completions", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer key")
		w := &writes{ResponseRecorder: httptest.NewRecorder()}
		s.ServeHTTP(w, r)
		if size := w.Body.Len(); w.Code != http.StatusOK || w.count != size {
			t.Errorf("stream %s: status %d, %d writes of %d bytes, want one per byte", stream, w.Code, w.count, size)
		}
	}
}
