package wire_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/middleware"
)

// Any two forms of a protocol's own can be shown in one answer: the server answers in
// HTTP, the loop ends, and what every run must hold is held.
func TestQuirkPairs(t *testing.T) {
	for protocol, scenario := range map[string]string{
		"openai-chat": "openai/everything", "openai-responses": "openai/everything",
		"anthropic-messages": "sets/many", "gemini": "sets/many",
	} {
		var forms []wire.QuirkForm
		for _, f := range wire.Quirks() {
			if slices.Contains(f.Protocols, protocol) && !strings.HasPrefix(f.ID, "QT-") {
				forms = append(forms, f)
			}
		}
		for i, a := range forms {
			t.Run(protocol+"/"+a.ID+"-"+a.Form, func(t *testing.T) {
				for _, b := range forms[i+1:] {
					testPair(t, protocol, scenario, a, b)
					testPair(t, protocol, scenario, b, a) // the first is shown to the second
				}
			})
		}
	}
}

func testPair(t *testing.T, protocol, scenario string, a, b wire.QuirkForm) {
	t.Helper()
	for _, word := range []string{"streamed", "buffered"} {
		if word == "buffered" && (a.Streaming || b.Streaming) {
			continue
		}
		pair := []string{a.ID + ":" + a.Form, b.ID + ":" + b.Form}
		quirks := make([]wire.Quirk, len(pair))
		for i, s := range pair {
			q, err := wire.ParseQuirk(strings.TrimSuffix(s, ":"))
			if err != nil {
				t.Fatal(err)
			}
			quirks[i] = q
		}
		o := over(t, scenario, protocol, deliveries[word], quirks...)
		before := t.Failed()
		o.holds(t)
		for i, x := range o.exchanges {
			if x.response == nil || x.err != nil {
				t.Errorf("answer %d broke off: %v", i+1, x.err)
			}
		}
		if t.Failed() && !before {
			t.Errorf("%s with %s and %s; what follows is not looked at:\n%s", word, pair[0], pair[1], o.Trace())
			return
		}
	}
}

// Quirks that stand in one answer come to what they come to alone.
func TestQuirksTogether(t *testing.T) {
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
		{"QO-11@1 QO-14:scalar@1", shown{ran: "call_3", failed: "call_1 call_2", more: skipped("malformed_args", "malformed_args")}},
		{"QO-26@1 QO-22@1 QO-19@1 QO-24:noise@1", shown{same: true, more: all(usageOfCalls, firstAnswerID)}},
		{"QO-17@1 QO-25@1", shown{ran: three, warnings: llm.WarnNoFinish, more: argsOfCalls}},
		{"QO-03:length@1 QO-12@1", shown{ran: "call_1 call_3", failed: "call_2", warnings: llm.WarnRepeatedArguments, more: skipped("cut")}},
		{"QR-04@1 QR-10@1", shown{ran: three, warnings: twoUnended, more: argsOfCalls}},
		{"QR-09:output_index@1 QR-10@1 QR-09:item_id@1", shown{ran: three, warnings: llm.WarnNoCallEnd, more: argsOfCalls}},
		{"QR-02:encrypted@1 QR-06:item@1 QR-10@1", shown{ran: three, more: argsOfCalls}},
		{"QO-03:length@1 QO-23:tags@1", shown{scenario: "leak", warnings: middleware.WarnLeakedCall}},
		{"QO-03:length@1", shown{scenario: "openai/odd", ran: "call_1 call_3", failed: "call_2", more: sends(2, `"arguments":"{\"city\":\"Zürich "`)}},
		{"QR-02:encrypted@1", shown{scenario: "openai/odd", ran: three, more: sendsInOrder(2, `"rs_00000001855b9691_own0"`, `"call_id":"call_1"`, `"rs_00000001855b9691_own1"`, `"call_id":"call_2"`)}},
		{"QR-03:completed@1 QR-06:arguments@1", shown{ran: "call_1 call_3", failed: "call_2", warnings: llm.WarnNoCallEnd, more: skipped("cut")}},
	} {
		t.Run(c.quirks, func(t *testing.T) {
			var quirks []wire.Quirk
			for _, s := range strings.Fields(c.quirks) {
				q, err := wire.ParseQuirk(s)
				if err != nil {
					t.Fatal(err)
				}
				quirks = append(quirks, q)
			}
			protocol := c.form(quirks[0]).Protocols[0]
			o := over(t, c.name(), protocol, llm.Streaming, quirks...)
			o.holds(t)
			c.facts(t, o, over(t, c.name(), protocol, llm.Streaming))
			for _, q := range quirks {
				if o.report.Shown[q.String()] != 1 {
					t.Errorf("%s was shown %d times, want once", q, o.report.Shown[q.String()])
				}
			}
		})
	}
}

// A quirk is not said to be shown where there is nothing that it could change.
func TestQuirksWithNothingToChange(t *testing.T) {
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
				var quirks []wire.Quirk
				for _, s := range append(strings.Fields(c.before), s) {
					q, err := wire.ParseQuirk(s)
					if err != nil {
						t.Fatal(err)
					}
					quirks = append(quirks, q)
				}
				last := quirks[len(quirks)-1]
				o := over(t, c.scenario, shown{}.form(last).Protocols[0], llm.Streaming, quirks...)
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
