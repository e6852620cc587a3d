package recordings

import (
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/conformance/meaning"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

// TestRequests decodes each recorded request. Its messages satisfy the invariants, and the encoded
// request has the same meaning.
func TestRequests(t *testing.T) {
	for _, s := range sets {
		t.Run(s.name, func(t *testing.T) {
			turns, needed := 0, map[string]int{}
			s.each(t, func(t *testing.T, x exchange) {
				w, path := dialectOf(t, x.url)
				req, err := w.DecodeRequest(path, x.request)
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return m.Role == llm.RoleAssistant }) {
					turns++
				}
				for _, v := range check.Messages(x.name, req.Messages) {
					t.Errorf("broken: %v", v)
				}
				again, err := w.EncodeRequest(req)
				if err != nil {
					t.Fatal(err)
				}
				asked := func(body []byte) meaning.Object {
					m, rules, err := meaning.Of(w.Name(), body)
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range rules {
						needed[w.Name()+": "+r]++
					}
					return m
				}
				if diff := gocmp.Diff(asked(x.request), asked(again.Body)); diff != "" {
					t.Errorf("(-recorded +written again):\n%s", diff)
				}
			})
			t.Logf("%d requests with a response in their history", turns)
			for _, r := range slices.Sorted(maps.Keys(needed)) {
				t.Logf("%4d bodies: %s", needed[r], r)
			}
			if turns != s.turns {
				t.Errorf("%d requests have a response in their history, want %d", turns, s.turns)
			}
		})
	}
}
