package serve

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
)

// open opens the cassette. For a replay it also finds the servers of the program and the
// command that records the cassette again.
func (v *cassetteServer) open(args []string) (*cassettes.Cassette, error) {
	if v.opts.Mode == cassettes.Record {
		return cassettes.Open(v.file, &v.opts)
	}
	f, own, err := v.load()
	if err != nil {
		return nil, err
	}
	if len(f.Metadata.Upstreams)+len(v.opts.Upstreams) == 0 {
		if err := v.guess(f, len(args) > 0); err != nil {
			return nil, err
		}
	}
	if own {
		v.opts.RecordCommand = v.recordCommand(f.Metadata.Upstreams, args)
	}
	return f.Replay(&v.opts)
}

// load reads a cassette. A recording in another format becomes a cassette in memory, whose
// requests have no secrets; own is false then.
func (v *cassetteServer) load() (f *cassettes.File, own bool, err error) {
	if info, err := os.Stat(v.file); err == nil && info.IsDir() {
		return nil, false, cli.FolderError(v.file)
	}
	src, err := readOther(v.file)
	if err != nil || src == nil {
		f, err = cassettes.Load(v.file) // or its journal
		return f, true, err
	}
	rec, err := cli.ParseRecording(v.file, src)
	if err != nil {
		return nil, false, err
	}
	for _, x := range rec.Interactions {
		x.Request = v.opts.Redacted(x).Request
	}
	f, err = cassettes.Parse(v.file, cassettes.Encode(rec.Metadata, &v.opts, rec.Interactions))
	return f, false, err
}

// readOther reads a file that is not a cassette. It returns nil for a cassette, which may not fit in
// memory.
func readOther(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	in := bufio.NewReader(f)
	if start, _ := in.Peek(in.Size()); cassettes.IsCassette(start) { // reading reports an error
		return nil, nil
	}
	return io.ReadAll(in) // not nil for an empty file
}

// guess derives the servers from the requests in the cassette. It returns an error if
// servers are needed and it finds none.
func (v *cassetteServer) guess(f *cassettes.File, needed bool) error {
	hosts := map[string]bool{}
	for x, err := range f.All() {
		if err != nil {
			return err
		}
		u, err := url.Parse(x.Request.URL)
		if err != nil {
			continue // it has no server
		}
		hosts[u.Scheme+"://"+u.Host] = true
		for _, p := range cli.Providers() {
			if strings.HasPrefix(x.Request.URL, p.URL+"/") {
				v.opts.Upstreams[p.Name] = p.URL
			}
		}
	}
	if needed && len(v.opts.Upstreams) == 0 && len(hosts) > 0 {
		return fmt.Errorf("%s does not name the servers that a program calls: name them with --upstream NAME=URL, where URL is the recorded base URL; the cassette has requests to %s", v.file, strings.Join(slices.Sorted(maps.Keys(hosts)), ", "))
	}
	return nil
}

// recordCommand returns the command that records this cassette again.
func (v *cassetteServer) recordCommand(recorded map[string]string, args []string) string {
	words := []string{"looptape", "record", "-o", v.file}
	servers := maps.Clone(v.opts.Upstreams)
	maps.Copy(servers, recorded)
	for _, p := range cli.Providers() {
		if servers[p.Name] == p.URL {
			delete(servers, p.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		words = append(words, "--upstream", name+"="+servers[name])
	}
	for _, place := range v.opts.Ignore {
		words = append(words, "--ignore", place)
	}
	for _, name := range v.opts.Secret {
		words = append(words, "--secret", name)
	}
	command := cli.ShellLine(words...)
	if len(args) > 0 {
		command += " -- " + programLine(args)
	}
	return command
}

// programLine returns a program without its arguments, which may have a secret.
func programLine(args []string) string {
	line := cli.ShellLine(args[0])
	if len(args) > 1 {
		line += " …"
	}
	return line
}
