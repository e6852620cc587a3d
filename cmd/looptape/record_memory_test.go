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
var streamSize = flag.Int("stream", 96, "size in MiB of the stream that is recorded")

// maxStreamMemory is what record and replay may use for a stream of any length, in MiB.
const maxStreamMemory = 512

// stream sends events of the size of one word of a model.
func stream(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	const event = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":" word"}}]}` + "\n\n"
	block := []byte(strings.Repeat(event, 1<<20/len(event)-1))
	block = append(block, "data: "+strings.Repeat("x", 1<<20-len(block)-len("data: \n\n"))+"\n\n"...)
	for sent := 0; sent < *streamSize<<20; sent += len(block) {
		if _, err := w.Write(block); err != nil {
			return // the client is gone, which the test reports
		}
	}
}

// A stream of any length reaches the program, is recorded and replayed, in bounded memory.
func TestRecordLongStream(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(stream))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "x.tape")
	for _, args := range [][]string{
		{"record", "-o", path, "--upstream", "x=" + server.URL, "--", "reader"},
		{"replay", path, "--", "reader"},
	} {
		c := exec.CommandContext(t.Context(), "looptape", args...)
		var printed, said bytes.Buffer
		c.Stdout, c.Stderr = &printed, &said
		c.Env = append(c.Environ(), "GOGC=100") // the default
		err := c.Run()
		if got, want := printed.String(), fmt.Sprintln(*streamSize<<20, nil); err != nil || got != want {
			t.Errorf("%s: %v: the program read %q, want %q: %s", args[0], err, got, want, &said)
		}
		used := c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
		t.Logf("a stream of %d MiB: %s used %d MiB", *streamSize, args[0], used)
		if used > maxStreamMemory {
			t.Errorf("%s used %d MiB, want at most %d", args[0], used, maxStreamMemory)
		}
	}
}
