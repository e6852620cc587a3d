package wire_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop/scenario"
)

// unlike are the scenarios of contracts that do not come to the same over the wire as
// in process, with the protocols in which they do not.
var unlike = map[string]string{
	// Gemini counts no writes to a cache.
	"DZ-20": "gemini",
	// These have no word for "there are calls".
	"DZ-21":         "openai-responses gemini",
	"DZ-33-inverse": "openai-responses gemini",
	// These have no word for a turn that is to be continued.
	"DZ-43-paused": "openai-chat openai-responses gemini",
	// The words of an error, which are the provider's, are in the trace.
	"DZ-32": "openai-chat openai-responses anthropic-messages gemini",
	"DZ-50": "openai-chat openai-responses anthropic-messages gemini",
}

// TestScenarios plays every scenario of this project through every protocol and
// delivery. Any split of an answer's bytes gives the same turn (INV-10), and the
// scenarios of contracts come to what they come to in process (INV-12).
func TestScenarios(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../testdata/*/*.txtar", "testdata/scenarios/*.yaml", "testdata/scenarios/*/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no scenarios in %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	seen := map[string]bool{}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		t.Run(name, func(t *testing.T) {
			for _, k := range kinds {
				for _, word := range []string{"streamed", "buffered"} {
					o := playedFile(t, path, k.name, word)
					for i, x := range o.exchanges {
						if x.response != nil && !seen[string(x.answer)] {
							seen[string(x.answer)] = true
							x.split(t, k.name, word, i)
						}
					}
					if filepath.Base(filepath.Dir(path)) != "contracts" || slices.Contains(strings.Fields(unlike[name]), k.name) {
						continue
					}
					in, err := scenario.Run(t.Context(), parse(t, path), nil)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(projectedAlike(in), projectedAlike(o.Outcome)); diff != "" {
						t.Errorf("%s %s (-in process +on the wire):\n%s", k.name, word, diff)
					}
				}
			}
		})
	}
}

// playedFile plays a scenario file over the wire.
func playedFile(t *testing.T, path, protocol, word string) *played {
	t.Helper()
	s := parse(t, path)
	if neverEnds(s) {
		return bubbled(t, s, protocol, deliveries[word])
	}
	return overIn(t, nil, s, protocol, deliveries[word])
}

// neverEnds reports whether the script has an answer that does not end.
func neverEnds(s *fake.Script) bool {
	return slices.ContainsFunc(s.Models, func(m fake.Lane) bool {
		return slices.ContainsFunc(m.Turns, func(turn fake.Turn) bool {
			return turn.Stall || slices.ContainsFunc(turn.Attempts, func(a fake.Turn) bool { return a.Stall })
		})
	})
}

// projectedAlike is the projected trace without the delivery.
func projectedAlike(o *scenario.Outcome) string {
	return strings.ReplaceAll(projected(o), " delivery=buffered", "")
}
