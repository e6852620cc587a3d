package main

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/tools/txtar"
)

// kills is how often each command is killed; the flag -kills sets it.
var kills = flag.Int("kills", 3, "how often each command that writes a file is killed")

// A command that is killed at any moment leaves each of its files as it was, or as the command writes
// it. What it leaves next to them is not in the way of the next command.
func TestKilledWriters(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "kills.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(archive.Comment), "\n\n")
	for line := range strings.Lines(list) {
		names, command, _ := strings.Cut(strings.TrimSpace(line), ": ")
		t.Run(command, func(t *testing.T) {
			w := &killed{TB: t, dir: t.TempDir(), names: strings.Fields(names), args: strings.Fields(command)}
			w.prepare(archive)
			old := w.read()
			steps := w.count()
			want := w.read()
			for i, name := range w.names {
				if bytes.Equal(old[i], want[i]) || len(want[i]) == 0 {
					t.Fatalf("the command writes %q to %s", want[i], name)
				}
			}
			random, kept := rand.New(rand.NewPCG(1, 0)), 0
			for range *kills {
				w.write(old)
				w.kill(random.IntN(steps + steps/2))
				for i, text := range w.read() {
					switch {
					case bytes.Equal(text, old[i]):
						kept++
					case !bytes.Equal(text, want[i]):
						t.Fatalf("%s has %d bytes, neither the old %d nor the new %d:\n%s", w.names[i], len(text), len(old[i]), len(want[i]), text)
					}
				}
			}
			t.Logf("%d kills left %d old files, and %d new ones", *kills, kept, *kills*len(w.names)-kept)
			w.write(old)
			w.count()
			for i, text := range w.read() {
				if !bytes.Equal(text, want[i]) {
					t.Errorf("after the kills the command writes another %s:\n%s", w.names[i], text)
				}
			}
		})
	}
}

// killed is a command line that is killed.
type killed struct {
	testing.TB

	dir   string
	names []string // of its files
	args  []string
}

// prepare creates the files of the archive, and those that only a command can write.
func (w *killed) prepare(archive *txtar.Archive) {
	for _, f := range archive.Files {
		w.writeFile(f.Name, f.Data)
	}
	scenario, err := os.ReadFile(filepath.Join(w.dir, "scenario.yaml"))
	if err != nil {
		w.Fatal(err)
	}
	w.writeFile("weather.txtar", append([]byte("-- scenario.yaml --\n"), scenario...))
	setup := exec.CommandContext(w.Context(), "looptape", "eval", "gate", "--update", "--baseline", "baseline.json", "before.jsonl")
	setup.Dir = w.dir
	if text, err := setup.CombinedOutput(); err != nil {
		w.Fatalf("%v: %s", err, text)
	}
}

func (w *killed) writeFile(name string, text []byte) {
	if err := os.WriteFile(filepath.Join(w.dir, name), text, 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *killed) write(texts [][]byte) {
	for i, name := range w.names {
		w.writeFile(name, texts[i])
	}
}

func (w *killed) read() (texts [][]byte) {
	for _, name := range w.names {
		text, err := os.ReadFile(filepath.Join(w.dir, name))
		if err != nil {
			w.Fatal(err)
		}
		texts = append(texts, text)
	}
	return texts
}

func (w *killed) start() *exec.Cmd {
	c := exec.CommandContext(w.Context(), "looptape", w.args...)
	c.Dir = w.dir
	if err := c.Start(); err != nil {
		w.Fatal(err)
	}
	return c
}

// count runs the command to its end and returns the steps of spin that it took.
func (w *killed) count() (steps int) {
	var ended atomic.Bool
	c := w.start()
	go func() {
		_ = c.Wait() // the exit status may be 1; the files show whether it worked
		ended.Store(true)
	}()
	for !ended.Load() {
		steps++
		spin()
	}
	return steps
}

// kill kills the command after a number of steps.
func (w *killed) kill(steps int) {
	c := w.start()
	for range steps {
		spin()
	}
	_ = c.Process.Kill() // it may have ended
	_ = c.Wait()         // it was killed
}

var spun atomic.Uint64

// spin takes a moment.
func spin() {
	for range 1000 {
		spun.Add(1)
	}
}
