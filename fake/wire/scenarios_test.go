package wire_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop/scenario"
)

// wireDifferences are the contract scenarios whose result differs between wire and process,
// with the reason and the protocols.
var wireDifferences = []struct{ why, protocols, scenarios string }{
	{"counts no writes to a cache", "gemini", "DZ-20"},
	{"have no word for \"there are calls\"", "openai-responses gemini", "DZ-21 DZ-33-inverse AG-02 AL-21 DA-09 RA-14-inverse"},
	{"have no word for a turn that is to be continued", "openai-chat openai-responses gemini", "DZ-43-paused"},
	{"has arguments as values: what is broken cannot be sent, and spaces are lost", "gemini", "AG-01-steps AG-21 AL-36 DA-26 DZ-27-unparseable RA-14-malformed RA-21 RA-24"},
	{"have an object for missing arguments", "anthropic-messages gemini", "AG-26 AL-35 AL-36 AL-38 RA-38"},
	{"end each call, or say nothing of it", everywhere, "AL-34 AL-37 AL-37-none"},
	{"an error's words, which are in the trace, are the provider's", everywhere,
		"DZ-25-error DZ-32 DZ-50 AG-31 AG-32 AG-33 AG-33-exhausted AG-34 AG-34-fixed AG-35 AG-35-timeout AL-29 DA-49-error RA-35 RA-67-failed"},
	{"the response does not contain its delay", everywhere, "AG-10 AG-10-own AG-12 AG-44-deadline AG-45 AL-15-steps AL-28 RA-67 RA-67-forced"},
	{"results of a step are one message, which the scenario counts", everywhere, "AG-01 DZ-47 RA-25"},
	{"asks models of several lanes, and this client has one", everywhere, "DA-24 DA-25 DA-25-malformed DA-27 DA-28 DA-29 DA-30 DA-30-again"},
	{"is canceled within a response, which is complete in the non-streaming form", everywhere, "DA-43"},
}

const everywhere = "openai-chat openai-responses anthropic-messages gemini"

// differsOnWire reports whether a scenario has another result in a protocol.
func differsOnWire(name, protocol string) bool {
	for _, u := range wireDifferences {
		if slices.Contains(strings.Fields(u.scenarios), name) && slices.Contains(strings.Fields(u.protocols), protocol) {
			return true
		}
	}
	return false
}

// everything reports whether tests play full cross products, as .ci/soak wire does.
// By default they play a covering selection: each scenario and each quirk with each
// protocol, and each pair of a protocol and a response mode.
func everything() bool { return os.Getenv("LOOPTAPE_WIRE") == "all" }

// Each scenario of this project is played through each protocol and response mode; by default
// in one of the modes, see [everything]. Each split of a response's bytes decodes to the same
// response (INV-10). The contract scenarios have the same result as in process (INV-12).
func TestScenarios(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"../../testdata/*/*.txtar", "testdata/scenarios/*.yaml", "testdata/scenarios/*/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no scenarios in %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	for n, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, k := range protocols {
				for j, mode := range modes {
					if !everything() && (n+i+j)%len(modes) != 0 {
						continue
					}
					o := playedFile(t, path, k.name, mode)
					o.split(t, k.name, mode)
					if filepath.Base(filepath.Dir(path)) != "contracts" || differsOnWire(name, k.name) {
						continue
					}
					in, err := scenario.Run(t.Context(), parse(t, path), nil)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(comparableTrace(in), comparableTrace(o.Result)); diff != "" {
						t.Errorf("%s %s (-in process +on the wire):\n%s", k.name, mode, diff)
					}
				}
			}
		})
	}
}

// playedFile plays a scenario file over the wire.
func playedFile(t *testing.T, path, protocol, mode string) *played {
	t.Helper()
	s := parse(t, path)
	if neverEnds(s) {
		return playInBubble(t, s, protocol, responseModes[mode])
	}
	return playScript(t, nil, s, protocol, responseModes[mode])
}

// neverEnds reports whether the script has a response without an end.
func neverEnds(s *fake.Script) bool {
	return slices.ContainsFunc(s.Models, func(m fake.ModelScript) bool {
		return slices.ContainsFunc(m.Responses, func(turn fake.Response) bool {
			return turn.Stall || slices.ContainsFunc(turn.Attempts, func(a fake.Response) bool { return a.Stall })
		})
	})
}

// comparableTrace returns the projected trace without the response mode.
func comparableTrace(o *scenario.Result) string {
	return strings.ReplaceAll(projected(o), " delivery=buffered", "")
}
