package looptest

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/trace/check"
)

// HTTPViolations is [Violations] for a loop of [HTTP].
func HTTPViolations(t *testing.T, run func(ctx context.Context, client *http.Client, baseURL string, in *Input) (string, error)) []check.Violation {
	t.Helper()
	initResolver()
	return violations(t, httpCases(), HTTPLoop(run), newRealTime(t))
}

// CheckUntil is [Check] with the end of the real time of a case.
func CheckUntil(t *testing.T, expired <-chan time.Time, loop Loop, exceptions ...string) {
	t.Helper()
	runSuite(t, cases(), loop, exceptions, &realTime{expired: expired, restart: func() {}})
}

// HTTPUntil is [HTTP] with the end of the real time of a case.
func HTTPUntil(t *testing.T, expired <-chan time.Time, run func(ctx context.Context, client *http.Client, baseURL string, in *Input) (string, error)) {
	t.Helper()
	runSuite(t, httpCases(), HTTPLoop(run), nil, &realTime{expired: expired, restart: func() {}})
}

// CaseNames returns the names of the cases of [Check], or of [HTTP].
func CaseNames(http bool) (names []string) {
	list := cases()
	if http {
		list = httpCases()
	}
	for _, c := range list {
		names = append(names, c.fullName())
	}
	return names
}

// Restarts returns the number of restarts of the limit of real time in the cases of [Check].
func Restarts(t *testing.T, loop Loop) (n int) {
	t.Helper()
	violations(t, cases(), loop, &realTime{restart: func() { n++ }})
	return n
}

// HasRealTimeLimit reports whether suites of the test have a limit of real time.
func HasRealTimeLimit(t *testing.T) bool {
	t.Helper()
	return newRealTime(t).expired != nil
}

// RepeatTest is the Go test in the report of a failure.
func RepeatTest(t *testing.T, loop Loop, opts *ExploreOptions, f *explore.Failure) string {
	t.Helper()
	return newExploration(t, loop, opts).repeatTest(f)
}

// Report fails t for what an exploration found.
func Report(t *testing.T, loop Loop, opts *ExploreOptions, r *explore.Result) {
	t.Helper()
	newExploration(t, loop, opts).report(opts, r)
}

// Replayed returns the violations of the run with these choices.
func Replayed(t *testing.T, loop Loop, opts *ExploreOptions) []check.Violation {
	t.Helper()
	o, _ := explore.Replay(newExploration(t, loop, opts).program(), opts.Choices)
	return o.Violations
}
