package cassettetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
)

// server is the URL of looptape serve in the recordings.
const server = "http://fake.invalid"

// Record runs a program under looptape record and looptape serve with the scenario and the options of the
// recording. looptape is the path of the command. It returns the cassette without what differs
// between two recordings, and the output of the program.
func (r *Recording) Record(ctx context.Context, looptape string, program []string, input io.Reader) (tape, output []byte, err error) {
	dir, err := os.MkdirTemp("", "cassette")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "recorded.tape")
	args := slices.Concat([]string{"serve", r.ScenarioPath(), "--no-token", "--allow-unused", "--expect-status", "0"}, r.Serve,
		[]string{"--", looptape, "record", "-o", file, "--"}, program)
	cmd := exec.CommandContext(ctx, looptape, args...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = input, &stderr
	if output, err = cmd.Output(); err != nil {
		return nil, output, fmt.Errorf("%s: %w: %s%s", r.Name, err, output, &stderr)
	}
	f, err := cassettes.ReadFile(file)
	if err != nil {
		return nil, output, err
	}
	tape, err = clean(f)
	return tape, output, err
}

// address is the address of looptape serve.
var address = regexp.MustCompile(`^http://127\.0\.0\.1:[0-9]+`)

// kept are the headers of requests in the recordings. Others differ between machines.
var kept = []string{"Accept", "Anthropic-Version", "Authorization", "Content-Type", "X-Api-Key", "X-Goog-Api-Key", "User-Agent"}

// runtime is the end of a User-Agent that describes the machine.
var runtime = regexp.MustCompile(` (\(.*|(gl-)?(node|go)(\.js)?/\S*)$`)

// clean returns a cassette without what differs between two recordings: the address of the server,
// times, and headers that describe the machine.
func clean(f *cassettes.File) ([]byte, error) {
	var list []*recording.Interaction
	for x, err := range f.All() {
		if err != nil {
			return nil, err
		}
		header := http.Header{}
		for _, name := range kept {
			if values := x.Request.Header.Values(name); len(values) > 0 {
				header[name] = values
			}
		}
		if agent := header.Get("User-Agent"); agent != "" {
			header.Set("User-Agent", runtime.ReplaceAllString(agent, ""))
		}
		x.Request.URL, x.Request.Header = address.ReplaceAllString(x.Request.URL, server), header
		x.Response.Header.Del("Date")
		x.Response.Wait = 0
		if x.Response.Termination == recording.Canceled { // the client did not read the rest
			x.Response.Termination = ""
		}
		for i := range x.Response.Chunks {
			x.Response.Chunks[i].After = 0
		}
		list = append(list, x)
	}
	h := recording.Metadata{Recorder: "looptape record", Recorded: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), Match: f.Match, Upstreams: map[string]string{}}
	for name, url := range f.Upstreams {
		h.Upstreams[name] = address.ReplaceAllString(url, server)
	}
	return cassettes.Encode(h, nil, list), nil
}

// Current returns the cassette in its file. With update, it first writes tape to the file, unless it is
// there: another test may read it.
func (r *Recording) Current(tape []byte, update bool) ([]byte, error) {
	was, err := os.ReadFile(r.Path())
	if !update || err == nil && bytes.Equal(was, tape) {
		return was, err
	}
	if err := os.MkdirAll(filepath.Dir(r.Path()), 0o755); err != nil {
		return nil, err
	}
	return tape, os.WriteFile(r.Path(), tape, 0o644)
}
