package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
	"github.com/looptape/looptape/internal/cassettetest"
)

// TestRecordings records the loop and the clients of this module with looptape record again. The
// cassettes of testdata/cassettes must not differ:
// go test ./cmd/looptape -run TestRecordings -update writes them.
func TestRecordings(t *testing.T) {
	root, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	list, err := cassettetest.Table(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r.Client != cassettetest.Looptape {
			continue // see conformance/taped
		}
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			tape, _, err := r.Record(t.Context(), "looptape", []string{"client", root, r.Name}, nil)
			if err != nil {
				t.Fatal(err)
			}
			was, err := r.Current(tape, *update)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(was), string(tape)); diff != "" {
				t.Errorf("%s is not current (-is +recorded again):\n%s", r.Path(), diff)
			}
		})
	}
}

// TestRecordingsChecked checks that looptape check and looptape cassette verify report nothing in the
// recordings, except the truncated responses of INV-14.
func TestRecordingsChecked(t *testing.T) {
	const folder = "../../testdata/cassettes"
	w, out, _ := clitest.Terminal(nil)
	if status := execute([]string{"cassette", "verify", folder}, w); status != cli.OK {
		t.Errorf("cassette verify: exit status %d: %s", status, out)
	}
	w, out, _ = clitest.Terminal(nil)
	if status := execute([]string{"check", "--format", "json", folder}, w); status != cli.Usage {
		t.Errorf("check: exit status %d, want %d for the responses that cannot be read", status, cli.Usage)
	}
	var report struct {
		Runs                   int
		Violations, Unreadable []struct{ File string }
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if report.Runs == 0 {
		t.Error("check: no runs")
	}
	for _, x := range slices.Concat(report.Violations, report.Unreadable) {
		if !strings.Contains(filepath.ToSlash(x.File), "/INV-14/") {
			t.Errorf("check reports %s", x.File)
		}
	}
}

// client is the program that is recorded.
func client() {
	if err := cassettetest.Client(os.Args[1], os.Args[2], os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
