package storetest

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/looptape/looptape/loop/store"
	"github.com/looptape/looptape/trace"
)

// childArgument is the first argument of the test binary as another process. The role of the process,
// the folder and the arguments of the role follow.
const childArgument = "storetest-child"

// childRole returns the role of this process, or nothing if it runs the suite.
func childRole() (role string, arguments []string) {
	if a := flag.Args(); len(a) >= 3 && a[0] == childArgument {
		return a[1], a[2:]
	}
	return "", nil
}

// child does the work of another process and ends it.
func (s Suite) child(t *testing.T, role string, arguments []string) {
	w := &world{reporter: t, suite: s, dir: arguments[0]}
	st := w.open()
	var err error
	switch role {
	case "set":
		w.save(st, arguments[1], arguments[2], number(arguments[3]))
	case "append":
		err = appendAll(w.Context(), st, int(number(arguments[1])))
	case "save":
		err = saveForEver(w, st)
	case "suspend":
		err = traced(arguments[2], func(sink trace.Sink) error { return suspendRun(w.Context(), st, arguments[1], sink) })
	case "resume":
		err = traced(arguments[2], func(sink trace.Sink) error { return resumeRun(w.Context(), st, arguments[1], sink) })
	case "block":
		err = traced(arguments[1], func(sink trace.Sink) error { return blockedRun(w.Context(), st, sink) })
	case "continue":
		err = traced(arguments[1], func(sink trace.Sink) error { return continueRun(w.Context(), st, sink) })
	default:
		err = errors.New("unknown role")
	}
	if err != nil {
		t.Fatalf("process %q: %v", role, err)
	}
	os.Exit(0) // without the output of tests
}

// traced calls f with a sink that writes to a file.
func traced(path string, f func(trace.Sink) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(f(fileSink{trace.NewWriter(file, trace.Header{})}), file.Close())
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1 // no store has it
	}
	return n
}

// process returns another process with the store of the case.
func (w *world) process(role string, arguments ...string) *exec.Cmd {
	name, _, _ := strings.Cut(w.Name(), "/") // the function that calls Test
	arguments = slices.Concat([]string{"-test.run=^" + regexp.QuoteMeta(name) + "$", childArgument, role, w.dir}, arguments, []string{w.name})
	return exec.CommandContext(w.Context(), os.Args[0], arguments...)
}

// run runs another process to its end.
func (w *world) run(role string, arguments ...string) {
	w.Helper()
	if out, err := w.process(role, arguments...).CombinedOutput(); err != nil {
		w.Fatalf("process %q: %v\n%s", role, err, out)
	}
}

// twoProcesses saves in two processes: the later save is rejected, and repeated changes are all kept.
func twoProcesses(w *world) {
	s := w.open()
	old := w.save(s, "k", "first", 0)
	w.run("set", "k", "second", strconv.FormatInt(old, 10))
	w.rejected(s, "k", "third", old)
	if got, version := w.load(s, "k"); string(got) != "second" || version <= old {
		w.Errorf("after a save of another process: %s, version %d, want %q and a version above %d", show(got), version, "second", old)
	}
	others := []*exec.Cmd{w.process("append", "1"), w.process("append", "2")}
	outputs := make([]bytes.Buffer, len(others))
	for i, cmd := range others {
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		if err := cmd.Start(); err != nil {
			w.Fatal(err)
		}
	}
	if err := appendAll(w.Context(), s, 0); err != nil {
		w.Errorf("the first writer: %v", err)
	}
	for i, cmd := range others {
		if err := cmd.Wait(); err != nil {
			w.Errorf("the writer in another process: %v\n%s", err, &outputs[i])
		}
	}
	w.complete(s, 0, 1, 2)
}

const (
	killKey     = "state"
	killedLines = 2000 // of a state; a save takes some time
)

// killState returns the state with a number.
func killState(n int64) string { return strings.Repeat(fmt.Sprintf("state %d\n", n), killedLines) }

// killNumber returns the number of a state, or -1 if it is not a whole state.
func killNumber(value []byte) int64 {
	if len(value) == 0 {
		return 0
	}
	var n int64
	if _, err := fmt.Sscanf(string(value[:min(len(value), 40)]), "state %d\n", &n); err != nil || string(value) != killState(n) {
		return -1
	}
	return n
}

// saveForEver saves one state after another, from the one that is stored. It prints the number of each
// saved state.
func saveForEver(w *world, s store.Store) error {
	value, version := w.load(s, killKey)
	for n := killNumber(value); ; n++ {
		_, err := fmt.Fprintln(os.Stdout, n)
		if err == nil {
			version, err = s.Save(w.Context(), killKey, []byte(killState(n+1)), version)
		}
		if err != nil {
			return err
		}
	}
}

// kills kills processes that save. The store has the last state that a process has reported, or the
// next one, and the next process continues from it.
func kills(w *world) {
	random := rand.New(rand.NewPCG(w.suite.Seed, 0))
	reported, unreported := 0, 0
	last := int64(0)
	for i := range cmp.Or(w.suite.Kills, 5) {
		last = w.killOne(random, last)
		value := w.reload(killKey)
		switch n := killNumber(value); n {
		case last:
			reported++
		case last + 1:
			unreported++
			last = n
		default:
			w.Fatalf("kill %d: the store has %s, want state %d or %d as a whole", i, show(value), last, last+1)
		}
	}
	w.Logf("%d kills: %d left the old state, %d the new one", reported+unreported, reported, unreported)
}

// reload opens the store again and loads a value.
func (w *world) reload(key string) []byte {
	w.Helper()
	s, err := w.suite.Open(w.storeDir())
	if err != nil {
		w.Fatalf("Open: %v", err)
	}
	value, _ := w.load(s, key)
	if c, ok := s.(io.Closer); ok {
		err = c.Close()
	}
	if err != nil {
		w.Fatalf("Close: %v", err)
	}
	return value
}

// killOne starts a process that saves, kills it at some moment and returns the last state that it
// reported.
func (w *world) killOne(random *rand.Rand, last int64) int64 {
	cmd := w.process("save")
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	read := func() bool {
		ok := lines.Scan()
		if n, err := strconv.ParseInt(lines.Text(), 10, 64); ok && err == nil {
			last = n
		} else if ok {
			fmt.Fprintln(&failure, lines.Text())
		}
		return ok
	}
	for range 1 + random.IntN(4) {
		if !read() {
			_ = cmd.Wait() // the message has the output
			w.Fatalf("the process that saves ended: %s", &failure)
		}
	}
	for range random.IntN(maxSpin) { // some moment of the next save
		_ = random.Uint64()
	}
	if err := cmd.Process.Kill(); err != nil {
		w.Fatal(err)
	}
	for read() { // its output before it was killed
	}
	_ = cmd.Wait() // it was killed
	return last
}

// maxSpin is the number of steps until a kill, some milliseconds.
const maxSpin = 1 << 20
