package looptest_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/looptest"
)

// TestCheckProcess is the test that [TestCheckOutput] runs in another process.
func TestCheckProcess(t *testing.T) {
	mode := os.Getenv("LOOPTEST_CHECK")
	if mode == "" {
		t.Skip("TestCheckOutput runs this test")
	}
	fault, exceptions, _ := strings.Cut(mode, ":")
	list := strings.FieldsFunc(exceptions, func(r rune) bool { return r == ',' })
	switch loop := waitsOutside(); fault {
	case "waits outside":
		looptest.CheckUntil(t, loop.expired, loop, list...)
	case "http waits outside":
		looptest.HTTPUntil(t, loop.expired, func(ctx context.Context, _ *http.Client, _ string, in *looptest.Input) (string, error) {
			_, err := loop.Run(ctx, in)
			return "", err
		})
	case "no model call":
		looptest.Check(t, looptest.LoopFunc(func(context.Context, *looptest.Input) (*looptest.Result, error) { return &looptest.Result{}, nil }), list...)
	case "no request":
		looptest.HTTP(t, func(context.Context, *http.Client, string, *looptest.Input) (string, error) { return "", nil }, list...)
	case "report":
		looptest.Report(t, &other{}, nil, &explore.Result{Unfinished: list})
	case "explore":
		loop, opts := exploredLoop(list[0])
		if len(list) > 1 {
			opts = &looptest.ExploreOptions{Exceptions: list[1:]}
		}
		looptest.Explore(t, loop, opts)
	default:
		looptest.Check(t, &other{fault: fault}, list...)
	}
}

// TestCheckOutput checks the output of Check for a loop with a fault, with and without exceptions.
func TestCheckOutput(t *testing.T) {
	const (
		accepted  = ",INV-01=a,INV-04=b,INV-07=c,INV-09=d,INV-11=e,INV-17=f,INV-23=g,INV-24=h"
		violation = "INV-05: run INV-05/a long history: request 1 does not begin with the messages of the request before it"
		hint      = "The loop rebuilds or trims the history between steps."
		abandoned = "--- FAIL: TestCheckProcess/INV-01/two_calls"
		limit     = "INV-26: run INV-01/two calls: the run does not end in one minute of real time"
		where     = "looptest_test.waitOutside("
		stops     = `the suite stops at the case "INV-01/two calls": %d cases after it are not run`
	)
	for name, c := range map[string]struct {
		mode, run string // run ends with flags, if any
		passes    bool
		want      []string
	}{
		"violation":            {"trims", "", false, []string{"--- FAIL: TestCheckProcess/INV-05/a_long_history", violation, hint}},
		"accepted":             {"trims:INV-05=it summarizes", "", true, []string{"--- PASS: TestCheckProcess/INV-05/a_long_history", violation, "accepted: it summarizes"}},
		"another violation":    {"trims:INV-04=it has no ids", "", false, []string{violation, `the loop does not violate INV-04: remove the exception "INV-04=it has no ids"`}},
		"exception not needed": {":INV-05=it summarizes", "", false, []string{`the loop does not violate INV-05: remove the exception "INV-05=it summarizes"`}},
		"some cases":           {":INV-05=it summarizes", "/INV-04", true, []string{"--- PASS: TestCheckProcess/INV-04/missing_ids"}},
		"abandoned":            {"waits outside", "", false, []string{abandoned, limit, where, fmt.Sprintf(stops, len(looptest.CaseNames(false))-1)}},
		"abandoned, accepted":  {"waits outside:INV-26=it waits", "", false, []string{"--- PASS: TestCheckProcess/INV-01/two_calls", "accepted: it waits", fmt.Sprintf(stops, len(looptest.CaseNames(false))-1)}},
		"abandoned, HTTP":      {"http waits outside", "", false, []string{abandoned, limit, where, fmt.Sprintf(stops, len(looptest.CaseNames(true))-1)}},
		"no model call":        {"no model call", "", false, []string{abandoned, "INV-11: run INV-01/two calls: the loop did not call Input.Model", "Call the model of the input."}},
		"no request, accepted": {"no request:INV-11=it stops", "", false, []string{abandoned, "INV-11: run INV-01/two calls: the loop sent no request with the given client", "--- FAIL: TestCheckProcess/INV-23/panic"}},
		"explored mutex":       {"explore:mutex", "", false, []string{"INV-26: the run does not end: it waits for a locked mutex", "use a channel with a capacity of 1", "looptest_test.exploredLoop.", "the run up to this:\n        request 1: 1 messages"}},
		"explored once":        {"explore:once", "", false, []string{"INV-26: the run does not end: it waits for a locked mutex"}},
		"explored, abandoned":  {"explore:waits outside", " -test.timeout=6s", false, []string{"INV-26: the run does not end in one minute of real time", where}},
		"explored slowly":      {"explore:slow", " -test.timeout=6s", false, []string{"not all orders and faults were explored: the time of -timeout is over; set a longer one; explore fewer faults", "with these choices:"}},
		"explored in part":     {"explore:in part", "", true, []string{"not all orders and faults were explored: the number of runs reached the highest one, 5"}},
		"in part, accepted":    {"explore:in part with an exception", "", true, []string{"not all orders and faults were explored: "}},
		"unfinished":           {"report:limit", "", false, []string{"not all orders and faults were explored: limit; explore fewer faults or a smaller script, or set ExploreOptions.Runs"}},
		"explored, accepted":   {"explore:plain" + accepted, "", true, []string{"INV-04: run explored: request 2, message 1: a call has an empty id\n          model call 1: call 1 ", "\n        accepted: b"}},
		"explored, not needed": {"explore:plain" + accepted + ",INV-05=i", "", false, []string{`the loop does not violate INV-05: remove the exception "INV-05=i"`}},
		"explored, no reason":  {"explore:plain,INV-05", "", false, []string{`exception "INV-05": want an invariant and a reason`}},
		"explored, a leak":     {"explore:leaks", "", false, []string{"INV-16: run explored: the run returned, but a goroutine cannot end"}},
		"no response":          {"explore:no response", "", false, []string{"looptest: the script has no response of a model: add one to Models"}},
		"explored":             {"explore:plain", "", false, []string{"func TestExploredINV04(t *testing.T) {"}},
		"explored, repeated":   {"explore:repeated", "", false, []string{"INV-04: run explored: ", "Generate an id for each call"}},
		"no such choice":       {"explore:unknown choice", "", false, []string{`the run has no such choice: "next answer 9: c1"`}},
		"negative runs":        {"explore:negative runs", "", false, []string{"looptest: ExploreOptions.Runs is -5: want a number from 1"}},
		"random error":         {"explore:random error", "", false, []string{"the loop is not deterministic: the same choices gave two runs: ["}},
		"no reason":            {":INV-05", "", false, []string{`exception "INV-05": want an invariant and a reason`}},
		"unknown invariant":    {":INV-99=x", "", false, []string{`exception "INV-99=x": want an invariant and a reason`}},
	} {
		t.Run(name, func(t *testing.T) {
			run, flags, _ := strings.Cut(c.run, " ")
			args := append([]string{"-test.v", "-test.run=^TestCheckProcess$" + run}, strings.Fields(flags)...)
			cmd := exec.CommandContext(t.Context(), os.Args[0], args...) //nolint:gosec // this test
			cmd.Env = append(os.Environ(), "LOOPTEST_CHECK="+c.mode)
			out, err := cmd.CombinedOutput()
			if (err == nil) != c.passes {
				t.Errorf("got the error %v, want success: %t", err, c.passes)
			}
			for _, want := range c.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("missing in the output: %q", want)
				}
			}
			if t.Failed() {
				t.Logf("the output:\n%s", out)
			}
		})
	}
}
