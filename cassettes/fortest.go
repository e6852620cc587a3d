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

// Env is the variable that tells ForTest what to do: replay, record, or record! to
// record in CI, too.
const Env = "LOOPTAPE"

// ReportEnv is the variable that names a report to which each replay of ForTest adds what
// it has used. Tests run in the folders of their packages: name it from the root.
const ReportEnv = "LOOPTAPE_REPORT"

// Flag adds the flag -looptape to the flags of a test binary, which says the same as
// Env and goes before it:
//
//	var _ = cassettes.Flag(flag.CommandLine)
func Flag(flags *flag.FlagSet) *string {
	return flags.String("looptape", "", "what cassettes are for: replay, record, or record! to record in CI, too")
}

// ForTest opens the cassette of a test, testdata/cassettes/TESTNAME.tape, and closes it
// when the test ends. That of a subtest, TESTNAME/SUBTEST.tape, is in a folder; what a file
// cannot be called stands as % and two digits. It replays, unless opts or the flag of Flag
// or Env say that it is to record, which in CI (where the variable CI is set, and not to false) only record!
// does. The test fails if the cassette cannot be opened, and on interactions that nobody
// asked for. opts may be nil.
func ForTest(t testing.TB, opts *Options) *Cassette {
	t.Helper()
	var o Options
	if opts != nil {
		o = *opts
	}
	mode, err := modeOf(o.Mode, told(), inCI())
	if err != nil {
		t.Fatal(err)
	}
	o.Mode = mode
	o.RecordCommand = cmp.Or(o.RecordCommand, again(t.Name()))
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

// inCI reports whether the variable CI says that nobody looks on: all but an empty one and
// a false one do.
func inCI() bool {
	word := os.Getenv("CI")
	is, err := strconv.ParseBool(word)
	return is || err != nil && word != ""
}

// again is the command that records the cassette of a test.
func again(test string) string {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(test), "/", "$/^")
	return fmt.Sprintf("%s=record go test -run '^%s$'", Env, strings.ReplaceAll(pattern, "'", "."))
}

// told is what the flag says, or else the variable.
func told() string {
	if f := flag.Lookup("looptape"); f != nil && f.Value.String() != "" {
		return f.Value.String()
	}
	return os.Getenv(Env)
}

// modeOf decides what a test's cassette is opened for.
func modeOf(asked Mode, told string, ci bool) (Mode, error) {
	word, forced := strings.CutSuffix(told, "!")
	mode := asked
	if mode == "" {
		mode = Mode(word)
	}
	switch mode {
	case "", Replay:
		return Replay, nil
	case Passthrough:
		return Passthrough, nil
	case Record:
		if ci && !forced {
			return "", fmt.Errorf("cassettes: a test in CI does not record; %s=record! forces it", Env)
		}
		return Record, nil
	}
	return "", fmt.Errorf("cassettes: %q is not what a cassette can be opened for; there are replay, record, record! and passthrough", cmp.Or(string(asked), told))
}

// fileName makes of a test's name one that every system takes, another for each test: that
// of a subtest is in the folder of its test.
func fileName(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		var name strings.Builder
		for j := range len(part) {
			last := j == len(part)-1 && part[j] == '.' // which some systems take away
			if c := part[j]; c < ' ' || strings.IndexByte(`%\:*?"<>| `, c) >= 0 || last {
				_, _ = fmt.Fprintf(&name, "%%%02X", c) // it takes everything
			} else {
				name.WriteByte(c)
			}
		}
		parts[i] = cmp.Or(name.String(), "%")
	}
	return filepath.Join(parts...)
}
