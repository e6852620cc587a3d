package cassettes_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// A recording without any response does not replace a cassette with responses.
func TestCloseWithoutResponse(t *testing.T) {
	good, err := os.ReadFile(recorded(t, cassettes.Options{}, "1"))
	if err != nil {
		t.Fatal(err)
	}
	silent := cassettes.Encode(recording.Metadata{}, nil, []*recording.Interaction{{Response: recording.Response{Termination: recording.Failed}}})
	for name, c := range map[string]struct {
		before []byte // nil means no file
		asks   string // the method, or nothing
		want   error
	}{
		"nothing over responses":     {good, "", cassettes.ErrNoResponse},
		"a failure over responses":   {good, "FAIL", cassettes.ErrNoResponse},
		"none yet over responses":    {good, "WAIT", cassettes.ErrNoResponse},
		"a response over responses":  {good, "GET", nil},
		"nothing over a broken file": {good[:100], "", cassettes.ErrNoResponse},
		"nothing over failures":      {silent, "", nil},
		"a failure over failures":    {silent, "FAIL", nil},
		"nothing over nothing":       {nil, "", nil},
		"a failure over nothing":     {nil, "FAIL", nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "u.tape")
			if c.before != nil {
				if err := os.WriteFile(path, c.before, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			asked, answer := make(chan bool), make(chan bool)
			rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: answering(func(r *http.Request) (*http.Response, error) {
				close(asked)
				if r.Method == "WAIT" {
					<-answer
				}
				if r.Method == "FAIL" {
					return nil, io.ErrUnexpectedEOF
				}
				return reply(r, strings.NewReader("")), nil
			})})
			var client sync.WaitGroup
			if c.asks != "" {
				client.Go(func() {
					req, _ := http.NewRequestWithContext(t.Context(), c.asks, "http://example.com/", nil)
					if resp, err := rec.RoundTrip(req); err == nil {
						_ = resp.Body.Close() // there is nothing in it
					}
				})
				<-asked
			}
			if c.asks != "WAIT" {
				client.Wait()
			}
			err := rec.Close()
			close(answer)
			client.Wait()
			if !errors.Is(err, c.want) || err != nil && !strings.HasPrefix(err.Error(), path+": the new recording has no response") {
				t.Errorf("closed with %v, want %v", err, c.want)
			}
			after, err := os.ReadFile(path)
			if err != nil || bytes.Equal(after, c.before) != (c.want != nil) {
				t.Errorf("afterwards the file is %v\n%s", err, after)
			}
			if _, err := os.Stat(cassettes.JournalPath(path)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the journal is left: %v", err)
			}
		})
	}
}

// The next recording does not overwrite an interrupted one with interactions.
func TestOpenKeepsIncomplete(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.tape")
	c := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: echo{}})
	head, err := os.ReadFile(cassettes.JournalPath(path))
	if err != nil {
		t.Fatal(err)
	}
	send(t, c, "POST", "http://example.com/", "1")
	whole, err := os.ReadFile(cassettes.JournalPath(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Abandon(); err != nil {
		t.Fatal(err)
	}
	for name, left := range map[string]struct {
		text    []byte
		message string // nothing if it can go
	}{
		"an interaction": {whole, ": the recording was not closed; complete interactions: 1,"},
		"and a part":     {append(bytes.Clone(whole), "=== frame 9 1"...), ": the recording was not closed; complete interactions: 1,"},
		"a damaged head": {bytes.Replace(whole, []byte("recorded"), []byte("RECORDED"), 1), ":1: the cassette was changed after it was written: the head"},
		"a part of one":  {whole[:len(whole)-1], ""},
		"the head":       {head, ""},
		"a part of it":   {head[:20], ""},
		"nothing":        {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(cassettes.JournalPath(path), left.text, 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := cassettes.Open(path, &cassettes.Options{Mode: cassettes.Record, Transport: echo{}})
			if left.message != "" {
				if want := cassettes.JournalPath(path) + left.message; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "looptape cassette convert "+cassettes.JournalPath(path)+" -o FILE") {
					t.Errorf("got %v, want %q", err, want)
				}
				holds(t, cassettes.JournalPath(path), string(left.text))
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			send(t, c, "POST", "http://example.com/", "2")
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			send(t, open(t, path, cassettes.Options{}), "POST", "http://example.com/", "2")
		})
	}
}

// The next recording removes the temporary file of a killed Close.
func TestKilledInClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.tape")
	if err := os.WriteFile(cassettes.JournalPath(path)+".new", []byte("looptape-cassette 2\nhalf of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: echo{}})
		send(t, c, "POST", "http://example.com/", "1")
		if names, err := filepath.Glob(path + "*"); len(names) != 1 || err != nil {
			t.Errorf("files next to the journal: %v, %v", names, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// Close rejects a journal that another program has changed.
func TestJournalChanged(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"cut":     func(text []byte) []byte { return text[:len(text)-1] },
		"changed": func(text []byte) []byte { return bytes.Replace(text, []byte("200"), []byte("201"), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "j.tape")
			c := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: echo{}})
			send(t, c, "POST", "http://example.com/", "1")
			text, err := os.ReadFile(cassettes.JournalPath(path))
			if err == nil {
				err = os.WriteFile(cassettes.JournalPath(path), change(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); !errors.Is(err, cassettes.ErrChecksum) || !strings.HasPrefix(err.Error(), "the recording is in "+cassettes.JournalPath(path)+": ") {
				t.Errorf("closed with %v", err)
			}
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("there is a cassette: %v", err)
			}
		})
	}
}

// Close reports an interaction that was not recorded because a function of the options
// panicked. The journal keeps the others.
func TestPanics(t *testing.T) {
	for name, o := range map[string]cassettes.Options{
		"a redactor": {Rules: redact.Rules{Redact: []redact.Redactor{redact.RedactorFunc(func(x *recording.Interaction) { _ = x.Request.Body[0] })}}},
		"a match":    {Match: func(r *recording.Request) string { return string(rune(r.Body[0])) }},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "p.tape")
			o.Mode, o.Transport = cassettes.Record, echo{}
			c := open(t, path, o)
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the panic is swallowed")
					}
				}()
				send(t, c, "POST", "http://example.com/", "")
			}()
			send(t, c, "POST", "http://example.com/", "x")
			const want = "interaction 1 is not recorded: Redact or Match of the options has panicked"
			if err := c.Close(); err == nil || err.Error() != "the recording is in "+cassettes.JournalPath(path)+": "+want {
				t.Errorf("closed with %v", err)
			}
			play := open(t, path, cassettes.Options{Match: o.Match, Rules: o.Rules})
			if broken, ok := errors.AsType[*recording.IncompleteError](play.Incomplete()); !ok || broken.Complete != 1 {
				t.Errorf("it is replayed as %v", play.Incomplete())
			}
			send(t, play, "POST", "http://example.com/", "x")
		})
	}
}
