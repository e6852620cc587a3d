package page_test

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/report"
	"github.com/looptape/looptape/evals/report/page"
	"github.com/looptape/looptape/llm"
)

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	Helper()
	Fatal(args ...any)
}

const maxBytes = 1 << 20

// scored returns the runs of a file and their texts.
func scored(t tb, name, text string, size int) (*evals.Result, *page.Runs) {
	t.Helper()
	said := page.NewRuns(size)
	in := evals.Input{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
	r, err := evals.ScoreFiles(context.Background(), []evals.Input{in}, &evals.Options{Seen: said.Add})
	if err != nil {
		t.Fatal(err)
	}
	return r, said
}

// pageOf is the page of runs, and of those of a base unless it is empty.
func pageOf(t tb, runs, base string, size int) *page.Page {
	t.Helper()
	p := &page.Page{Title: "runs.jsonl"}
	var result *evals.Result
	o := &report.Options{}
	result, p.Runs = scored(t, "runs.jsonl", runs, size)
	if base != "" {
		p.Title += " against base.jsonl"
		o.Base, p.Base = scored(t, "base.jsonl", base, size)
	}
	var err error
	if p.Report, err = report.New(result, o); err != nil {
		t.Fatal(err)
	}
	return p
}

// written is the page in HTML.
func written(t tb, p *page.Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The runs of the golden files, and what was before.
const (
	runs = `{"case":"book","epoch":0,"score":1,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Book a table.\nToday."},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"book","arguments":"{\"at\":\"19:00\"}"}}]},{"role":"tool","tool_call_id":"1","content":"done"},{"role":"assistant","content":"Booked."}]}
{"case":"book","epoch":1,"score":0,"messages":[{"role":"user","content":"Book a table."},{"role":"assistant","content":"No."}]}
{"case":"cancel","epoch":0,"score":"broken","messages":[{"role":"user","content":"Cancel it."}]}
`
	base = `{"case":"book","epoch":0,"score":0,"messages":[{"role":"user","content":"Book a table."}]}
{"case":"pay","epoch":0,"score":1,"messages":[{"role":"user","content":"Pay."}]}
not JSON
`
)

var embedded = regexp.MustCompile(`<script type="application/json" id="([^"]+)">([^<]*)</script>\n`)

// decoded returns the JSON of an element: that of a chunk is compressed.
func decoded(t interface {
	Helper()
	Fatal(args ...any)
}, id, text string) []byte {
	t.Helper()
	if !strings.HasPrefix(id, "chunk-") {
		return []byte(text)
	}
	packed, err := base64.URLEncoding.DecodeString(strings.Trim(text, `"`))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// TestData holds the data of pages, a line an element and what it holds, indented.
func TestData(t *testing.T) {
	for name, p := range map[string]*page.Page{
		"one":      pageOf(t, runs, "", maxBytes),
		"two":      pageOf(t, runs, base, maxBytes),
		"no space": pageOf(t, runs, "", 200), // for more than those that did not succeed
		"empty":    pageOf(t, "[]", "", maxBytes),
		"nothing":  pageOf(t, "", "", maxBytes),
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			for _, found := range embedded.FindAllStringSubmatch(written(t, p), -1) {
				fmt.Fprintf(&out, "%s: ", found[1])
				if err := json.Indent(&out, decoded(t, found[1], found[2]), "", "  "); err != nil {
					t.Error(err)
				}
				out.WriteByte('\n')
			}
			goldie.New(t).Assert(t, strings.ReplaceAll(name, " ", "_"), out.Bytes())
		})
	}
}

// The same runs give the same bytes, in any order.
func TestStable(t *testing.T) {
	p := pageOf(t, runs, base, maxBytes)
	first := written(t, p)
	if again := written(t, p); again != first {
		t.Error("the page differs the second time")
	}
	lines := strings.SplitAfter(strings.TrimSuffix(runs, "\n"), "\n")
	turned := lines[2] + "\n" + lines[1] + lines[0]
	place := regexp.MustCompile(`"run":"run-\d","file":"runs.jsonl","line":\d`)
	moved := written(t, pageOf(t, turned, base, maxBytes))
	if diff := cmp.Diff(place.ReplaceAllString(first, ""), place.ReplaceAllString(moved, "")); diff != "" {
		t.Errorf("runs in another order (-want +got):\n%s", diff)
	}
}

func TestNotes(t *testing.T) {
	part := `{"format":"looptape-eval","version":1,"scorers":["recorded"],"runs":1,"unreadable":0}
{"run":{"case":"a","epoch":0,"run":"r","file":"f","line":1,"scores":{}}}
`
	long := fmt.Sprintf(`{"case":"a","epoch":0,"messages":[{"role":"user","content":%q}]}`, strings.Repeat("x", 1<<16+1))
	for name, c := range map[string]struct {
		page *page.Page
		want []string
	}{
		"all runs":         {pageOf(t, runs, "", maxBytes), []string{}},
		"no space":         {pageOf(t, runs, "", 0), []string{"the page omits the transcripts of 3 of 3 runs: raise --transcripts"}},
		"no space in both": {pageOf(t, runs, base, 0), []string{"the page omits the transcripts of 5 of 5 runs: raise --transcripts"}},
		"a part":           {pageOf(t, part, "", maxBytes), []string{"the transcripts of 1 of 1 runs are missing, since score files contain no transcripts: pass the recordings"}},
		"a long text":      {pageOf(t, long, "", maxBytes), []string{"the transcripts of 1 of 1 runs are shortened: see the lines of their recordings"}},
	} {
		if diff := cmp.Diff(c.want, c.page.Notes()); diff != "" {
			t.Errorf("%s: notes (-want +got):\n%s", name, diff)
		}
	}
	p := pageOf(t, runs, base, maxBytes)
	p.Runs, p.Base = nil, nil
	if got := p.Notes(); len(got) != 1 || !strings.HasPrefix(got[0], "the transcripts of 5 of 5 runs are missing") {
		t.Errorf("without the texts of the runs: got %q", got)
	}
}

// The texts of runs cannot leave the data element, and they are read back from it
// unchanged.
func TestForeignText(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		"</script>", "<script>alert(1)</script>", "<!--", "-->", "<![CDATA[", "</style>", "<img src=x onerror=alert(1)>", "&lt;", "\u2028", "\u2029", "\"", "'", "\\", "`", "{{data}}",
		"{{script}}", "javascript:", "\x00", "ä", "]]>", "</SCRIPT ", "\n",
	})
	text := rapid.Map(rapid.SliceOfN(pieces, 1, 6), func(p []string) string { return strings.Join(p, "") })
	rapid.Check(t, func(t *rapid.T) {
		name, said, tool, args, result := text.Draw(t, "case"), text.Draw(t, "said"), text.Draw(t, "tool"), text.Draw(t, "arguments"), text.Draw(t, "result")
		line, err := json.Marshal(map[string]any{"case": name, "epoch": 0, "score": 1, "messages": []any{
			map[string]any{"role": "user", "content": said},
			map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": "1", "type": "function", "function": map[string]any{"name": tool, "arguments": args}}}},
			map[string]any{"role": "tool", "tool_call_id": "1", "content": result},
		}})
		if err != nil {
			t.Fatal(err)
		}
		p := pageOf(t, string(line), "", maxBytes)
		p.Title = name
		html := written(t, p)
		const elements = 3 // data, code and one transcript
		for _, tag := range []string{"<script", "</script"} {
			if n := strings.Count(strings.ToLower(html), tag); n != elements {
				t.Fatalf("%d times %s, want %d", n, tag, elements)
			}
		}
		for _, foreign := range []string{"<!--", "<img", "</style><"} {
			if strings.Contains(html, foreign) {
				t.Fatalf("%q is on the page", foreign)
			}
		}
		type entry struct{ Kind, Text, Name, Result string }
		var got []struct{ Entries []entry }
		found := embedded.FindAllStringSubmatch(html, -1)
		chunk := decoded(t, found[1][1], found[1][2])
		if strings.ContainsAny(found[0][2]+string(chunk), "\u2028\u2029<>&") {
			t.Fatalf("data holds what is not escaped: %s", found)
		}
		if err := json.Unmarshal(chunk, &got); err != nil {
			t.Fatal(err)
		}
		want := []entry{{Kind: "user", Text: said}, {Kind: "call", Text: args, Name: tool, Result: result}}
		if diff := cmp.Diff(want, got[0].Entries); diff != "" {
			t.Fatalf("entries (-want +got):\n%s", diff)
		}
		var data struct{ Cases []struct{ Name string } }
		if err := json.Unmarshal([]byte(found[0][2]), &data); err != nil || data.Cases[0].Name != name {
			t.Fatalf("case %q is %q: %v", name, data.Cases[0].Name, err)
		}
	})
}

// The policy of the page names what it brings, and forbids all else.
func TestPolicy(t *testing.T) {
	html := written(t, pageOf(t, runs, "", maxBytes))
	sum := func(before, after string) string {
		_, rest, _ := strings.Cut(html, before)
		text, _, _ := strings.Cut(rest, after)
		digest := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
	}
	want := `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ` + sum("<script>", "</script>") +
		"; style-src " + sum("<style>", "</style>") + `; img-src data:; base-uri 'none'; form-action 'none'">`
	if !strings.Contains(html, want) {
		t.Errorf("the policy is not\n%s\nin\n%.600s", want, html)
	}
}

// Nothing on the page asks for anything from elsewhere.
func TestNoReferences(t *testing.T) {
	html := written(t, pageOf(t, runs, base, maxBytes))
	if found := regexp.MustCompile(`(?i)https?:|src\s*=|(?:href|srcset|action)\s*=\s*"[^d]|//[^ ]|url\(|@import|\b(?:fetch|import|Worker|open)\(["'h]|XMLHttpRequest|WebSocket|EventSource|sendBeacon|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function`).FindAllString(html, -1); found != nil {
		t.Errorf("the page has %q", found)
	}
}

// failing is a file on a full disk.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriteFails(t *testing.T) {
	p := pageOf(t, runs, base, maxBytes)
	size := len(written(t, p))
	for _, left := range []int{0, size / 2, size - 1} {
		if err := p.Write(&failing{left}); err != io.ErrShortWrite {
			t.Errorf("with %d bytes: %v", left, err)
		}
	}
	if err := p.Write(&failing{size}); err != nil {
		t.Error(err)
	}
}

// TestScriptUsage checks that the page reads members that the JSON of usage has.
func TestScriptUsage(t *testing.T) {
	text, err := os.ReadFile("run.js")
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(llm.Usage{InputTokens: 1, OutputTokens: 2})
	if err != nil {
		t.Fatal(err)
	}
	var usage map[string]int64
	if err := json.Unmarshal(encoded, &usage); err != nil {
		t.Fatal(err)
	}
	read := regexp.MustCompile(`usage\.(\w+)\.`).FindAllSubmatch(text, -1)
	if len(read) != 2 {
		t.Errorf("run.js reads %q of the usage, want two members", read)
	}
	for _, member := range read {
		if usage[string(member[1])] == 0 {
			t.Errorf("run.js reads usage.%s, want a member of %s", member[1], encoded)
		}
	}
}
