package cassettes

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Flag defines the flag -looptape of a test binary. It has the same values as [Env] and
// takes precedence:
//
//	var _ = cassettes.Flag(flag.CommandLine)
func Flag(flags *flag.FlagSet) *string {
	return flags.String("looptape", "", "what cassettes are for: replay, record, or record! to record in CI, too")
}

// ForTest opens the cassette of a test, testdata/cassettes/TESTNAME.tape or, for a subtest,
// TESTNAME/SUBTEST.tape, and closes it when the test ends. It percent-encodes characters
// that file names cannot have.
//
// ForTest replays, unless opts, the flag of [Flag] or [Env] select a recording. In CI (the
// variable CI is set and not false) only record! records. The test fails if the cassette
// cannot be opened and if the test does not use all interactions. opts may be nil.
func ForTest(t testing.TB, opts *Options) *Cassette {
	t.Helper()
	var o Options
	if opts != nil {
		o = *opts
	}
	mode, err := modeOf(o.Mode, modeSetting(), inCI())
	if err != nil {
		t.Fatal(err)
	}
	o.Mode = mode
	o.RecordCommand = cmp.Or(o.RecordCommand, recordCommand(t.Name()))
	path := filepath.Join("testdata", "cassettes", fileName(t.Name())+".tape")
	c, err := Open(path, &o)
	if err != nil {
		t.Fatalf("%v\nTo record it: %s", err, o.RecordCommand)
	}
	if err := c.Incomplete(); err != nil {
		t.Log(err)
	}
	t.Cleanup(func() {
		if report := os.Getenv(ReportEnv); report != "" && o.Mode == Replay {
			if err := c.Report(report); err != nil {
				t.Error(err)
			}
		}
		if t.Failed() || t.Skipped() {
			c.opts.AllowUnused = true // the test ended early
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func inCI() bool {
	word := os.Getenv("CI")
	is, err := strconv.ParseBool(word)
	return is || err != nil && word != ""
}

func recordCommand(test string) string {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(test), "/", "$/^")
	return fmt.Sprintf("%s=record go test -run '^%s$'", Env, strings.ReplaceAll(pattern, "'", "."))
}

func modeSetting() string {
	if f := flag.Lookup("looptape"); f != nil && f.Value.String() != "" {
		return f.Value.String()
	}
	return os.Getenv(Env)
}

func modeOf(requested Mode, setting string, ci bool) (Mode, error) {
	word, forced := strings.CutSuffix(setting, "!")
	mode := cmp.Or(requested, Mode(word), Replay)
	switch {
	case mode == Record && ci && !forced:
		return "", fmt.Errorf("cassettes: a test in CI does not record; %s=record! forces it", Env)
	case mode != Record && mode != Replay && mode != Passthrough:
		return "", fmt.Errorf("cassettes: unknown mode %q: want replay, record, record! or passthrough", cmp.Or(string(requested), setting))
	}
	return mode, nil
}

// fileName returns a distinct valid file name for each test.
func fileName(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		var name strings.Builder
		for j := range len(part) {
			last := j == len(part)-1 && part[j] == '.' // Windows drops a final period
			if c := part[j]; c < ' ' || strings.IndexByte(`%\:*?"<>| `, c) >= 0 || last {
				_, _ = fmt.Fprintf(&name, "%%%02X", c) // cannot fail
			} else {
				name.WriteByte(c)
			}
		}
		parts[i] = cmp.Or(name.String(), "%")
	}
	return filepath.Join(parts...)
}
