package fake_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/looptape/looptape/fake"
	"pgregory.net/rapid"
)

// diary lists what tasks did, in order. It has no lock, so the race detector also checks that
// one task runs at a time.
type diary struct {
	clock *fake.Clock
	from  time.Time
	lines []string
}

func newDiary(c *fake.Clock) *diary { return &diary{clock: c, from: c.Now()} }

func (d *diary) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf("%v ", d.clock.Now().Sub(d.from))+fmt.Sprintf(format, args...))
}

func (d *diary) check(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, d.lines); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
}

func drain(t *testing.T, c *fake.Clock) {
	t.Helper()
	if err := c.Drain(); err != nil {
		t.Errorf("Drain: %v", err)
	}
	if n := c.Live(); n != 0 {
		t.Errorf("Live after Drain: got %d, want 0", n)
	}
}

func TestClockStart(t *testing.T) {
	if got, want := fake.NewClock().Now(), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("default start: got %v, want %v", got, want)
	}
	start := time.Date(2024, 5, 6, 7, 8, 9, 10, time.UTC)
	c := &fake.Clock{Start: start}
	if !c.Virtual() {
		t.Error("the clock is not virtual")
	}
	if err := c.Sleep(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if got, want := c.Now(), start.Add(time.Minute); !got.Equal(want) {
		t.Errorf("after a minute: got %v, want %v", got, want)
	}
}

func TestTasksRunInOrder(t *testing.T) {
	c := fake.NewClock()
	d := newDiary(c)
	c.Go(func() {
		d.add("a")
		c.Go(func() { d.add("a.child") })
		d.add("a ends")
	})
	c.Go(func() { d.add("b") })
	d.add("main")
	if n := c.Live(); n != 2 {
		t.Errorf("Live: got %d, want 2", n)
	}
	drain(t, c)
	d.check(t, "0s main", "0s a", "0s a ends", "0s b", "0s a.child")
	drain(t, c) // with nothing to do
}

func TestSleepOrder(t *testing.T) {
	c := fake.NewClock()
	d := newDiary(c)
	for i, ms := range []time.Duration{30, 10, 20, 10} {
		c.Go(func() {
			if err := c.Sleep(t.Context(), ms*time.Millisecond); err != nil {
				t.Error(err)
			}
			d.add("task %d", i)
		})
	}
	if err := c.Sleep(t.Context(), 20*time.Millisecond); err != nil {
		t.Error(err)
	}
	d.add("main")
	drain(t, c)
	// main went to sleep first, so it is before task 2 at the same instant.
	d.check(t, "10ms task 1", "10ms task 3", "20ms main", "20ms task 2", "30ms task 0")
}

func TestSleepOfNothing(t *testing.T) {
	c := fake.NewClock()
	d := newDiary(c)
	c.Go(func() { d.add("task") })
	for _, n := range []time.Duration{0, -1} {
		if err := c.Sleep(t.Context(), n); err != nil {
			t.Error(err)
		}
	}
	d.add("main")
	if err := c.Sleep(t.Context(), 1); err != nil {
		t.Error(err)
	}
	d.add("main")
	d.check(t, "0s main", "0s task", "1ns main")
}

func TestSleepForEver(t *testing.T) {
	c := fake.NewClock()
	d := newDiary(c)
	if err := c.Sleep(t.Context(), 1); err != nil {
		t.Error(err)
	}
	for i := range 2 {
		c.Go(func() {
			_ = c.Sleep(t.Context(), math.MaxInt64)
			d.add("task %d", i)
		})
	}
	_ = c.Sleep(t.Context(), 1)
	d.add("main")
	drain(t, c)
	end := time.Duration(math.MaxInt64).String()
	d.check(t, "2ns main", end+" task 0", end+" task 1")
}

var errCause = errors.New("the cause")

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	c := fake.NewClock()
	d := newDiary(c)
	c.Go(func() { d.add("task") })
	c.OpenGate("open")
	for name, wait := range map[string]func() error{
		"Sleep":     func() error { return c.Sleep(ctx, time.Hour) },
		"Sleep 0":   func() error { return c.Sleep(ctx, 0) },
		"Until":     func() error { return c.Until(ctx) },
		"Gate":      func() error { return c.WaitGate(ctx, "shut") },
		"open Gate": func() error { return c.WaitGate(ctx, "open") },
	} {
		if err := wait(); err != errCause {
			t.Errorf("%s: got %v, want the cause", name, err)
		}
	}
	d.check(t) // and no other task ran
	drain(t, c)
}

func TestCancelWhileWaiting(t *testing.T) {
	c := fake.NewClock()
	d := newDiary(c)
	ctx, cancel := context.WithCancelCause(t.Context())
	c.Go(func() { d.add("gate: %v", c.WaitGate(ctx, "g")) })
	c.Go(func() { d.add("until: %v", c.Until(ctx)) })
	c.Go(func() { d.add("sleep: %v", c.Sleep(ctx, time.Hour)) })
	c.Go(func() {
		d.add("cancel: %v", c.Sleep(t.Context(), time.Second))
		cancel(errCause)
		c.Go(func() { d.add("made after the cancel") })
		d.add("going on")
	})
	drain(t, c)
	if err := c.Sleep(t.Context(), 1); err != nil {
		t.Error(err)
	}
	d.add("no timer is left")
	d.check(t, "1s cancel: <nil>", "1s going on", "1s made after the cancel",
		"1s gate: the cause", "1s until: the cause", "1s sleep: the cause", "1.000000001s no timer is left")
}

func TestTimeout(t *testing.T) {
	c := fake.NewClock()
	ctx, cancel := c.WithTimeout(t.Context(), time.Second, errCause)
	defer cancel()
	child, cancelChild := context.WithCancel(ctx)
	defer cancelChild()
	if err := c.Sleep(child, time.Second-1); err != nil || ctx.Err() != nil {
		t.Errorf("before the time: got %v and %v", err, ctx.Err())
	}
	if err := c.Sleep(child, time.Hour); err != errCause {
		t.Errorf("Sleep: got %v, want the cause", err)
	}
	if ctx.Err() != context.DeadlineExceeded || context.Cause(ctx) != errCause || child.Err() == nil {
		t.Errorf("at the time: got Err %v, Cause %v, child %v", ctx.Err(), context.Cause(ctx), child.Err())
	}
	cancel()
	if ctx.Err() != context.DeadlineExceeded || context.Cause(ctx) != errCause {
		t.Errorf("after the cancel: got Err %v, Cause %v", ctx.Err(), context.Cause(ctx))
	}
	if _, ok := ctx.Deadline(); ok {
		t.Error("it has a deadline")
	}
}

func TestTimeoutWithoutCause(t *testing.T) {
	c := fake.NewClock()
	ctx, cancel := c.WithTimeout(t.Context(), 0, nil)
	defer cancel()
	if ctx.Err() != nil {
		t.Errorf("without a wait: got %v", ctx.Err())
	}
	if err := c.Until(ctx); err != context.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
	c = fake.NewClock()
	ctx, cancel = c.WithTimeout(t.Context(), -time.Second, nil)
	defer cancel()
	_ = c.Until(ctx)
	if got := c.Now(); !got.Equal(fake.NewClock().Now()) {
		t.Errorf("a timeout in the past turned the clock to %v", got)
	}
}

func TestTimeoutCanceled(t *testing.T) {
	c := fake.NewClock()
	d := newDiary(c)
	ctx, cancel := c.WithTimeout(t.Context(), time.Second, errCause)
	cancel()
	if ctx.Err() != context.Canceled || context.Cause(ctx) != context.Canceled {
		t.Errorf("got Err %v, Cause %v", ctx.Err(), context.Cause(ctx))
	}
	parent, cancelParent := context.WithCancel(t.Context())
	ctx, cancel = c.WithTimeout(parent, time.Second, errCause)
	defer cancel()
	cancelParent()
	if err := c.Sleep(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	if ctx.Err() != context.Canceled || context.Cause(ctx) != context.Canceled {
		t.Errorf("parent first: got Err %v, Cause %v", ctx.Err(), context.Cause(ctx))
	}
	d.add("end")
	d.check(t, "1m0s end")
}

// If a timeout and a sleep end at one instant, the one that was set first fires first.
func TestSameInstant(t *testing.T) {
	c := fake.NewClock()
	ctx, cancel := c.WithTimeout(t.Context(), time.Second, errCause)
	defer cancel()
	if err := c.Sleep(ctx, time.Second); err != errCause {
		t.Errorf("timeout first: got %v, want the cause", err)
	}
	c = fake.NewClock()
	d := newDiary(c)
	var late context.Context
	c.Go(func() {
		late, cancel = c.WithTimeout(t.Context(), time.Second, errCause)
		defer cancel()
		d.add("until: %v", c.Until(late))
	})
	if err := c.Sleep(t.Context(), time.Second); err != nil || late.Err() != nil {
		t.Errorf("sleep first: got %v, and the timeout %v", err, late.Err())
	}
	drain(t, c)
	d.check(t, "1s until: the cause")
}

func TestAfterFunc(t *testing.T) {
	c := fake.NewClock()
	d := newDiary(c)
	c.AfterFunc(2, func() { d.add("late") })
	c.AfterFunc(1, func() {
		d.add("first")
		c.Go(func() { d.add("made by first") })
	})
	stop := c.AfterFunc(1, func() { d.add("never") })
	c.AfterFunc(1, func() { d.add("second") })
	stop()
	stop()
	if err := c.Sleep(t.Context(), 3); err != nil {
		t.Error(err)
	}
	d.check(t, "1ns first", "1ns made by first", "1ns second", "2ns late")
}

func TestSignalCounts(t *testing.T) {
	c := fake.NewClock()
	d := newDiary(c)
	wait, notify := c.Signal()
	_, other := c.Signal()
	notify()
	notify()
	other()
	wait()
	wait()
	for i := range 3 {
		c.Go(func() {
			wait()
			d.add("task %d", i)
		})
	}
	c.Go(func() {
		notify()
		notify()
		d.add("two")
		_ = c.Sleep(t.Context(), 1)
		notify()
		notify() // one is left over
	})
	drain(t, c)
	wait()
	d.check(t, "0s two", "0s task 0", "0s task 1", "1ns task 2")
}

func TestSignalDeadlock(t *testing.T) {
	c := fake.NewClock()
	wait, notify := c.Signal()
	func() {
		defer func() {
			err, _ := recover().(error)
			if !isDeadlock(err) || !strings.Contains(err.Error(), "a signal") {
				t.Errorf("got %v", err)
			}
		}()
		wait()
	}()
	notify() // no task waits any more, so this one is kept
	wait()
}

func TestGates(t *testing.T) {
	c := fake.NewClock()
	d := newDiary(c)
	c.OpenInOrder("c", "unused")
	c.OpenInOrder("a", "b")
	for _, name := range []string{"a", "b", "c", "a"} {
		c.Go(func() { d.add("%s: %v", name, c.WaitGate(t.Context(), name)) })
	}
	c.Go(func() { d.add("slept: %v", c.Sleep(t.Context(), 1)) })
	drain(t, c)
	d.check(t, "0s c: <nil>", "0s a: <nil>", "0s a: <nil>", "0s b: <nil>", "1ns slept: <nil>")
}

func TestGateOpen(t *testing.T) {
	c := fake.NewClock()
	d := newDiary(c)
	c.Go(func() { d.add("1: %v", c.WaitGate(t.Context(), "g")) })
	c.Go(func() { d.add("2: %v", c.WaitGate(t.Context(), "g")) })
	c.Go(func() {
		c.OpenGate("g")
		c.OpenGate("g")
		d.add("opened: %v", c.WaitGate(t.Context(), "g"))
	})
	drain(t, c)
	d.check(t, "0s opened: <nil>", "0s 1: <nil>", "0s 2: <nil>")
}

func TestDeadlock(t *testing.T) {
	c := fake.NewClock()
	d := newDiary(c)
	c.OpenInOrder("other")
	c.Go(func() { d.add("gate: %t", isDeadlock(c.WaitGate(t.Context(), "g"))) })
	c.Go(func() { d.add("slept: %v", c.Sleep(t.Context(), 5)) })
	err := c.Until(t.Context())
	if stuck := new(fake.DeadlockError); !errors.As(err, &stuck) {
		t.Fatalf("got %v", err)
	} else if diff := cmp.Diff([]string{"the end of a context", "gate g"}, stuck.Waiting); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
	if got, want := err.Error(), "fake: deadlock: all tasks wait, for the end of a context, gate g: open the gates in order, or end the context"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	drain(t, c)
	d.check(t, "5ns slept: <nil>", "5ns gate: true")
}

func TestDrainDeadlock(t *testing.T) {
	c := fake.NewClock()
	wait, notify := c.Signal()
	c.Go(wait)
	err := c.Drain()
	if !isDeadlock(err) || !strings.Contains(err.Error(), "wait, for the end of all tasks, a signal:") {
		t.Errorf("got %v", err)
	}
	if n := c.Live(); n != 1 {
		t.Errorf("Live: got %d, want 1", n)
	}
	notify()
	drain(t, c)
}

func TestGoexit(t *testing.T) {
	c := fake.NewClock()
	d := newDiary(c)
	c.Go(func() {
		defer d.add("deferred")
		runtime.Goexit()
	})
	c.Go(func() {
		defer func() { d.add("recovered %v", recover()) }()
		_ = c.Sleep(t.Context(), 1)
		panic("oh")
	})
	drain(t, c)
	d.check(t, "0s deferred", "1ns recovered oh")
}

func TestPanicEndsTheProgram(t *testing.T) {
	if os.Getenv("FAKE_TEST_PANIC") != "" {
		c := fake.NewClock()
		c.Go(func() { panic("nobody recovers this") })
		_ = c.Drain()
		select {} // the program ends meanwhile
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPanicEndsTheProgram$")
	cmd.Env = append(os.Environ(), "FAKE_TEST_PANIC=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "panic: nobody recovers this") {
		t.Errorf("got %v and\n%s", err, out)
	}
}

func order(seed uint64) string {
	c := &fake.Clock{Seed: seed}
	var b strings.Builder
	for i := range 6 {
		c.Go(func() {
			_ = c.Sleep(context.Background(), 1)
			fmt.Fprint(&b, i)
		})
	}
	wait, notify := c.Signal()
	for i := range 6 {
		c.Go(func() {
			wait()
			fmt.Fprint(&b, i)
		})
	}
	_ = c.Sleep(context.Background(), 2)
	for range 6 {
		notify()
	}
	_ = c.Drain()
	return b.String()
}

func TestSeed(t *testing.T) {
	if got := order(0); got != "012345012345" {
		t.Errorf("without a seed: got %s", got)
	}
	orders := map[string]bool{}
	for seed := range uint64(20) {
		got := order(seed + 1)
		if again := order(seed + 1); got != again {
			t.Errorf("seed %d: got %s, then %s", seed+1, got, again)
		}
		orders[got] = true
	}
	if len(orders) < 15 {
		t.Errorf("20 seeds gave only %d orders", len(orders))
	}
}

// Random programs run twice with the same result, and every task ends.
func TestClockRepeats(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		prog := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 99), 0, 6), 1, 5).Draw(r, "program")
		seed := rapid.SampledFrom([]uint64{0, 1, 2}).Draw(r, "seed")
		first := runProgram(prog, seed)
		for range 3 {
			if diff := cmp.Diff(first, runProgram(prog, seed)); diff != "" {
				r.Fatalf("the second time it went otherwise (-first +again):\n%s", diff)
			}
		}
	})
}

func runProgram(prog [][]int, seed uint64) []string {
	c := &fake.Clock{Seed: seed}
	d := newDiary(c)
	c.OpenInOrder("g3", "g1", "g2")
	ctx, cancel := context.WithCancelCause(context.Background())
	_, notify := c.Signal()
	var task func(name string, depth int, ops []int) func()
	task = func(name string, depth int, ops []int) func() {
		return func() {
			for i, op := range ops {
				var err error
				switch n := op / 8; op % 8 {
				case 0:
					err = c.Sleep(ctx, time.Duration(n))
				case 1:
					err = c.WaitGate(ctx, fmt.Sprintf("g%d", n%5))
				case 2:
					c.OpenGate(fmt.Sprintf("g%d", n%5))
				case 3:
					if depth < 3 {
						c.Go(task(fmt.Sprintf("%s.%d", name, i), depth+1, ops[i+1:]))
					}
				case 4:
					inner, cancel := c.WithTimeout(ctx, time.Duration(n), errCause)
					err = c.Until(inner)
					cancel()
				case 5:
					if n == 7 {
						cancel(errCause)
					}
				case 6:
					err = c.Until(ctx)
				case 7:
					notify()
				}
				d.add("%s %d %v", name, op, err)
			}
		}
	}
	for i, ops := range prog {
		c.Go(task(fmt.Sprint(i), 0, ops))
	}
	err := c.Drain()
	d.add("%v %d", err, c.Live())
	return d.lines
}

func isDeadlock(err error) bool {
	_, ok := errors.AsType[*fake.DeadlockError](err)
	return ok
}
