package cassette

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// failed is a recording of a request without a response.
var failed = []*recording.Interaction{{
	Request:  recording.Request{Method: "GET", URL: "https://a.example/"},
	Response: recording.Response{Termination: recording.Failed},
}}

// A recording of exactly the maximum age is not stale; one without a time, or with an
// impossible one, is.
func TestVerifyStale(t *testing.T) {
	recorded := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		head recording.Metadata
		age  time.Duration
		want []finding
	}{
		"young":          {recording.Metadata{Recorded: recorded, Recorder: "me"}, 90 * day, nil},
		"old":            {recording.Metadata{Recorded: recorded, Recorder: "me"}, 90*day + 1, []finding{{Kind: kindStale, Message: "recorded 2026-01-02 by me, 90 days ago"}}},
		"by no recorder": {recording.Metadata{Recorded: recorded}, 91 * day, []finding{{Kind: kindStale, Message: "recorded 2026-01-02, 91 days ago"}}},
		"no time":        {recording.Metadata{}, 91 * day, []finding{{Kind: kindStale, Message: "the recording has no date"}}},
		"tomorrow":       {recording.Metadata{Recorded: recorded}, -day, nil},
		"next year":      {recording.Metadata{Recorded: recorded, Recorder: "me"}, -365 * day, []finding{{Kind: kindStale, Message: "recorded 2026-01-02 by me, which is in the future"}}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.tape")
			text := cassettes.Encode(c.head, nil, failed)
			if c.head.Recorded.IsZero() { // a recording of another recorder, without a time
				text = []byte("version: 1\ninteractions:\n- {request: {method: GET, url: https://a.example/}, response: {status: 200 OK, code: 200}}\n")
			}
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			w, _, _ := clitest.Terminal(nil)
			w.Now = func() time.Time { return recorded.Add(c.age) }
			v := verifier{w: w, older: age(90 * day)}
			v.path(file)
			for i := range c.want {
				c.want[i].File = file
			}
			if diff := cmp.Diff(c.want, v.Findings); diff != "" || len(v.unreadable) > 0 {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// A secret in the head is found, and taken out.
func TestVerifyHead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.tape")
	if err := os.WriteFile(file, cassettes.Encode(recording.Metadata{Upstreams: map[string]string{"a": "https://me:password@a.example"}}, nil, failed), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]finding{{{File: file, Kind: kindSecret, Message: "head, URL a: a secret"}}, nil} {
		w, out, errs := clitest.Terminal(nil)
		v := verifier{w: w}
		v.path(file)
		if diff := cmp.Diff(want, v.Findings); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
		if got := cli.Execute(New(w), []string{"scrub", file}, w); got != cli.OK {
			t.Errorf("exit status %d: %s%s", got, out, errs)
		}
	}
}

// verify and scrub do not change a cassette that is being recorded.
func TestCassetteLocked(t *testing.T) {
	whole := cassettes.Encode(recording.Metadata{}, nil, []*recording.Interaction{{
		Request:  recording.Request{Method: "GET", URL: "https://user:password@a.example/"},
		Response: recording.Response{Termination: recording.Failed},
	}})
	edited := bytes.ReplaceAll(whole, []byte("user:password@"), nil)
	for _, c := range []struct {
		text []byte
		args []string
	}{
		{edited, []string{"verify", "--update-checksums"}},
		{whole, []string{"scrub"}},
	} {
		file := filepath.Join(t.TempDir(), "a.tape")
		if err := os.WriteFile(file, c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		recording, err := cassettes.Open(file, &cassettes.Options{Mode: cassettes.Record})
		if err != nil {
			t.Fatal(err)
		}
		w, _, errs := clitest.Terminal(nil)
		if got := cli.Execute(New(w), append(c.args, file), w); got == cli.OK {
			t.Errorf("%v: exit status %d, want a failure", c.args, got)
		}
		if want := "looptape: " + file + ": a recording of this cassette is in progress\n"; errs.String() != want {
			t.Errorf("%v: %s, want %s", c.args, errs, want)
		}
		if got, err := os.ReadFile(file); !bytes.Equal(got, c.text) || err != nil {
			t.Errorf("%v: it was changed: %v\n%s", c.args, err, got)
		}
		if err := recording.Abandon(); err != nil {
			t.Fatal(err)
		}
		w, out, errs := clitest.Terminal(nil)
		if status := cli.Execute(New(w), append(c.args, file), w); status != cli.OK {
			t.Errorf("%v: exit status %d without a recorder: %s%s", c.args, status, out, errs)
		}
	}
}
