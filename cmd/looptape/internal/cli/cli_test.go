package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// The bar comes after a second of work and goes away at its end.
func TestProgress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, _, out := clitest.Terminal(nil)
	now := time.Unix(0, 0)
	w.Now = func() time.Time { return now }
	f, err := w.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []time.Duration{999 * time.Millisecond, time.Millisecond, 99 * time.Millisecond, time.Millisecond} {
		now = now.Add(step)
		if _, err := f.Read(make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	want := "\r[############..................]  40 % " + file + "\x1b[K" +
		"\r[########################......]  80 % " + file + "\x1b[K" + "\r\x1b[K"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("standard error (-want +got):\n%s", diff)
	}
}

func TestVersion(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}
	for want, build := range map[string]*debug.BuildInfo{
		"(unknown)":              nil,
		"v1.2.3 go1.26":          {Main: debug.Module{Version: "v1.2.3"}, GoVersion: "go1.26"},
		"(devel) go1.26":         {GoVersion: "go1.26"},
		"v1 0123456789abcdef go": {Main: debug.Module{Version: "v1"}, GoVersion: "go", Settings: []debug.BuildSetting{revision}},
		"v0.0.0-2-0123456789ab go": {
			Main: debug.Module{Version: "v0.0.0-2-0123456789ab"}, GoVersion: "go", Settings: []debug.BuildSetting{revision, {Key: "GOOS", Value: "x"}},
		},
	} {
		if got := (&cli.World{Build: build}).Version(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// full is a device without space.
type full struct{ writes int }

func (f *full) Write([]byte) (int, error) {
	f.writes++
	return 0, errors.New("no space")
}

// A command reports an error of printing once, whatever its own status is.
func TestExecuteOutputErrors(t *testing.T) {
	for name, status := range map[string]error{"success": nil, "failure": cli.Failed} {
		var out full
		w, _, stderr := clitest.Terminal(nil)
		w.Out = &out
		c := &cobra.Command{RunE: func(*cobra.Command, []string) error {
			w.Table([]string{"a"}, [][]string{{"1"}})
			w.JSON(1)
			w.ResultLine("done", status == nil)
			return status
		}}
		if got := cli.Execute(c, []string{}, w); got != cli.Usage || stderr.String() != "looptape: no space\n" || out.writes != 1 {
			t.Errorf("%s: got the status %d, %q and %d writes, want %d, the error once and 1 write", name, got, stderr, out.writes, cli.Usage)
		}
	}
}
