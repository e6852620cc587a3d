package looptest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/looptape/looptape/trace/check"
)

// outcome is the result of a case.
type outcome struct {
	found     []check.Violation
	skipped   string // why nothing was checked; empty if it was
	unused    bool   // the model of the suite got no request
	abandoned bool   // the case was over the limit of real time, and its run continues
}

// realTime limits the real time of a suite. Virtual time ends a run that waits. It does not end one
// that works without a wait, polls, or waits for something that is not of its bubble.
type realTime struct {
	expired <-chan time.Time // nil if there is no limit
	restart func()
	hung    bool // a case violated INV-26
}

// maxRealTime is the limit. A case needs a few milliseconds.
const maxRealTime = time.Minute

// overLimit describes a run that is abandoned.
func overLimit(locked bool) string {
	const continues = "looptest cannot end these goroutines, which continue until the process ends"
	if locked {
		return "the run does not end: it waits for a locked mutex, and virtual time stops while a goroutine does. " +
			"Around calls of models and tools, use a channel with a capacity of 1 in place of sync.Mutex or sync.Once. " + continues
	}
	return "the run does not end in one minute of real time, or in half of the time that the -timeout of go test leaves; " +
		"it works or polls without end, or waits for something that is not part of the run: a locked mutex, a network, a file, " +
		"a process, or a channel or goroutine that is older than the run. " + continues
}

// newRealTime starts the limit of a suite. There is none with -timeout 0, the setting for a debugger.
func newRealTime(t *testing.T) *realTime {
	t.Helper()
	end, ok := t.Deadline()
	if !ok {
		return &realTime{restart: func() {}}
	}
	left := func() time.Duration { return min(maxRealTime, time.Until(end)/2) } //nolint:forbidigo // for a run whose virtual time stops
	timer := time.NewTimer(left())                                              //nolint:forbidigo // see above
	t.Cleanup(func() { timer.Stop() })
	return &realTime{expired: timer.C, restart: func() { timer.Reset(left()) }}
}

// timeOver returns a function that returns why the time of an exploration is over, or "". The last quarter of the time that -timeout leaves, or
// its last 20 seconds, is for the report of failures, and half of that for runs that repeat and shrink them.
func timeOver(t *testing.T) func(explored bool) string {
	t.Helper()
	end, ok := t.Deadline()
	if !ok {
		return func(bool) string { return "" }
	}
	left := func() time.Duration { return time.Until(end) } //nolint:forbidigo // the time of -timeout is real
	rest := min(left()/4, 20*time.Second)
	return func(explored bool) string {
		if n := left(); n > rest || explored && n > rest/2 {
			return ""
		}
		return "the time of -timeout is over; set a longer one"
	}
}

// after restarts the limit after a case. After the first case that hangs, one limit is left for all others.
func (l *realTime) after(out *outcome) {
	l.hung = l.hung || slices.ContainsFunc(out.found, func(v check.Violation) bool { return v.Invariant == "INV-26" })
	if !l.hung {
		l.restart()
	}
}

// notRun describes the cases after the first one of the list, which was abandoned.
func notRun(list []*testcase) string {
	return fmt.Sprintf("looptest: the suite stops at the case %q: %d cases after it are not run. Make its run end; to run a case alone: go test -run 'TestName/INV-05'",
		list[0].fullName(), len(list)-1)
}
