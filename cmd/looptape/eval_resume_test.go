//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// resumed is a folder with files to score, the last of which cannot be read to its end
// until it receives the signal to continue.
type resumed struct {
	*testing.T

	dir, looptape string
	files         []string
}

func newResumed(t *testing.T) *resumed {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &resumed{T: t, dir: t.TempDir(), looptape: filepath.Join(t.TempDir(), "looptape")}
	r.check(os.Symlink(self, r.looptape)) // by this name, TestMain runs the command
	for i := range 20 {
		name := fmt.Sprintf("%02d.jsonl", i)
		r.files = append(r.files, name)
		r.write(name, strings.Repeat(fmt.Sprintf(`{"case":"c %d","reward":%d,"messages":[]}`+"\n", i, i%2), 1+i%3))
	}
	r.files = append(r.files, "last one.jsonl")
	r.check(syscall.Mkfifo(filepath.Join(r.dir, "last one.jsonl"), 0o600))
	return r
}

func (r *resumed) check(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *resumed) write(name, text string) {
	r.Helper()
	r.check(os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600))
}

func (r *resumed) read(name string) []byte {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	r.check(err)
	return text
}

// start starts scoring, and waits until n files are kept.
func (r *resumed) start(kept int) (cmd *exec.Cmd, words *bytes.Buffer) {
	r.Helper()
	words = &bytes.Buffer{}
	cmd = exec.CommandContext(r.Context(), r.looptape, slices.Concat([]string{"eval", "score", "-o", "part.jsonl", "--resume"}, r.files)...)
	cmd.Dir, cmd.Stderr = r.dir, words
	r.check(cmd.Start())
	for lines := 0; lines <= kept; {
		text, err := os.ReadFile(filepath.Join(r.dir, "part.jsonl.resume"))
		if err != nil && !os.IsNotExist(err) {
			r.Fatal(err)
		}
		lines = bytes.Count(text, []byte("\n"))
	}
	return cmd, words
}

// replaceLast replaces the last file, at which the program waits, by a recording.
func (r *resumed) replaceLast() {
	r.Helper()
	r.check(os.Remove(filepath.Join(r.dir, "last one.jsonl")))
	r.write("last one.jsonl", `{"case":"last","reward":1,"messages":[]}`+"\n")
}

// score scores to the end.
func (r *resumed) score(args ...string) (words string) {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), r.looptape, slices.Concat([]string{"eval", "score"}, args, r.files)...)
	cmd.Dir = r.dir
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		r.Fatalf("%v: %s", err, &said)
	}
	return said.String()
}

// Scoring that is killed again and again, each time a little later, comes to the same part
// in the end as scoring that is not.
func TestEvalScoreKilled(t *testing.T) {
	r := newResumed(t)
	for kept := range 20 {
		cmd, words := r.start(kept)
		r.check(cmd.Process.Kill())
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("it was not killed, but ended with %v: %s", err, words)
		}
	}
	if _, err := os.Stat(filepath.Join(r.dir, "part.jsonl")); !os.IsNotExist(err) {
		t.Errorf("there is a part before its end: %v", err)
	}
	kept := bytes.Count(r.read("part.jsonl.resume"), []byte("\n")) - 1
	r.replaceLast()
	words := r.score("-o", "part.jsonl", "--resume")
	if want := fmt.Sprintf("looptape: part.jsonl.resume: continuing after %d files\n", kept); words != want {
		t.Errorf("got the message %q, want %q", words, want)
	}
	r.score("-o", "whole.jsonl")
	if diff := cmp.Diff(string(r.read("whole.jsonl")), string(r.read("part.jsonl"))); diff != "" {
		t.Errorf("the part (-never killed +killed):\n%s", diff)
	}
	if left, err := filepath.Glob(filepath.Join(r.dir, "part.jsonl?*")); err != nil || len(left) > 0 {
		t.Errorf("it leaves %q, %v", left, err)
	}
}

// TestEvalScoreInterrupted interrupts scoring: the error contains the command that continues.
func TestEvalScoreInterrupted(t *testing.T) {
	dir := t.TempDir()
	args := []string{"eval", "score", "--case", "/c", "--score", "/it's", "--score", "b=/b"}
	for i := range 20 {
		name := filepath.Join(dir, fmt.Sprintf("%02d.jsonl", i))
		if err := os.WriteFile(name, fmt.Appendf(nil, `{"c":"c %d","it's":1,"b":0}`, i), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	part := filepath.Join(dir, "part.jsonl")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-o", part, "--resume"}, `^looptape: scoring stopped; the scores of \d+ files? are kept\. Continue with:\n` +
			`  looptape eval score --case=/c --output=\S*part\.jsonl --resume '--score=/it'\\''s' --score=b=/b( \S+/\d\d\.jsonl){20}\n$`},
		{[]string{"-o", part}, `^looptape: scoring stopped without a result: use --resume and -o to be able to continue\n$`},
	} {
		w, _, said := clitest.Terminal(nil)
		stop := func() {}
		w.Interrupted = func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, stop = context.WithCancel(ctx)
			return ctx, stop
		}
		var reads atomic.Int64
		w.Now = func() time.Time {
			if reads.Add(1) == 10 { // which is asked each time something was read
				stop()
			}
			return time.Time{}
		}
		if got := execute(append(slices.Clone(args), c.args...), w); got != cli.Usage {
			t.Errorf("exit status %d, want %d", got, cli.Usage)
		}
		if !regexp.MustCompile(c.want).MatchString(said.String()) {
			t.Errorf("got the message %q, want %s", said, c.want)
		}
	}
	printed(t, append(args, "-o", part, "--resume")...)
}

// Two processes cannot score the same input, and a file that is not a journal is not overwritten.
func TestEvalScoreResumeRefuses(t *testing.T) {
	r := newResumed(t)
	cmd, _ := r.start(0)
	for args, want := range map[string]string{
		"--resume":                  "looptape: --resume needs a score file: set -o\n",
		"--resume -o part.jsonl":    "looptape: part.jsonl.resume: another process is using this journal: ",
		"--resume -o no/part.jsonl": "looptape: --output: no/part.jsonl: no file can be created in its folder: no such file or directory\n",
		"--resume -o mine.jsonl":    "looptape: mine.jsonl.resume: not a journal of looptape eval score --resume",
	} {
		r.write("mine.jsonl.resume", "my notes")
		var said bytes.Buffer
		other := exec.CommandContext(t.Context(), r.looptape, append([]string{"eval", "score", "00.jsonl"}, strings.Fields(args)...)...)
		other.Dir, other.Stderr = r.dir, &said
		if err := other.Run(); other.ProcessState.ExitCode() != int(cli.Usage) || !strings.HasPrefix(said.String(), want) {
			t.Errorf("%s: %v, got the message %q, want %q", args, err, &said, want)
		}
		if got := string(r.read("mine.jsonl.resume")); got != "my notes" {
			t.Errorf("the notes are %q now", got)
		}
	}
	r.check(cmd.Process.Kill())
	_ = cmd.Wait()
}
