package cassettes

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/looptape/looptape/cassettes/recording"
	"go.yaml.in/yaml/v3"
)

// shared returns the folder of recordings, or skips the test if the folder is missing.
func shared(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("LOOPTAPE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	dir = filepath.Join(dir, "data")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no recordings; set LOOPTAPE_SHARED to the folder whose folder data has them: ", err)
	}
	return dir
}

// In recorded traffic of model clients, without the keys, redaction changes nothing and the
// scan finds no suspected secret.
func TestRecordedIsHarmless(t *testing.T) {
	for set, want := range map[string]int{"fantasy-cassettes": 534, "adk-go-httprr": 126, "wire": 109} {
		t.Run(set, func(t *testing.T) {
			n := 0
			err := filepath.WalkDir(filepath.Join(shared(t), set), func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				list, err := readForeign(path)
				for _, x := range list {
					n++
					harmless(t, path, x)
				}
				return err
			})
			if n != want || err != nil {
				t.Errorf("%d interactions, %v, want %d", n, err, want)
			}
		})
	}
}

func harmless(t *testing.T, path string, x *recording.Interaction) {
	t.Helper()
	var o Options
	got := o.Redacted(x)
	if diff := cmp.Diff(x, got, empty); diff != "" {
		t.Errorf("%s: redacted (-was +is):\n%s", path, diff)
	}
	for _, s := range o.FindSecrets(got) {
		t.Errorf("%s: %s", path, s)
	}
}

// readForeign reads the interactions of a file of another recorder.
func readForeign(path string) ([]*recording.Interaction, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	switch filepath.Ext(path) {
	case ".yaml":
		return readYAML(text)
	case ".httprr":
		return readTrace(text)
	case ".sse":
		return []*recording.Interaction{{Response: recording.Response{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: text}}}, nil
	}
	return nil, nil
}

func readYAML(text []byte) (list []*recording.Interaction, err error) {
	var file struct {
		Interactions []struct {
			Request, Response struct {
				Method, URL, Body string
				Headers           http.Header
			}
		}
	}
	if strings.Contains(string(text), "\ninteractions:") {
		err = yaml.Unmarshal(text, &file)
	}
	for _, x := range file.Interactions {
		list = append(list, &recording.Interaction{
			Request:  recording.Request{Method: x.Request.Method, URL: x.Request.URL, Header: x.Request.Headers, Body: []byte(x.Request.Body)},
			Response: recording.Response{Status: 200, Header: x.Response.Headers, Body: []byte(x.Response.Body)},
		})
	}
	return list, err
}

// readTrace reads a httprr file: repeatedly a line with two lengths, a request and its
// response.
func readTrace(text []byte) (list []*recording.Interaction, err error) {
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	for len(rest) > 0 {
		line, body, _ := bytes.Cut(rest, []byte("\n"))
		var sent, got int
		if _, err := fmt.Sscan(string(line), &sent, &got); err != nil {
			return list, err
		}
		x, err := readPair(body[:sent], body[sent:sent+got])
		if err != nil {
			return list, err
		}
		list, rest = append(list, x), body[sent+got:]
	}
	return list, nil
}

func readPair(sent, got []byte) (*recording.Interaction, error) {
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
	if err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(got)), nil)
	if err != nil {
		return nil, err
	}
	asked, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return &recording.Interaction{
		Request:  recording.Request{Method: req.Method, URL: req.URL.String(), Header: req.Header, Body: asked},
		Response: recording.Response{Status: resp.StatusCode, Header: resp.Header, Body: body},
	}, resp.Body.Close()
}

// empty makes nil and empty values equal.
var empty = cmp.Transformer("empty", func(b []byte) string { return string(b) })
