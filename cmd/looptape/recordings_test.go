package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

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
			if *update {
				if err := r.Write(tape); err != nil {
					t.Fatal(err)
				}
			}
			was, err := os.ReadFile(r.Path())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(was), string(tape)); diff != "" {
				t.Errorf("%s is not current (-is +recorded again):\n%s", r.Path(), diff)
			}
		})
	}
}

// client is the program that is recorded.
func client() {
	if err := cassettetest.Client(os.Args[1], os.Args[2], os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
