package child

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// killMarked kills the processes whose environment has the mark, until it finds no others.
func killMarked(mark string) {
	killed := map[int]bool{os.Getpid(): true}
	for found := true; found; {
		found = false
		names, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
		for _, name := range names {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name))) // it begins with a digit
			env, err := os.ReadFile(name)                             // those of other users cannot be read
			if pid > 0 && err == nil && !killed[pid] && hasMark(env, mark) {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
				killed[pid], found = true, true
			}
		}
	}
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
