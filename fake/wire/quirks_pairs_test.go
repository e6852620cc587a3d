package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/middleware"
)

// With any two forms of one protocol in one response, the server responds in HTTP, the loop
// ends, and the run keeps the invariants. By default each pair is played once, in one order
// and one response mode; see [everything].
func TestQuirkPairs(t *testing.T) {
	t.Parallel()
	for protocol, scenario := range map[string]string{
		"openai-chat": "openai/everything", "openai-responses": "openai/everything",
		"anthropic-messages": "sets/many", "gemini": "sets/many",
	} {
		var forms []wire.Quirk
		for _, f := range wire.Quirks() {
			if slices.Contains(f.Protocols, protocol) && !strings.HasPrefix(f.ID, "QT-") {
				forms = append(forms, f)
			}
		}
		for i, a := range forms {
			t.Run(protocol+"/"+a.ID+"-"+a.Form, func(t *testing.T) {
				t.Parallel()
				for j, b := range forms[i+1:] {
					for n, play := range pairings(a, b) {
						if everything() || n == (i+j)%len(pairings(a, b)) {
							testPair(t, protocol, scenario, play.mode, play.first, play.second)
						}
					}
				}
			})
		}
	}
}

// pairing is a way to show two forms in one response: the second form edits what the
// first one has edited.
type pairing struct {
	mode          string
	first, second wire.Quirk
}

func pairings(a, b wire.Quirk) []pairing {
	both := []pairing{{"streaming", a, b}, {"streaming", b, a}, {"non-streaming", b, a}, {"non-streaming", a, b}}
	if a.Streaming || b.Streaming {
		return both[:2]
	}
	return both
}

func testPair(t *testing.T, protocol, scenario, mode string, a, b wire.Quirk) {
	t.Helper()
	pair := strings.TrimSuffix(a.ID+":"+a.Form, ":") + " " + strings.TrimSuffix(b.ID+":"+b.Form, ":")
	o := play(t, scenario, protocol, responseModes[mode], parseQuirks(t, pair)...)
	problems := o.problems()
	for i, x := range o.exchanges {
		if x.response == nil || x.err != nil {
			problems = append(problems, fmt.Sprintf("response %d was interrupted: %v", i+1, x.err))
		}
	}
	if problems != nil {
		t.Errorf("%s with %s: %s\n%s", mode, pair, strings.Join(problems, "\n"), o.Trace())
	}
}

// Quirks that are in one response come to what they come to alone.
func TestQuirkCombinations(t *testing.T) {
	for _, c := range []struct {
		quirks string
		shown
	}{
		{"QO-17@1 QO-16@1", shown{same: true}},
		{"QO-16@1 QO-17@1 QO-01@1", shown{ran: three}},
		{"QO-05@1 QO-12@1", shown{ran: three, warnings: twoMinds, more: argsOfCalls}},
		{"QO-04@1 QO-27@1 QO-10:last@1", shown{same: true}},
		{"QO-06:late@1 QO-10:null@1 QO-07:absent@1 QO-13:equal@1", shown{ran: "loop_call_1 loop_call_2 call_3", warnings: twoMinds, more: argsOfCalls}},
		{"QO-11@1 QO-14:placeholder@1", shown{ran: three, warnings: twoMinds, more: argsOfCalls}},
		{"QO-11@1 QO-14:scalar@1", shown{ran: "call_3", failed: "call_1 call_2", more: skipped("malformed_arguments", "malformed_arguments")}},
		{"QO-26@1 QO-22@1 QO-19@1 QO-24:noise@1", shown{same: true, more: all(usageOfCalls, firstAnswerID)}},
		{"QO-17@1 QO-25@1", shown{ran: three, warnings: llm.WarnNoFinish, more: argsOfCalls}},
		{"QO-03:length@1 QO-12@1", shown{ran: "call_1 call_3", failed: "call_2", warnings: llm.WarnRepeatedArguments, more: skipped("truncated")}},
		{"QR-04@1 QR-10@1", shown{ran: three, warnings: twoUnended, more: argsOfCalls}},
		{"QR-09:output_index@1 QR-10@1 QR-09:item_id@1", shown{ran: three, warnings: llm.WarnNoCallEnd, more: argsOfCalls}},
		{"QR-02:encrypted@1 QR-06:item@1 QR-10@1", shown{ran: three, more: argsOfCalls}},
		{"QO-03:length@1 QO-23:tags@1", shown{scenario: "leak", warnings: middleware.WarnLeakedCall}},
		{"QO-03:length@1", shown{scenario: "openai/odd", ran: "call_1 call_3", failed: "call_2", more: sends(2, `"arguments":"{\"city\":\"Zürich "`)}},
		{"QR-02:encrypted@1", shown{scenario: "openai/odd", ran: three, more: sendsInOrder(2, `"rs_00000001855b9691_own0"`, `"call_id":"call_1"`, `"rs_00000001855b9691_own1"`, `"call_id":"call_2"`)}},
		{"QR-03:completed@1 QR-06:arguments@1", shown{ran: "call_1 call_3", failed: "call_2", warnings: llm.WarnNoCallEnd, more: skipped("truncated")}},
	} {
		t.Run(c.quirks, func(t *testing.T) {
			t.Parallel()
			quirks := parseQuirks(t, c.quirks)
			protocol := c.form(quirks[0]).Protocols[0]
			o := play(t, c.name(), protocol, llm.Streaming, quirks...)
			o.checkInvariants(t)
			c.facts(t, o, play(t, c.name(), protocol, llm.Streaming))
			for _, q := range quirks {
				if o.report.Shown[q.String()] != 1 {
					t.Errorf("%s was shown %d times, want once", q, o.report.Shown[q.String()])
				}
			}
		})
	}
}

// A quirk that could change nothing is not reported as shown.
func TestQuirksWithoutEffect(t *testing.T) {
	for _, c := range []struct{ scenario, before, quirks string }{
		{"calls", "", "QO-01@3 QO-02:absent@1 QO-02:empty@1 QO-03:length@3 QO-03:tool_calls@3 QO-03:whole@3 QO-15@1 QO-29:reasoning@1 QO-31@1"},
		{"calls", "", "QO-04@3 QO-05@3 QO-06:late@3 QO-07:empty@3 QO-08:counted@3 QO-09@3 QO-10:last@3 QO-11@3 QO-27@3 QO-30@3"},
		{"calls", "", "QO-12@3 QO-13:equal@3 QO-14:placeholder@3 QO-14:space@3 QO-14:scalar@3 QO-16@3 QO-17@3 QO-23:tags@3 QO-23:bare@3"},
		{"calls", "QO-11@1", "QO-12@1 QO-27@1"},
		{"calls", "QO-25@1", "QO-01@1 QO-17@1 QO-18:beside@1 QO-18:twice@1 QO-19@1 QO-20:choices@1 QO-21@1 QO-25@1 QO-26@1"},
		{"calls", "QO-21@1", "QO-18:after@1 QO-22@1 QO-25@1"},
		{"calls", "QO-18:beside@1", "QO-18:after@1 QO-18:beside@1 QO-18:twice@1 QO-26@1"},
		{"calls", "QO-17@1", "QO-17@1"},
		{"calls", "QO-20:choices@1", "QO-22@1 QO-25@1"},
		{"openai/odd", "", "QO-03:length@2 QO-11@2 QO-15@2 QO-23:tags@2 QO-24:refusal@2 QO-29:reasoning@2"},
		{"calls", "", "QR-01@3 QR-02:encrypted@3 QR-03:incomplete@3 QR-04@3 QR-05:delta@3 QR-05:completed@3 QR-06:arguments@3 QR-09:output_index@3 QR-parallel:parallel@3"},
		{"calls", "QR-10@1", "QR-05:completed@1 QR-10@1"},
		{"calls", "QR-08:failed@1", "QR-05:completed@1 QR-08:failed@1 QR-08:error@1 QR-10@1"},
		{"calls", "QR-04@1", "QR-04@1"},
		{"calls", "QR-06:item@1", "QR-05:delta@1 QR-06:arguments@1"},
		{"calls", "QR-02:encrypted@1", "QR-01@1 QR-03:completed@1 QR-parallel:parallel@1"},
		{"openai/odd", "", "QR-01@2 QR-02:summary@2 QR-03:incomplete@2 QR-parallel:parallel@2"},
	} {
		for _, s := range strings.Fields(c.quirks) {
			t.Run(strings.TrimSpace(c.before+" "+s), func(t *testing.T) {
				t.Parallel()
				quirks := parseQuirks(t, c.before+" "+s)
				last := quirks[len(quirks)-1]
				o := play(t, c.scenario, shown{}.form(last).Protocols[0], llm.Streaming, quirks...)
				want := 0
				if len(quirks) == 2 && quirks[0].String() == last.String() { // the first one was
					want = 1
				}
				if got := o.report.Shown[last.String()]; got != want {
					t.Errorf("%s was shown %d times, want %d", last, got, want)
				}
			})
		}
	}
}
