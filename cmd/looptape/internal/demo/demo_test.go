package demo

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
)

var update = flag.Bool("update", false, "rewrite the expected files")

// The recorded runs of the demo are what its scenarios give, and one of them
// once more with its usage counted twice: go test ./cmd/looptape/internal/demo -run
// TestDemoRuns -update writes them again.
func TestDemoRuns(t *testing.T) {
	var b bytes.Buffer
	w := trace.NewWriter(&b, trace.Header{Writer: "looptape demo"})
	files, err := fs.Glob(demoFiles, "data/scenarios/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		src, err := demoFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := scenario.Parse(name, src)
		if err != nil {
			t.Fatal(err)
		}
		o, err := scenario.Run(t.Context(), f.Script, nil)
		if err != nil {
			t.Fatal(err)
		}
		run := strings.TrimSuffix(path.Base(name), ".txtar")
		write(t, w, run, o.Events)
		if run == "dropped-end" {
			write(t, w, "planted-usage-counted-twice", doubled(o.Events))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("data", "runs.jsonl")
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(got)); diff != "" {
		t.Errorf("%s is not current; run go test ./cmd/looptape/internal/demo -run TestDemoRuns -update (-want +got):\n%s", file, diff)
	}
}

func write(t *testing.T, w *trace.Writer, run string, events []trace.Event) {
	t.Helper()
	for _, ev := range events {
		ev.Run = run
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
}

// doubled is a run whose loop adds up its usage twice.
func doubled(events []trace.Event) []trace.Event {
	out := append([]trace.Event(nil), events...)
	last := &out[len(out)-1]
	end := last.Body.(trace.RunEnd)
	end.Usage = end.Usage.Add(end.Usage)
	last.Body = end
	return out
}

// All that the demo carries is small.
func TestDemoIsSmall(t *testing.T) {
	size := 0
	err := fs.WalkDir(demoFiles, ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		size += int(info.Size())
		return err
	})
	if err != nil || size > 200_000 {
		t.Errorf("the demo's files have %d bytes (%v), want 200 kB at most", size, err)
	}
}
