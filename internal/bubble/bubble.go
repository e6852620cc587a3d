// Package bubble helps conformance suites that run cases in testing/synctest bubbles. It
// lists the goroutines of a bubble and detects goroutines that cannot end.
package bubble

import (
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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

// header matches the first line of a goroutine's stack: its number and its bubble.
var header = regexp.MustCompile(`^goroutine ([0-9]+) \[.*, (synctest bubble [0-9]+)`)

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
