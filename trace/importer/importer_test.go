package importer_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/importer"
)

// read opens r and returns all items of it, one per line: the name, line and messages of a run,
// or an error, or both.
func read(t testing.TB, r io.Reader) (format string, items []string) {
	t.Helper()
	return readWith(func(r io.Reader) (*importer.Source, error) { return importer.Open("file", r) }, r)
}

func readWith(open func(io.Reader) (*importer.Source, error), r io.Reader) (format string, items []string) {
	src, err := open(r)
	if err != nil {
		text := err.Error()
		if before, _, ok := strings.Cut(text, importer.ErrFormat.Error()+": "); ok { // without the details
			text = before + importer.ErrFormat.Error()
		}
		return "", []string{"! " + text}
	}
	for run, err := range src.Runs() {
		items = append(items, describe(run, err))
	}
	return src.Format.Name, items
}

func describe(run importer.Run, err error) string {
	var b strings.Builder
	if run.Name != "" {
		fmt.Fprintf(&b, "%s@%d", run.Name, run.Line)
		for _, m := range run.Messages {
			fmt.Fprintf(&b, " %s:%s", m.Role, m.Text())
		}
		if run.Partial {
			b.WriteString(" …")
		}
	}
	if err != nil {
		fmt.Fprintf(&b, "! %v", err)
	}
	return b.String()
}

const (
	hi = `{"role":"user","content":"hi"}`
	yo = `{"role":"assistant","content":"yo"}`
)

func TestFormats(t *testing.T) {
	for name, c := range map[string]struct {
		in     string
		format string
		want   []string
	}{
		"one list":                 {"[" + hi + "," + yo + "]", "messages", []string{"run-1@1 user:hi assistant:yo"}},
		"one list over lines":      {"\n[\n" + hi + " ,\n" + yo + "\n]\n", "messages", []string{"run-1@2 user:hi assistant:yo"}},
		"an empty list":            {"[]", "messages", []string{"run-1@1"}},
		"a list a line":            {"[" + hi + "]\n\n[" + yo + "]", "messages", []string{"run-1@1 user:hi", "run-2@3 assistant:yo"}},
		"a list of lists":          {"[[" + hi + "],\n[" + yo + "]]", "messages", []string{"run-1@1 user:hi", "run-2@2 assistant:yo"}},
		"one object":               {`{"messages":[` + hi + `]}`, "messages", []string{"run-1@1 user:hi"}},
		"one object over lines":    {"{\n\"messages\":\n[" + hi + "]\n}", "messages", []string{"run-1@1 user:hi"}},
		"an object a line":         {`{"id":"a","messages":[` + hi + "]}\r\n" + `{"messages":[` + yo + "],\"id\":7}\r\n", "messages", []string{"a@1 user:hi", "7@2 assistant:yo"}},
		"objects over lines":       {"{\n\"messages\":[" + hi + "]}\n{\n\"messages\":[" + yo + "]}", "messages", []string{"run-1@1 user:hi", "run-2@3 assistant:yo"}},
		"a list of objects":        {"[{\"messages\":[" + hi + "]},\n{\"messages\":[" + yo + "]}]", "messages", []string{"run-1@1 user:hi", "run-2@2 assistant:yo"}},
		"an id that is not a name": {`{"id":{},"messages":[` + hi + `]}`, "messages", []string{"run-1@1 user:hi"}},
		"messages a line":          {"\n" + hi + "\n\n" + yo + "\n", "message-lines", []string{"run-1@1 user:hi assistant:yo"}},
		"one message":              {hi, "message-lines", []string{"run-1@1 user:hi"}},
		"tau-bench":                {`[{"task_id":3,"trial":1,"traj":[` + hi + `]},` + "\n" + `{"task_id":"x","info":{},"traj":[]}]`, "tau-bench", []string{"task-3/trial-1@1 user:hi", "task-x@2"}},
		"tau-bench a line":         {`{"traj":[` + hi + `],"task_id":3,"trial":0}` + "\n" + `{"task_id":3,"trial":1,"traj":[` + yo + `]}`, "tau-bench", []string{"task-3/trial-0@1 user:hi", "task-3/trial-1@2 assistant:yo"}},
		"a byte order mark":        {"\xef\xbb\xbf[" + hi + "]", "messages", []string{"run-1@1 user:hi"}},
		"brackets within texts":    {`[{"role":"user","content":"]}\\\"["},` + yo + "]", "messages", []string{`run-1@1 user:]}\"[ assistant:yo`}},
		"members before a role":    {`[{"content":[],"x":[{}],"role":"user"}]`, "messages", []string{"run-1@1 user:"}},
		"invalid numbers":          {hi + "\n" + `{"role":"assistant","content":"yo","logprob":NaN}`, "message-lines", []string{"run-1@1 user:hi assistant:yo"}},
		"UTF-16":                   {"\xff\xfe[\x00]\x00", "", []string{"! file: the file is in UTF-16: convert it to UTF-8"}},
		"UTF-16, the other way":    {"\xfe\xff\x00[\x00]", "", []string{"! file: the file is in UTF-16: convert it to UTF-8"}},
		"a mark of UTF-16 alone":   {"\xff\xfe[", "", []string{"! file: " + importer.ErrFormat.Error()}},
		"a mark, and no UTF-16":    {"\xff\xfe[]", "", []string{"! file: " + importer.ErrFormat.Error()}},
		"nothing":                  {"", "", []string{"! file: " + importer.ErrEmpty.Error()}},
		"space":                    {" \n", "", []string{"! file: " + importer.ErrEmpty.Error()}},
		"words":                    {"hello", "", []string{"! file: " + importer.ErrFormat.Error()}},
		"a number":                 {"7", "", []string{"! file: " + importer.ErrFormat.Error()}},
		"numbers":                  {"[1,2]", "", []string{"! file: " + importer.ErrFormat.Error()}},
		"another object":           {`{"model":"m","format":"other"}`, "", []string{"! file: " + importer.ErrFormat.Error()}},
		"an array that never is":   {"[", "", []string{"! file: " + importer.ErrFormat.Error()}},
	} {
		t.Run(name, func(t *testing.T) {
			format, got := read(t, strings.NewReader(c.in))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
			if format != c.format {
				t.Errorf("format %q, want %q", format, c.format)
			}
			if _, got := read(t, iotest.OneByteReader(zipped(t, c.in))); cmp.Diff(c.want, got) != "" {
				t.Errorf("gzipped, byte by byte (-want +got):\n%s", cmp.Diff(c.want, got))
			}
		})
	}
}

func zipped(t testing.TB, s string) io.Reader {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	if _, err := io.WriteString(zw, s); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestBroken(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"a line in the middle": {
			"[" + hi + "]\n[" + hi + ",{\"role\":}]\n[" + yo + "]\n",
			[]string{"run-1@1 user:hi", "run-2@2 user:hi …! file:2: [1].role: expected a string", "run-3@3 assistant:yo"},
		},
		"the last line": {
			"[" + hi + "]\n[" + hi + ",[\n \n",
			[]string{"run-1@1 user:hi", "run-2@2 user:hi …! file:2: [1]: the file ends within a value"},
		},
		"the first line": {
			"{\"messages\":[" + hi + "\n{\"messages\":[" + yo + "]}\n",
			[]string{"run-1@1 user:hi …! file:1: the line ends within a value", "run-2@2 assistant:yo"},
		},
		"two values on a line": {
			"[" + hi + "]\n[" + hi + "] x\n[" + yo + "]\n",
			[]string{"run-1@1 user:hi", "run-2@2 user:hi", "! file:2: something follows the JSON value", "run-3@3 assistant:yo"},
		},
		"a message without a role": {
			"[" + hi + ",\n{\"content\":\"x\"},\n" + yo + "]",
			[]string{"run-1@1 user:hi …! file:2: [1]: the message has no role"},
		},
		"an invalid message": {
			"[" + hi + ",\n 7]",
			[]string{"run-1@1 user:hi …! file:2: [1]: expected an object"},
		},
		"an invalid content": {
			"[" + hi + ",\n{\"role\":\"user\",\n\"content\":7}]",
			[]string{"run-1@1 user:hi …! file:3: [1].content: the content is neither a string nor a list of parts"},
		},
		"an end too early": {
			"[" + hi + "," + yo,
			[]string{"run-1@1 user:hi assistant:yo …! file:1: [2]: the file ends within a value"},
		},
		"an end within a text": {
			"[" + hi + ",\n{\"role\":\"us\\",
			[]string{"run-1@1 user:hi …! file:2: [1]: the file ends within a value"},
		},
		"no comma": {
			"[" + hi + "\n" + yo + "]",
			[]string{"run-1@1 user:hi …! file:2: [1]: expected a comma or the end of the array; the rest of the file is not read"},
		},
		"two commas": {
			"[" + hi + ",," + yo + "]",
			[]string{"run-1@1 user:hi …! file:1: [1]: expected a value; the rest of the file is not read"},
		},
		"a comma before the end": {
			"[" + hi + ",]",
			[]string{"run-1@1 user:hi …! file:1: [1]: expected a value; the rest of the file is not read"},
		},
		"one result of tau-bench": {
			"[{\"task_id\":1,\"traj\":[" + hi + "]},\n{\"task_id\":2,\n\"traj\":[" + hi + ",\n{\"role\":7}]},\n{\"task_id\":3},\n7,\n{\"task_id\":4,\"traj\":[]}]",
			[]string{
				"task-1@1 user:hi",
				"task-2@2 user:hi …! file:4: [1].traj[1].role: expected a string",
				"! file:5: [2]: the object has no messages, and is neither a request to a model nor a response",
				"! file:6: [3]: expected a list of messages or an object with one",
				"task-4@7",
			},
		},
		"a list of tau-bench that ends too early": {
			"[{\"task_id\":1,\"traj\":[" + hi + "]},\n{\"task_id\":2,",
			[]string{"task-1@1 user:hi", "! file:2: [1]: the file ends within a value"},
		},
		"a message a line": {
			hi + "\n{\"role\":\n" + yo + "\n",
			[]string{"run-1@1 user:hi …! file:2: role: expected a string"},
		},
		"an object over lines": {
			"{\n\"messages\":[" + hi + ",",
			[]string{"run-1@1 user:hi …! file:1: the file ends within a value"},
		},
		"an object that is truncated in a number": {
			`{"messages":[` + hi + `],"x":7`,
			[]string{"run-1@1 user:hi …! file:1: the file ends within a value"},
		},
		"the first row": {
			`{"prompt":"p","answer":}` + "\n" + `{"prompt":"p","answer":"a"}` + "\n",
			[]string{"! file:1: answer: expected a value", "run-2@2 user:p assistant:a"},
		},
		"rows with an invalid number": {
			`{"score":NaN,"prompt":"p","answer":}` + "\n" + `{"score":NaN,"prompt":"p","answer":"a"}` + "\n",
			[]string{"! file:1: answer: expected a value", "run-2@2 user:p assistant:a"},
		},
		"a message whose first is broken": {
			`[{"role":"user","content":5}]`,
			[]string{"! file:1: [0].content: the content is neither a string nor a list of parts"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := read(t, strings.NewReader(c.in))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

// Runs before a read error are returned, and the caller can identify the reader's own
// error.
func TestReaderFails(t *testing.T) {
	fault := errors.New("the disk is on fire")
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"immediately":    {"", []string{"! file: the disk is on fire"}},
		"in a list":      {"[" + hi + ",", []string{"run-1@1 user:hi …! file:1: [1]: reading stopped: the disk is on fire"}},
		"between lines":  {"[" + hi + "]\n[" + yo + "]\n", []string{"run-1@1 user:hi", "run-2@2 assistant:yo", "! file:3: reading stopped: the disk is on fire"}},
		"after messages": {hi + "\n" + yo + "\n", []string{"run-1@1 user:hi assistant:yo …! file:3: reading stopped: the disk is on fire"}},
		"in a message":   {hi + "\n{", []string{"run-1@1 user:hi …! file:2: reading stopped: the disk is on fire"}},
		"in a word":      {"[" + hi + ",tru", []string{"run-1@1 user:hi …! file:1: [1]: reading stopped: the disk is on fire"}},
		"after a list":   {"[\n" + hi + "]\n", []string{"run-1@1 user:hi", "! file:3: reading stopped: the disk is on fire"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := io.MultiReader(strings.NewReader(c.in), iotest.ErrReader(fault))
			_, got := read(t, r)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := importer.Open("file", iotest.ErrReader(fault)); !errors.Is(err, fault) {
		t.Errorf("Open: got %v, want one that is %v", err, fault)
	}
	_, err := importer.Open("file", strings.NewReader("hello"))
	if e, ok := errors.AsType[*importer.Error](err); !ok || e.File != "file" || !errors.Is(err, importer.ErrFormat) {
		t.Errorf("Open: got %#v, want an *Error that is ErrFormat", err)
	}
}

func TestTruncatedGzip(t *testing.T) {
	whole, err := io.ReadAll(zipped(t, "["+hi+"]\n["+yo+"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, got := read(t, bytes.NewReader(whole[:len(whole)-4]))
	want := []string{"run-1@1 user:hi", "run-2@2 assistant:yo", "! file:3: reading stopped: unexpected EOF"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	_, got = read(t, bytes.NewReader(whole[:5]))
	if diff := cmp.Diff([]string{"! file: unexpected EOF"}, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// A consumer that has seen enough is not called again.
func TestLeave(t *testing.T) {
	for name, in := range map[string]string{
		"lines":    strings.Repeat("["+hi+"]\n", 3),
		"array":    "[[" + hi + "],[" + hi + "]]",
		"broken":   "[{\"messages\":[7]},{\"messages\":[7]}]",
		"list":     "[\n" + hi + "]\n[\n" + hi + "]",
		"messages": hi + "\n{",
	} {
		t.Run(name, func(t *testing.T) {
			src, err := importer.Open(name, strings.NewReader(in))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for run, err := range src.Runs() {
				t.Log(describe(run, err))
				n++
				break
			}
			if n != 1 {
				t.Errorf("got %d items, want 1", n)
			}
		})
	}
}

// A file that is far larger than what Open examines, in one line and in many,
// with values that are far larger than one read.
func TestLarge(t *testing.T) {
	text := strings.Repeat("0123456789\\\"", 40_000)
	result := `{"task_id":1,"traj":[{"role":"user","content":"` + text + `"}]}`
	want := strings.ReplaceAll(text, `\"`, `"`)
	for name, in := range map[string]string{
		"an array": "[" + strings.Repeat(result+",", 4) + result + "]",
		"lines":    strings.Repeat(result+"\n", 5),
	} {
		t.Run(name, func(t *testing.T) {
			src, err := importer.Open(name, iotest.HalfReader(strings.NewReader(in)))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for run, err := range src.Runs() {
				if err != nil {
					t.Fatal(err)
				}
				n++
				if got := run.Messages[0].Text(); got != want {
					t.Errorf("%s: the text has %d bytes, want %d", run.Name, len(got), len(want))
				}
			}
			if n != 5 {
				t.Errorf("got %d runs, want 5", n)
			}
		})
	}
}

func TestMeta(t *testing.T) {
	src, err := importer.Open("file", strings.NewReader(`{"task_id":1,"reward": 0.50 ,"traj":[],"info":{ "a":[1, 2]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for k, v := range run.Meta {
			got[k] = string(v)
		}
		want := map[string]string{"task_id": "1", "reward": "0.50", "info": `{ "a":[1, 2]}`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("meta (-want +got):\n%s", diff)
		}
	}
}

// A NUL byte does not end a file: what it invalidates is reported.
func TestNUL(t *testing.T) {
	for _, src := range []string{
		"{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}\n\x00{\"messages\":[]}\n",
		"[{\"role\":\"user\",\"content\":\"x\"}]\n\x00 GARBAGE",
		"[{\"role\":\"user\",\"content\":\"x\"}\x00]",
	} {
		s, err := importer.Open("f", strings.NewReader(src))
		broken := err != nil
		if err == nil {
			for _, err := range s.Runs() {
				broken = broken || err != nil
			}
		}
		if !broken {
			t.Errorf("%q: the unreadable record is not reported", src)
		}
	}
}
