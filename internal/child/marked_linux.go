package child

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// unclearScans is how often killMarked looks again at processes that show no environment: one that is about to run
// another program shows none.
const unclearScans = 20

// killMarked kills the processes whose environment has the mark, until it finds no others.
func killMarked(mark string) {
	killed := map[int]bool{os.Getpid(): true}
	for unclear := 0; unclear < unclearScans; {
		found, hidden := killOnce(mark, killed)
		switch {
		case found:
		case hidden:
			unclear++
		default:
			return
		}
	}
}

// killOnce kills the processes that are found at this moment. hidden reports whether a process of a program shows no
// environment.
func killOnce(mark string, killed map[int]bool) (found, hidden bool) {
	names, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	for _, name := range names {
		dir := filepath.Dir(name)
		pid, _ := strconv.Atoi(filepath.Base(dir)) // it begins with a digit
		env, err := os.ReadFile(name)              // those of other users cannot be read
		switch {
		case pid <= 0 || err != nil || killed[pid]:
		case len(env) == 0:
			_, err := os.Readlink(filepath.Join(dir, "exe")) // a thread of the system has no program
			hidden = hidden || err == nil
		case hasMark(env, mark):
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			killed[pid], found = true, true
		}
	}
	return found, hidden
}

// hasMark reports whether an environment, whose variables end with a zero byte, has a mark or one that is within
// it.
func hasMark(env []byte, mark string) bool {
	for variable := range bytes.SplitSeq(env, []byte{0}) {
		if rest, ok := bytes.CutPrefix(variable, []byte(mark)); ok && (len(rest) == 0 || rest[0] == '/') {
			return true
		}
	}
	return false
}
