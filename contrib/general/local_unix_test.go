//go:build unix

package general

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// watched is a pipe that the processes of a command keep open. It shows when all of them have ended.
type watched struct {
	t    *testing.T
	dir  string
	file *os.File
}

func watch(t *testing.T) *watched {
	t.Helper()
	w := &watched{t: t, dir: t.TempDir()}
	if err := syscall.Mkfifo(filepath.Join(w.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// began waits until a process has written to the pipe. It fails the test if the command ends before.
func (w *watched) began(done <-chan error) {
	w.t.Helper()
	opened := make(chan error, 1)
	go func() {
		file, err := os.Open(filepath.Join(w.dir, "pipe"))
		if err == nil {
			_, err = io.ReadFull(file, make([]byte, 1))
		}
		w.file = file
		opened <- err
	}()
	select {
	case err := <-opened:
		if err != nil {
			w.t.Fatal(err)
		}
	case err := <-done:
		w.t.Fatalf("the command ended before it began: %v", err)
	}
}

// ended fails the test if a process still has the pipe.
func (w *watched) ended(what string) {
	w.t.Helper()
	err := w.file.SetReadDeadline(time.Now().Add(10 * time.Second)) //nolint:forbidigo // reached if the test fails only
	if err == nil {
		_, err = io.ReadAll(w.file)
	}
	if err = errors.Join(err, w.file.Close()); err != nil {
		w.t.Errorf("%s: a process still runs: %v", what, err)
	}
}

// RA-80: the end of a command, by itself, by its timeout or by the end of the run, ends all its processes: also
// those in the background and in a session of their own.
func TestLocalEndsChildren(t *testing.T) {
	const hold = "exec 3>pipe; echo >&3; "
	for _, s := range append(slices.Clip(sandboxes()), noSandbox) {
		name := cmp.Or(s.name, "no sandbox")
		for what, script := range map[string]string{
			"a child": "sh -c '" + hold + "sleep 30'", "the background": "(" + hold + "sleep 30) & sleep 30", "a session": "setsid sh -c '" + hold + "sleep 30' & sleep 30",
			"an orphan": "setsid sh -c '(" + hold + "exec sleep 30) & exit' & sleep 30", "a trap": "trap '' TERM INT HUP; " + hold + "sleep 30",
		} {
			if _, err := exec.LookPath("setsid"); strings.Contains(script, "setsid") && (err != nil || runtime.GOOS != "linux") {
				continue
			}
			w := watch(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error)
			go func() {
				_, err := runIn(ctx, s, Command{Script: script + "; echo > after", Dir: w.dir})
				done <- err
			}()
			w.began(done)
			cause := errors.New("the end of the run")
			cancel(cause)
			if err := <-done; !errors.Is(err, cause) {
				t.Fatalf("%s: %s: got %v", name, what, err)
			}
			if _, err := os.Stat(filepath.Join(w.dir, "after")); err == nil {
				t.Fatalf("%s: %s: the command continued", name, what)
			}
			w.ended(name + ": " + what + ", canceled")
		}
		w := watch(t)
		done := make(chan error)
		go func() {
			out, err := runIn(t.Context(), s, Command{Script: "(" + hold + "sleep 30) >&- 2>&- & until test -e ready; do :; done; echo done", Dir: w.dir})
			if out.Stdout != "done\n" {
				err = fmt.Errorf("got %+v, %w", out, err)
			}
			done <- err
		}()
		w.began(done)
		if err := os.WriteFile(filepath.Join(w.dir, "ready"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		w.ended(name + ": left in the background")
	}
}

// A command in a sandbox changes nothing outside of its folder, and reaches no server and no process.
func TestSandbox(t *testing.T) {
	for _, s := range sandboxes() {
		name := s.name
		outside, dir := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(outside, "f"), []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
		server, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		other := exec.CommandContext(t.Context(), "sleep", "600")
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(server.Addr().String())
		for _, script := range []string{
			"echo x > OUT/f", ": > OUT/f", "echo x >> OUT/f", "echo x > OUT/new", "rm OUT/f", "mkdir OUT/d", "mv OUT/f .", "ln -s x OUT/l", "ln OUT/f .", "echo x > g; mv g OUT/g", "mkfifo OUT/p", "truncate -s 0 OUT/f", "ln -s OUT l; echo x > l/f", "perl -e 'truncate(\"OUT/f\", 0) or exit 1'",
			"bash -c 'echo x > /dev/tcp/127.0.0.1/" + port + "'", fmt.Sprint("kill -9 ", other.Process.Pid),
		} {
			script = strings.ReplaceAll(script, "OUT", outside)
			out, err := runIn(t.Context(), s, Command{Script: script, Dir: dir})
			if err != nil || out.Status == 0 || out.Sandbox != s.name {
				t.Errorf("%s: %s: got %+v, %v", name, script, out, err)
			}
		}
		if err := errors.Join(other.Process.Kill(), server.Close()); err != nil {
			t.Error(err)
		}
		_ = other.Wait()
		entries, err := os.ReadDir(outside)
		text, _ := os.ReadFile(filepath.Join(outside, "f"))
		if err != nil || len(entries) != 1 || string(text) != "content" {
			t.Errorf("%s: outside are %v with %q, %v", name, entries, text, err)
		}
		const works = `echo a > f; echo b >> f; mkdir d; mv f d; ln d/f d/g; ln -s d/g l; cat l; rm -r d; mkfifo p; echo x > /dev/null; echo c > "$TMPDIR/t"; cat "$TMPDIR/t"; cat <<E
d
E`
		if out, err := runIn(t.Context(), s, Command{Script: works, Dir: t.TempDir()}); err != nil || out.Stdout != "a\nb\nc\nd\n" || out.Stderr != "" || out.Status != 0 {
			t.Errorf("%s: got %+v, %v", name, out, err)
		}
	}
}

// A command in a sandbox reads neither the environment nor the memory of this process, which may have keys: neither
// that of its main thread nor that of the thread that starts the command. It does not stop this process.
func TestSandboxOfHost(t *testing.T) {
	for _, s := range sandboxes() {
		script := strings.ReplaceAll(`for p in /proc/PID /proc/PID/task/* /proc/$PPID; do
cat $p/environ | head -c 20; cat $p/maps | head -c 20; readlink $p/fd/*; ls $p/cwd/; head -c 1 $p/mem; readlink $p/exe; done; kill -0 PID && echo signal`, "PID", fmt.Sprint(os.Getpid()))
		if strings.HasPrefix(s.name, "bubblewrap") {
			script = strings.ReplaceAll(script, "/proc/$PPID", "") // its own first process
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 2 {
					out, err := runIn(t.Context(), s, Command{Script: script, Dir: t.TempDir()})
					if err != nil || out.Stdout != "" {
						t.Errorf("%s: got %+v, %v", s.name, out, err)
						return
					}
				}
			})
		}
		all.Wait()
	}
}

// RA-81: the result of a command in a sandbox has what the sandbox does not prevent.
func TestSandboxLimits(t *testing.T) {
	for _, s := range sandboxes() {
		if !strings.Contains(s.name, " It can still read ") || strings.HasPrefix(s.name, "Landlock") && !strings.Contains(s.name, "change permissions, owners and times of other files") {
			t.Errorf("got %q", s.name)
		}
	}
}

// The tests of sandboxes need bubblewrap. With LOOPTAPE_BWRAP they fail without it.
func TestBubblewrap(t *testing.T) {
	miss := t.Skipf
	if os.Getenv("LOOPTAPE_BWRAP") != "" {
		miss = t.Fatalf
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		miss("bubblewrap is missing: install it (.ci/tools bubblewrap): %v", err)
	}
	list := sandboxes()
	if len(list) == 0 || !strings.HasPrefix(list[0].name, "bubblewrap") {
		out, err := exec.CommandContext(t.Context(), "bwrap", "--unshare-all", "--ro-bind", "/", "/", "true").CombinedOutput()
		miss("bubblewrap does not work here; user namespaces may not be permitted: %v: %s", err, out)
	}
	t.Setenv("LOOPTAPE_SECRET", "looptape-secret")
	other := exec.CommandContext(t.Context(), "sleep", "600")
	other.Env = []string{"LOOPTAPE_SECRET=looptape-secret"}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	const script = `env; cat /proc/[0-9]*/environ | tr '\0' '\n'
echo x 2>&1 > OUT/f || echo write; kill -9 PID 2>/dev/null || echo signal; (exec 3<>/dev/tcp/127.0.0.1/PORT) 2>/dev/null || echo network`
	server, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(server.Addr().String())
	text := strings.NewReplacer("OUT", outside, "PID", fmt.Sprint(other.Process.Pid), "PORT", port).Replace(script)
	for _, s := range []sandbox{list[0], noSandbox} {
		out, err := runIn(t.Context(), s, Command{Script: "exec bash -c '" + strings.ReplaceAll(text, "'", `'\''`) + "'", Dir: t.TempDir()})
		confined := s.name != ""
		if err != nil || confined != strings.HasSuffix(out.Stdout, "write\nsignal\nnetwork\n") || confined && strings.Contains(out.Stdout, "looptape-secret") {
			t.Errorf("sandbox %q: got %+v, %v", s.name, out, err)
		}
	}
	_ = other.Wait() // the run without a sandbox killed it
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}
