package cassettes_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes"
)

// watched is a test with another name that records its messages.
type watched struct {
	*testing.T
	name    string
	said    strings.Builder
	failed  bool
	skipped bool
	cleanup []func()
}

func (w *watched) Name() string              { return w.name }
func (w *watched) Cleanup(f func())          { w.cleanup = append(w.cleanup, f) }
func (w *watched) Failed() bool              { return w.failed }
func (w *watched) Skipped() bool             { return w.skipped }
func (w *watched) Log(args ...any)           { _, _ = fmt.Fprintln(&w.said, args...) }
func (w *watched) Error(args ...any)         { w.failed = true; w.Log(args...) }
func (w *watched) Fatal(args ...any)         { w.Error(args...); runtime.Goexit() }
func (w *watched) Fatalf(f string, a ...any) { w.Fatal(fmt.Sprintf(f, a...)) }

// watchTest runs a test that opens a cassette, with its cleanup.
func watchTest(t *testing.T, opts *cassettes.Options, test func(*watched, *cassettes.Cassette)) *watched {
	t.Helper()
	w := &watched{T: t, name: "TestOther/a"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := cassettes.ForTest(w, opts)
		test(w, c)
	}()
	<-done
	for _, f := range w.cleanup {
		f()
	}
	return w
}

// askBoth sends all requests that taped records.
func askBoth(w *watched, c *cassettes.Cassette) {
	for _, body := range []string{"1", "2"} {
		send(w.T, c, "POST", "http://example.com/", body)
	}
}

// ForTest fails the test with these messages.
func TestForTestFails(t *testing.T) {
	nothing := func(*watched, *cassettes.Cassette) {}
	record := cassettes.Options{Transport: echo{}}
	for name, c := range map[string]struct {
		option, ci  string
		opts        cassettes.Options
		test        func(*watched, *cassettes.Cassette)
		wantMessage string // nothing if it does not fail
	}{
		"all is used":          {"", "", cassettes.Options{}, askBoth, ""},
		"one is not":           {"", "", cassettes.Options{}, func(w *watched, c *cassettes.Cassette) { send(t, c, "POST", "http://example.com/", "1") }, "TestOther/a.tape: 1 of the recorded interactions were not used:\n  2 POST http://example.com/"},
		"none need be":         {"", "", cassettes.Options{AllowUnused: true}, nothing, ""},
		"no word":              {"play", "", cassettes.Options{}, nothing, `unknown mode "play"`},
		"no mode":              {"record", "", cassettes.Options{Mode: "play"}, nothing, `unknown mode "play"`},
		"in CI":                {"record", "true", record, askBoth, "a test in CI does not record; LOOPTAPE=record! forces it"},
		"in CI by its options": {"", "true", cassettes.Options{Mode: cassettes.Record, Transport: echo{}}, askBoth, "a test in CI does not record"},
		"in CI of a name":      {"record", "ours", record, askBoth, "a test in CI does not record"},
		"in no CI":             {"record", "0", record, askBoth, ""},
		"in CI, forced":        {"record!", "true", record, askBoth, ""},
		"in CI, replayed":      {"", "true", cassettes.Options{}, askBoth, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := taped(t)
			before, _ := os.ReadFile(path) // it is there, or the replays fail
			t.Setenv(cassettes.Env, c.option)
			t.Setenv("CI", c.ci)
			wantMessage(t, watchTest(t, &c.opts, c.test), c.wantMessage)
			records := c.wantMessage == "" && strings.HasPrefix(c.option, "record")
			if after, _ := os.ReadFile(path); string(after) != string(before) && !records {
				t.Errorf("the cassette is another one:\n%s", after)
			}
		})
	}
}

// wantMessage fails unless a test has failed with this message or, for an empty message, has not
// failed.
func wantMessage(t *testing.T, w *watched, want string) {
	t.Helper()
	if got := w.said.String(); w.failed != (want != "") || !strings.Contains(got, want) {
		t.Errorf("failed: %t, got the message\n%s\nwant\n%s", w.failed, got, want)
	}
}

// taped records a cassette in a new folder and makes it the working directory.
func taped(t *testing.T) (path string) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv(cassettes.ReportEnv, "")
	t.Setenv("CI", "")
	t.Setenv(cassettes.Env, "record")
	wantMessage(t, watchTest(t, &cassettes.Options{Transport: echo{}}, askBoth), "")
	t.Setenv(cassettes.Env, "")
	return filepath.Join("testdata", "cassettes", "TestOther/a.tape")
}

// A test with a missing cassette, a missing interaction or an unused one prints the command
// that records.
func TestForTestRecordCommand(t *testing.T) {
	for again, opts := range map[string]cassettes.Options{
		"LOOPTAPE=record go test -run '^TestOther$/^a$'": {},
		"make tapes": {RecordCommand: "make tapes"},
	} {
		path := taped(t)
		miss := func(w *watched, c *cassettes.Cassette) {
			req, err := http.NewRequestWithContext(t.Context(), "POST", "http://example.com/", strings.NewReader("3"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.RoundTrip(req) //nolint:bodyclose // there is none
			w.Fatal(err)
		}
		wantMessage(t, watchTest(t, &opts, miss), "To record again: "+again+"\n")
		wantMessage(t, watchTest(t, &opts, func(*watched, *cassettes.Cassette) {}), "\nTo record again: "+again+"\n")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		wantMessage(t, watchTest(t, &opts, askBoth), "To record it: "+again+"\n")
	}
}

// A failed or skipped test does not report unused interactions.
func TestForTestEndsEarly(t *testing.T) {
	taped(t)
	wantMessage(t, watchTest(t, nil, func(w *watched, _ *cassettes.Cassette) { w.skipped = true }), "")
	w := watchTest(t, nil, func(w *watched, _ *cassettes.Cassette) { w.Fatal("too warm") })
	if got := w.said.String(); got != "too warm\n" {
		t.Errorf("got the message %s", got)
	}
}

// The flag takes precedence over the variable unless it is empty.
func TestForTestFlag(t *testing.T) {
	taped(t)
	was := flag.CommandLine
	defer func() { flag.CommandLine = was }()
	flag.CommandLine = flag.NewFlagSet("test", flag.ContinueOnError)
	said := cassettes.Flag(flag.CommandLine)
	for _, c := range []struct {
		flag, env string
		records   bool
	}{{"", "", false}, {"", "record", true}, {"replay", "record", false}, {"record", "replay", true}} {
		if err := flag.CommandLine.Parse([]string{"-looptape", c.flag}); err != nil || *said != c.flag {
			t.Fatalf("the flag is %q, %v", *said, err)
		}
		t.Setenv(cassettes.Env, c.env)
		asked := false
		network := answering(func(r *http.Request) (*http.Response, error) {
			asked = true
			return echo{}.RoundTrip(r)
		})
		wantMessage(t, watchTest(t, &cassettes.Options{Transport: network}, askBoth), "")
		if asked != c.records {
			t.Errorf("the flag is %q, the variable %q: it records: %t", c.flag, c.env, asked)
		}
	}
}

// A replay uses the complete interactions of an interrupted recording and logs that it is
// incomplete.
func TestForTestIncomplete(t *testing.T) {
	path := taped(t)
	c := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: echo{}})
	send(t, c, "POST", "http://example.com/", "1")
	w := watchTest(t, nil, func(_ *watched, c *cassettes.Cassette) { send(t, c, "POST", "http://example.com/", "1") })
	wantMessage(t, w, "")
	if want := "TestOther/a.tape.journal: the recording was not closed"; !strings.Contains(w.said.String(), want) {
		t.Errorf("no %s in the message:\n%s", want, &w.said)
	}
	if err := c.Abandon(); err != nil {
		t.Error(err)
	}
}

// A report that cannot be written fails the test. Recordings write no report.
func TestForTestReports(t *testing.T) {
	taped(t)
	t.Setenv(cassettes.ReportEnv, filepath.Join("none", "report"))
	wantMessage(t, watchTest(t, nil, askBoth), "no such file")
	t.Setenv(cassettes.Env, "record")
	wantMessage(t, watchTest(t, &cassettes.Options{Transport: echo{}}, askBoth), "")
}
