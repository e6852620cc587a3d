package cassettes_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
)

// numbering responds with the number of the request, and with status 500 to a body that contains "bad".
type numbering struct{ n int }

func (c *numbering) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.n++
	status := http.StatusOK
	if strings.Contains(string(body), "bad") {
		status = http.StatusInternalServerError
	}
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", Header: http.Header{}, Body: io.NopCloser(strings.NewReader(fmt.Sprintf("%s %d", body, c.n))), ContentLength: -1, Request: r}, nil
}

// exchange sends requests through a cassette and returns the bodies of the responses.
func exchange(t *testing.T, c *cassettes.Cassette, bodies ...string) (got []string) {
	t.Helper()
	for _, body := range bodies {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://example.com/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "text/plain")
		resp, err := c.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	return got
}

// bodiesIn returns the bodies of the responses in a cassette.
func bodiesIn(t *testing.T, path string) (got []string) {
	t.Helper()
	f, err := cassettes.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for x, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(x.Response.Body))
	}
	return got
}

// TestRecordKeep checks that a recording responds from the files that it keeps, once per
// interaction, contains them at the end, and that an abandoned one can be continued.
func TestRecordKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tape")
	upstream := &numbering{}
	open := func(keep ...string) *cassettes.Cassette {
		t.Helper()
		opts := &cassettes.Options{Mode: cassettes.Record, Transport: upstream, Keep: []*cassettes.File{}}
		for _, name := range keep {
			f, err := cassettes.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			opts.Keep = append(opts.Keep, f)
		}
		c, err := cassettes.Open(path, opts)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	journal := cassettes.JournalPath(path)
	check := func(what string, got []string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}

	c := open()
	check("recording", exchange(t, c, "a", "b", "bad"), "a 1", "b 2", "bad 3")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = open(path)
	check("kept, and failed again", exchange(t, c, "a", "a", "bad"), "a 1", "a 4", "bad 5")
	if err := c.Abandon(); err != nil {
		t.Fatal(err)
	}
	check("the file after Abandon", bodiesIn(t, path), "a 1", "b 2", "bad 3")
	check("the journal after Abandon", bodiesIn(t, journal), "a 4", "bad 5")

	if _, err := cassettes.Open(path, &cassettes.Options{Mode: cassettes.Record}); err == nil {
		t.Error("a recording without Keep: got no error, want that of an interrupted recording")
	}
	// The end of the journal is that of a killed write.
	f, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("=== frame 100 0000")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	c = open(path, journal)
	check("continued", exchange(t, c, "c", "a", "a"), "c 6", "a 1", "a 4")
	if err := c.Abandon(); err != nil {
		t.Fatal(err)
	}
	check("the continued journal", bodiesIn(t, journal), "a 4", "bad 5", "c 6")
	interrupted, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	c = open(path, journal)
	check("nothing new", exchange(t, c, "c"), "c 6")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	check("the file at the end", bodiesIn(t, path), "a 1", "b 2", "a 4", "c 6")
	if _, err := os.Stat(journal); !os.IsNotExist(err) {
		t.Errorf("the journal after Close: got %v, want none", err)
	}
	// A process that is killed in Close may leave the journal next to the new file.
	if err := os.WriteFile(journal, interrupted, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(path, journal).Close(); err != nil {
		t.Fatal(err)
	}
	check("the file after a second end", bodiesIn(t, path), "a 1", "b 2", "a 4", "c 6")

	c = open(path)
	check("nothing recorded", exchange(t, c, "b"), "b 2")
	if err := c.Abandon(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(journal); !os.IsNotExist(err) {
		t.Errorf("the journal without a request: got %v, want none", err)
	}
}
