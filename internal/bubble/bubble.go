// Package bubble helps conformance suites that run cases in testing/synctest bubbles. It
// lists the goroutines of a bubble and detects goroutines that cannot end, or do not end.
package bubble

import (
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Run runs f in a bubble, as synctest.Test does. It returns false if goroutines of the
// bubble cannot end.
func Run(t *testing.T, f func(t *testing.T)) (ended bool) {
	t.Helper()
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); !ok || !strings.HasPrefix(err.Error(), "deadlock") {
			panic(v)
		}
		ended = false
	}()
	synctest.Test(t, f)
	return true
}

// RunUntil is [Run] with a limit of real time, which is over when expired has a value. It then
// returns false and the stacks of the goroutines that do not end, and these continue: virtual time
// does not advance while a goroutine works, or waits for something that is not of its bubble. locked
// is true, and the limit is not over, if some goroutines wait for a mutex of package sync, and all
// others wait, too: virtual time never advances again.
func RunUntil(t *testing.T, expired <-chan time.Time, f func(t *testing.T)) (ended bool, stacks string, locked bool) {
	t.Helper()
	stack, result, abandoned := make(chan string, 1), make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(result)
		result <- Run(t, func(t *testing.T) { //nolint:thelper // it runs the test
			var own [256]byte
			stack <- string(own[:runtime.Stack(own[:], false)])
			f(t)
			select {
			case <-abandoned: // a test may not end after the one that started it
				select {}
			default:
			}
		})
	}()
	own := sync.OnceValue(func() string { return header.FindStringSubmatch(<-stack)[2] })
	look := time.NewTicker(time.Second) //nolint:forbidigo // of real time, for a run whose virtual time stops
	defer look.Stop()
	for was := ""; ; {
		select {
		case ended, returned := <-result:
			if !returned { // synctest.Test has called t.FailNow, such as for a data race
				runtime.Goexit()
			}
			return ended, "", false
		case <-look.C:
			now, locked := busy(own())
			if locked && now == was {
				close(abandoned)
				return false, now, true
			}
			was = now
		case <-expired:
			close(abandoned)
			stacks, _ := busy(own())
			return false, stacks, false
		}
	}
}

// busy returns the stacks of the goroutines in a bubble that stop its time, or those of all if each
// waits at this moment. locked is true if each one that stops it waits for a mutex.
func busy(name string) (stacks string, locked bool) {
	var all, holding []string
	locked = true
	for s := range strings.SplitSeq(strings.TrimSpace(allStacks()), "\n\n") {
		m := header.FindStringSubmatch(s)
		if m == nil || m[2] != name || strings.Contains(s, "\ninternal/synctest.Run(") { // which runs the timers
			continue
		}
		all = append(all, s)
		if first, _, _ := strings.Cut(s, "\n"); !strings.Contains(first, "(durable)") {
			holding = append(holding, s)
			locked = locked && mutex.MatchString(first)
		}
	}
	if len(holding) == 0 {
		holding, locked = all, false
	}
	return strings.Join(holding, "\n\n"), locked
}

// header matches the first line of a goroutine's stack: its number and its bubble.
var header = regexp.MustCompile(`^goroutine ([0-9]+) \[.*, (synctest bubble [0-9]+)`)

// mutex matches the first line of a goroutine that waits for a mutex.
var mutex = regexp.MustCompile(`\[sync\.(RW)?Mutex\.`)

// createdBy matches the function that started a goroutine.
var createdBy = regexp.MustCompile(`(?m)^created by (\S+)`)

// Goroutines returns the functions that started the goroutines of the caller's bubble, by
// goroutine number.
func Goroutines() map[string]string {
	stacks := strings.Split(allStacks(), "\n\n")
	own := header.FindStringSubmatch(stacks[0]) // the first stack is the caller's
	all := map[string]string{}
	for _, s := range stacks {
		if m := header.FindStringSubmatch(s); m != nil && m[2] == own[2] {
			by := createdBy.FindStringSubmatch(s)
			all[m[1]] = strings.Join(by[min(1, len(by)):], "")
		}
	}
	return all
}

// Since describes the goroutines that are not in before.
func Since(before map[string]string) []string {
	var who []string
	now := Goroutines()
	for _, n := range slices.Sorted(maps.Keys(now)) {
		if _, old := before[n]; !old {
			who = append(who, "started by "+now[n])
		}
	}
	return who
}

func allStacks() string {
	for size := 1 << 16; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size {
			return string(buf[:n])
		}
	}
}
