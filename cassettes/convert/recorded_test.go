package convert_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// exchange is an interaction as an independent reader returns it.
type exchange struct {
	Method, URL, Sent string
	Status            int
	Got               string
}

// set is a folder of recordings by other projects.
type set struct {
	folder, end         string
	files, interactions int
	read                func(t *testing.T, src []byte) []exchange
	back                []convert.Format
	lost                string // in addition to the metadata
}

var sets = []set{
	{"go-vcr/format1-branch-v1", ".yaml", 3, 5, readYAML, []convert.Format{convert.GoVCR1}, ""},
	{"go-vcr/format1-branch-v2", ".yaml", 2, 4, readYAML, []convert.Format{convert.GoVCR1}, ""},
	{"go-vcr/format2-branch-v4", ".yaml", 4, 9, readYAML, []convert.Format{convert.GoVCR2}, ""},
	{"fantasy-cassettes", ".yaml", 350, 534, readYAML, []convert.Format{convert.GoVCR2}, ""},
	{"other-recorders/har", ".har", 3, 3, readHAR, []convert.Format{convert.HAR}, ""},
	{"other-recorders/vcrpy/fixtures/migration", "/new_cassette.yaml", 1, 1, readYAML, []convert.Format{convert.VCRPy}, ""},
	{"other-recorders/vcrpy/fixtures/migration", "/new_cassette.json", 1, 1, readYAML, []convert.Format{convert.VCRPy}, ""},
	{"other-recorders/vcrpy/fixtures/wild", ".yaml", 1, 2, readYAML, []convert.Format{convert.VCRPy}, ""},
	{"other-recorders/vcrpy/integration", "_requests.yaml", 1, 1, readYAML, []convert.Format{convert.VCRPy}, ""},
	{"other-recorders/vcrpy/integration", "_httpx_old_format.yaml", 1, 1, readYAML, []convert.Format{convert.VCRPy}, "that the transport decompressed the body"},
	{"adk-go-httprr", ".httprr", 47, 126, readHTTPRR, nil, ""},
}

// Recordings of other projects have the content that an independent reader finds. They replay,
// and converting them to their own format or to a cassette keeps the content.
func TestRecorded(t *testing.T) {
	for _, s := range sets {
		t.Run(strings.ReplaceAll(s.folder, "/", "_")+s.end[1:], func(t *testing.T) {
			files, interactions := 0, 0
			root := data(t, s.folder)
			err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
				if err != nil || !strings.HasSuffix(path, s.end) {
					return err
				}
				files++
				interactions += holds(t, path, &s)
				return nil
			})
			if err != nil || files != s.files || interactions != s.interactions {
				t.Errorf("%d files with %d interactions, want %d with %d; %v", files, interactions, s.files, s.interactions, err)
			}
		})
	}
}

// data returns a folder of the recordings next to the repository.
func data(t *testing.T, folder string) string {
	t.Helper()
	shared := os.Getenv("LOOPTAPE_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	dir := filepath.Join(shared, "data", filepath.FromSlash(folder))
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no folder shared next to the repository; set LOOPTAPE_SHARED to its path: ", err)
	}
	return dir
}

// holds checks a file and returns the number of its interactions.
func holds(t *testing.T, path string, s *set) int {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, head, err := read(path, src)
	if err != nil {
		t.Error(err)
		return 0
	}
	want := s.read(t, src)
	var got []exchange
	for _, x := range list {
		got = append(got, exchange{x.Request.Method, x.Request.URL, string(x.Request.Body), x.Response.Status, string(x.Response.Body)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
	for i := range want { // the one secret in all of them that a response repeats
		want[i].Got = strings.ReplaceAll(want[i].Got, "Bearer foo", "Bearer "+redact.Placeholder("foo"))
	}
	if diff := cmp.Diff(want, replayed(t, list)); diff != "" {
		t.Errorf("%s, replayed (-want +got):\n%s", path, diff)
	}
	for _, f := range append(s.back, convert.Cassette) {
		comesBack(t, path, s, f, head, list)
	}
	return len(list)
}

// comesBack checks that writing and reading keeps a recording.
func comesBack(t *testing.T, path string, s *set, f convert.Format, head recording.Metadata, list []*recording.Interaction) {
	t.Helper()
	text, lost, err := convert.Write(f, head, list)
	if err != nil {
		t.Errorf("%s as %s: %v", path, f, err)
		return
	}
	for _, l := range lost {
		if l.What != "when it was recorded" && l.What != "what recorded it" && l.What != s.lost {
			t.Errorf("%s as %s: lost: %v", path, f, l)
		}
	}
	back, _, err := read(path, text)
	if diff := cmp.Diff(without(lost, list), without(lost, back), empty, roughly); diff != "" || err != nil {
		t.Errorf("%s as %s and back: %v (-want +got):\n%s", path, f, err, diff)
	}
}

// empty makes nil and empty bodies equal.
var empty = cmp.Transformer("empty", func(b []byte) string { return string(b) })

// replayed returns the responses of a cassette without secrets.
func replayed(t *testing.T, list []*recording.Interaction) (got []exchange) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.tape")
	safe := make([]*recording.Interaction, len(list))
	for i, x := range list {
		safe[i] = (&cassettes.Options{}).Redacted(x)
	}
	if err := cassettes.Replace(path, cassettes.Encode(recording.Metadata{}, nil, safe)); err != nil {
		t.Fatal(err)
	}
	c, err := cassettes.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		got = append(got, asked(t, c, x))
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	return got
}

// tester is a test, or a case of a property test.
type tester interface {
	rapid.TB
	Context() context.Context
}

// asked returns the response of a transport to a request.
func asked(t tester, over http.RoundTripper, x *recording.Interaction) exchange {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), x.Request.Method, x.Request.URL, bytes.NewReader(x.Request.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = match.OtherHost(&x.Request)
	req.Header = x.Request.Header.Clone()
	req.Header.Del("Host")
	req.Header.Del("Transfer-Encoding")
	resp, err := over.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.Body.Close() != nil {
		t.Fatal(err)
	}
	return exchange{x.Request.Method, req.URL.String(), string(x.Request.Body), resp.StatusCode, string(body)}
}

// readYAML reads files of go-vcr and vcrpy as maps.
func readYAML(t *testing.T, src []byte) (out []exchange) {
	t.Helper()
	var doc struct {
		Interactions []struct{ Request, Response map[string]any }
	}
	if err := yaml.Unmarshal(src, &doc); err != nil {
		t.Fatal(err)
	}
	for _, x := range doc.Interactions {
		e := exchange{Method: x.Request["method"].(string), Sent: str(x.Request["body"])}
		if e.URL = str(x.Request["uri"]); e.URL == "" {
			e.URL = str(x.Request["url"])
		}
		for _, code := range []any{x.Response["code"], x.Response["status_code"]} {
			if n, ok := code.(int); ok {
				e.Status = n
			}
		}
		if status, ok := x.Response["status"].(map[string]any); ok {
			e.Status = status["code"].(int)
		}
		e.Got = str(x.Response["body"]) + str(x.Response["content"])
		if body, ok := x.Response["body"].(map[string]any); ok {
			e.Got = str(body["string"])
		}
		out = append(out, e)
	}
	return out
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

func readHAR(t *testing.T, src []byte) (out []exchange) {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(src, &doc); err != nil {
		t.Fatal(err)
	}
	for _, x := range doc["log"].(map[string]any)["entries"].([]any) {
		req, resp := x.(map[string]any)["request"].(map[string]any), x.(map[string]any)["response"].(map[string]any)
		e := exchange{Method: str(req["method"]), URL: str(req["url"]), Status: int(resp["status"].(float64))}
		e.Got = str(resp["content"].(map[string]any)["text"])
		if digits, ok := strings.CutPrefix(e.Got, `["`); ok { // Polly.JS keeps gzip so
			var b []byte
			if _, err := fmt.Sscanf(strings.TrimSuffix(digits, `"]`), "%x", &b); err != nil {
				t.Fatal(err)
			}
			e.Got = string(b)
		}
		out = append(out, e)
	}
	return out
}

// readHTTPRR reads traces without chunked messages.
func readHTTPRR(t *testing.T, src []byte) (out []exchange) {
	t.Helper()
	for _, rest, _ := bytes.Cut(src, []byte("\n")); len(rest) > 0; {
		var n, m int
		if _, err := fmt.Sscanf(string(rest), "%d %d\n", &n, &m); err != nil {
			t.Fatal(err)
		}
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
		sent, body, _ := strings.Cut(string(rest[:n]), "\r\n\r\n")
		got, answer, _ := strings.Cut(string(rest[n:n+m]), "\r\n\r\n")
		rest = rest[n+m:]
		if words := strings.Fields(sent); !strings.Contains(got, "chunked") {
			status, err := strconv.Atoi(strings.Fields(got)[1])
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, exchange{words[0], words[1], body, status, answer})
		} else {
			t.Fatal("it has chunks")
		}
	}
	return out
}
