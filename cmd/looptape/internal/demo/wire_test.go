package demo

import (
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace/importer"
	"github.com/looptape/looptape/trace/watch"

	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// The cassette of the demo and its traces come from the adapters and the fake provider:
// go test ./cmd/looptape/internal/demo -run TestDemoAdapters -update records them again.
func TestDemoAdapters(t *testing.T) {
	src, err := demoFiles.ReadFile(wireScenario)
	if err != nil {
		t.Fatal(err)
	}
	f, err := scenario.Parse(wireScenario, src)
	if err != nil {
		t.Fatal(err)
	}
	to := &faked{}
	file := filepath.Join(t.TempDir(), path.Base(wireTape))
	tape, err := cassettes.Open(file, &cassettes.Options{
		Mode: cassettes.Record, Recorder: "looptape demo", Transport: to,
		Now: func() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range adapters() {
		for _, d := range responseModes() {
			o, err := a.run(t.Context(), f.Script, d, func(script *fake.Model) http.RoundTripper {
				to.play(t, script)
				return tape
			})
			if err != nil {
				t.Fatal(err)
			}
			if r := to.server.Done(); !r.OK() || len(r.Unused) > 0 {
				t.Errorf("%s: the provider has seen %+v", a.traceFile(d), r)
			}
			current(t, a.traceFile(d), o.Trace())
		}
	}
	if err := tape.Close(); err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	current(t, wireTape, string(recorded))
}

// faked carries requests to a fake provider in process.
type faked struct {
	server *wire.Server
	to     http.RoundTripper
}

// play takes a provider that plays a script.
func (p *faked) play(t *testing.T, script *fake.Model) {
	p.server = wire.New(wire.Config{Model: script})
	client, stop := p.server.Pipe()
	t.Cleanup(stop)
	p.to = client.Transport
}

// RoundTrip has the key that no recording needs, and takes off the time.
func (p *faked) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer some-key")
	resp, err := p.to.RoundTrip(r)
	if err == nil {
		resp.Header.Del("Date")
	}
	return resp, err
}

// current compares a file of the demo with what it should be, or writes it.
func current(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.FromSlash(name), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not current; run go test ./cmd/looptape/internal/demo -run TestDemoAdapters -update (-want +got):\n%s", name, diff)
	}
}

// In the cassette of the demo every request keeps the invariants.
func TestDemoTapeHolds(t *testing.T) {
	text, err := demoFiles.ReadFile(wireTape)
	if err != nil {
		t.Fatal(err)
	}
	src, err := importer.Open(wireTape, strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	var r watch.Recording
	n := 0
	for x, err := range src.Exchanges() {
		if err != nil || x.Response == nil {
			t.Fatalf("interaction %d has no response: %v", x.Number, err)
		}
		found, err := r.Add(watch.Interaction{Number: x.Number, Session: x.Protocol.Name(), Protocol: x.Protocol, Request: x.Request, Response: x.Response})
		if err != nil {
			t.Error(err)
		}
		for _, v := range found {
			t.Error(v)
		}
		n++
	}
	if n != 24 || r.Runs != 4 {
		t.Errorf("%d requests in %d runs, want 24 in 4", n, r.Runs)
	}
}

// The demo fails if a trace is another one, if the recording lacks a request, and if it
// has one too many.
func TestDemoFails(t *testing.T) {
	whole := fstest.MapFS{}
	err := fs.WalkDir(demoFiles, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := demoFiles.ReadFile(name)
		whole[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := cassettes.Parse("", whole[wireTape].Data)
	if err != nil {
		t.Fatal(err)
	}
	var list []*recording.Interaction
	for x, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	gemini := adapters()[3]
	for name, c := range map[string]struct {
		file, text string
		want       string
	}{
		"as it is":       {wireTape, string(whole[wireTape].Data), "8 of 8 replays gave the recorded trace."},
		"another trace":  {gemini.traceFile(llm.Streaming), "run.start\n", "7 of 8 replays gave the recorded trace."},
		"one is missing": {wireTape, string(cassettes.Encode(f.Metadata, nil, list[1:])), "7 of 8 replays gave the recorded trace."},
		"one too many":   {wireTape, string(cassettes.Encode(f.Metadata, nil, append(list[:1:1], list...))), "7 of 8 replays gave the recorded trace."},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{}
			for file, data := range whole {
				files[file] = data
			}
			files[c.file] = &fstest.MapFile{Data: []byte(c.text)}
			w, out, _ := clitest.Terminal(map[string]string{"NO_COLOR": "1"})
			err := demo(t.Context(), w, files)
			if held := err == nil; held != (name == "as it is") || !strings.Contains(out.String(), c.want) {
				t.Errorf("got %v, want %q in:\n%s", err, c.want, out)
			}
		})
	}
}
