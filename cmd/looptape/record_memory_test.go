//go:build linux

package main

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// streamSize is the size of a stream in MiB; the flag -stream sets it.
var streamSize = flag.Int("stream", 256, "size in MiB of the stream that record passes on")

// maxStreamMemory is what record may use for a stream of any length, in MiB.
const maxStreamMemory = 300

// stream sends events of about a kilobyte.
func stream(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	block := bytes.Repeat([]byte("data: "+strings.Repeat("x", 1016)+"\n\n"), 64)
	for sent := 0; sent < *streamSize<<20; sent += len(block) {
		if _, err := w.Write(block); err != nil {
			return // the client is gone, which the test reports
		}
	}
}

// A stream above the limit reaches the program as a whole, and record needs no memory for it. It fails,
// because the stream is not recorded.
func TestRecordLongStream(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(stream))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "x.tape")
	c := exec.CommandContext(t.Context(), "looptape", "record", "-o", path, "--upstream", "x="+server.URL, "--", "reader")
	var printed, said bytes.Buffer
	c.Stdout, c.Stderr = &printed, &said
	_ = c.Run() // the status is checked
	if got, want := printed.String(), fmt.Sprintln(*streamSize<<20, nil); got != want {
		t.Errorf("the program read %q, want %q", got, want)
	}
	if c.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), "interaction 1 is not recorded: its response has more than 67108864 bytes") {
		t.Errorf("%s: %s", c.ProcessState, &said)
	}
	used := c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
	t.Logf("a stream of %d MiB: record used %d MiB", *streamSize, used)
	if used > maxStreamMemory {
		t.Errorf("record used %d MiB, want at most %d", used, maxStreamMemory)
	}
}
