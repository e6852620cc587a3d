package importer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/trace/importer"
)

// setProcessors sets GOMAXPROCS for a test, which must not be parallel.
func setProcessors(tb testing.TB, n int) {
	tb.Helper()
	old := runtime.GOMAXPROCS(n)
	tb.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

// exchangesOf returns all that is read of the exchanges of a recording, in order.
func exchangesOf(tb rapid.TB, file []byte) (items []string) {
	tb.Helper()
	src, err := importer.Open("file", bytes.NewReader(file))
	if err != nil {
		return nil
	}
	for e, err := range src.Exchanges() {
		var b bytes.Buffer
		fmt.Fprintln(&b, err, e.Incomplete, e.Unknown, e.Number, e.Line, e.Session, e.Title, string(e.Body), string(e.RequestBody))
		if e.Request != nil {
			b.Write(e.Request.AppendJSON(nil))
		}
		if e.Response != nil {
			m := e.Response.Message()
			fmt.Fprintf(&b, "%s %s %+v", m.AppendJSON(nil), e.Response.FinishReason, e.Response.Usage)
		}
		items = append(items, b.String())
	}
	return items
}

// everything returns all that is read of a recording, in order.
func everything(tb rapid.TB, r io.Reader) (items []string) {
	tb.Helper()
	src, err := importer.Open("file", r)
	if err != nil {
		return []string{err.Error()}
	}
	for run, err := range src.Runs() {
		var unknown []string
		for _, u := range run.Unknown {
			unknown = append(unknown, u.Error())
		}
		var b bytes.Buffer
		fmt.Fprintln(&b, err, unknown, run.Partial, run.Gap, run.Line, run.Name, run.Protocol, run.Case, run.Epoch, run.Cluster, run.Answer, len(run.Events))
		for _, s := range run.Scores {
			fmt.Fprintln(&b, s.Name, s.Value, string(s.Raw), s.Err)
		}
		for _, m := range run.Messages {
			b.Write(m.AppendJSON(nil))
		}
		if err := json.NewEncoder(&b).Encode([]any{run.Meta, run.Head, run.Expected}); err != nil {
			fmt.Fprintln(&b, err)
		}
		items = append(items, b.String())
	}
	return items
}

// compareProcessors reads a recording on one processor and on several.
func compareProcessors(tb rapid.TB, name string, file []byte) {
	tb.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want, exchanges := everything(tb, bytes.NewReader(file)), exchangesOf(tb, file)
	for _, n := range []int{2, 4} {
		runtime.GOMAXPROCS(n)
		if got := exchangesOf(tb, file); !slices.Equal(exchanges, got) {
			tb.Fatalf("%s: the exchanges differ (-want +got):\n%.3000s", name, cmp.Diff(exchanges, got))
		}
		for way, r := range map[string]io.Reader{"a file": bytes.NewReader(file), "a stream": iotest.HalfReader(bytes.NewReader(file))} {
			got := everything(tb, r)
			if n := len(want); !slices.Equal(want, got) {
				i := 0
				for i < min(n, len(got)) && want[i] == got[i] {
					i++
				}
				tb.Fatalf("%s, %s: %d items, want %d; the item %d differs (-want +got):\n%.3000s", name, way, len(got), n, i, cmp.Diff(slices.Concat(want, []string{"none"})[i], slices.Concat(got, []string{"none"})[i]))
			}
		}
	}
}

// Recordings of all formats give the same runs and errors in the same order on any number of
// processors, and so do their beginnings and files with broken values.
func TestProcessors(t *testing.T) {
	defer importer.SetBatchSize(1)()
	for _, format := range slices.Sorted(maps.Keys(templates)) {
		t.Run(format, func(t *testing.T) {
			small := templates[format]
			small.steps = min(4, small.steps)
			file := small.generate(100_000)
			compareProcessors(t, "whole", file)
			compareProcessors(t, "without its end", file[:len(file)*2/3])
			compareProcessors(t, "broken", slices.Concat(file[:len(file)/3], []byte("}"), file[len(file)/3:len(file)/2], []byte(`"`), file[len(file)/2:]))
			compareProcessors(t, "twice", slices.Concat(file, []byte("\n \n"), file, []byte("\n\n")))
		})
	}
}

// The files of the data sets, and each without its end, give the same on any number of processors.
func TestProcessorsInSharedFiles(t *testing.T) {
	defer importer.SetBatchSize(1)()
	sets, err := os.ReadDir(filepath.Join(sharedDir(t), "data"))
	if err != nil {
		t.Skip("the data sets are not there: ", err)
	}
	for _, set := range sets {
		if !set.IsDir() {
			continue
		}
		t.Run(set.Name(), func(t *testing.T) {
			sharedFiles(t, set.Name(), func(name string, b []byte) {
				compareProcessors(t, name, b)
				compareProcessors(t, name+" without its end", b[:len(b)*3/4])
			})
		})
	}
	compareProcessors(t, "tau-airline", tauAirline(t))
}

// A log of Inspect in a ZIP gives the same on any number of processors.
func TestProcessorsInArchive(t *testing.T) {
	defer importer.SetBatchSize(1)()
	entries := []entry{{name: "header.json", text: `{"eval":{},"version":2}`}}
	for n := range 30 {
		text := fmt.Sprintf(`{"id":%d,"epoch":1,"messages":[%s,%s]}`, n, hi, yo)
		entries = append(entries, entry{name: fmt.Sprintf("samples/%d_epoch_1.json", n), text: text[:len(text)-n%7/6]})
	}
	compareProcessors(t, "samples", zipOf(t, entries...))
	compareProcessors(t, "a chunked sample", zipOf(t, chunkedSample()...))
}

// Lines of any kind give the same on any number of processors.
func TestProcessorsOnLines(t *testing.T) {
	defer importer.SetBatchSize(1)()
	lines := rapid.SampledFrom([]string{
		"", " ", "[" + hi + "]", "[" + hi, `{"messages":[` + yo + "]}", `{"messages":[` + hi, `{"messages":[` + hi + "]} 7", "]", "7", `{"messages":7}`, "\ufeff", "\x00",
		`{"task_id":1,"traj":[` + hi + "]}", "[[" + hi + "],[" + yo + "]]", "[[" + hi + "],", `{"prompt":"a","answer":NaN}`,
	})
	rapid.Check(t, func(t *rapid.T) {
		file := strings.Join(rapid.SliceOfN(lines, 1, 12).Draw(t, "lines"), "\n")
		for _, first := range []string{"[" + hi + "]\n", `{"messages":[` + hi + "]}\n", "[[" + hi + "]]\n[[" + hi + "]]\n", "[[" + hi + "],\n", `{"prompt":"a"}` + "\n"} {
			compareProcessors(t, fmt.Sprintf("%q", first+file), []byte(first+file))
		}
	})
}

// A long document with all records or spans gives the same on any number of processors.
func TestProcessorsInDocuments(t *testing.T) {
	for name, form := range map[string]struct{ format, beginning, end string }{
		"loglines":      {"claude-code", `{"loglines":[`, `]}`},
		"state":         {"langchain", `{"messages":[`, `]}`},
		"events":        {"managed-agents", `[`, `]`},
		"uploads":       {"langsmith", `{"post":[`, `],"patch":[]}`},
		"openinference": {"openinference", `[`, `]`},
	} {
		lines := bytes.TrimSpace(templates[form.format].short().generate(1 << 20))
		list := bytes.ReplaceAll(lines, []byte("\n"), []byte(",\n"))
		if name == "events" {
			list = bytes.ReplaceAll(list, []byte(`["client.beta.sessions.events.stream",`), nil)
			list = bytes.ReplaceAll(list, []byte("}],\n"), []byte("},\n"))
			list = list[:len(list)-1]
		}
		file := slices.Concat([]byte(form.beginning), list, []byte(form.end))
		if runs := importAll(t, form.format, file); runs == 0 {
			t.Errorf("%s: no runs", name)
		}
		compareProcessors(t, name, file)
	}
	spans := templates["otel"]
	spans.file, spans.run = `{"resourceSpans":[{"scopeSpans":[RUNS]}]}`, `{"spans":[SPANS]}`
	file := spans.generate(1 << 20)
	if runs := importAll(t, "otel", file); runs < 2 {
		t.Errorf("otel: %d runs", runs)
	}
	compareProcessors(t, "otel", file)
}

// When the consumer stops, no goroutine is left, and the file is not read any more.
func TestProcessorsStop(t *testing.T) {
	defer importer.SetBatchSize(1)()
	setProcessors(t, 4)
	files := map[string][]byte{"langchain": bytes.Repeat([]byte(`{"messages":[{"type":"human","content":"`+strings.Repeat("a", 5000)+`","additional_kwargs":{}}]}`+"\n"), 60)}
	for _, format := range []string{"messages", "inspect", "rows", "tau-bench", "otel", "har"} {
		files[format] = templates[format].generate(300_000)
	}
	for format, file := range files {
		t.Run(format, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			src, err := importer.Open("file", bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			runs := 0
			for _, err := range src.Runs() {
				if runs++; err != nil {
					t.Fatal(err)
				}
				if runs == 2 {
					break
				}
			}
			if runs != 2 {
				t.Errorf("%d runs, want 2", runs)
			}
		})
	}
}

// counted counts what is read of a file.
type counted struct {
	*bytes.Reader
	n int
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// While a run is used, the file is read for a few MiB more, but not to its end.
func TestProcessorsAhead(t *testing.T) {
	setProcessors(t, 4)
	const length = 2 << 20
	long := `[{"role":"user","content":"` + strings.Repeat("a", length) + `"}]`
	for name, file := range map[string]string{
		"elements": "[" + strings.Repeat(long+",", 30) + long + "]",
		"lines":    strings.Repeat(long+"\n", 30),
	} {
		r := &counted{Reader: bytes.NewReader([]byte(file))}
		src, err := importer.Open("file", r)
		if err != nil {
			t.Fatal(err)
		}
		given := 0
		for _, err := range src.Runs() {
			if given += length; err != nil {
				t.Fatal(err)
			}
			if ahead := r.n - given; ahead > 12<<20 {
				t.Fatalf("%s: %d MiB are read ahead", name, ahead>>20)
			}
		}
	}
}

// A run of a stream is given before the next one is there.
func TestProcessorsWait(t *testing.T) {
	setProcessors(t, 4)
	for name, pieces := range map[string][]string{
		"lines":    {"[" + hi + "]\n[" + hi + "]\n", "[" + hi + "]\n", "[" + hi + "]\n"},
		"elements": {"[[" + hi + "],[" + hi + "],", "[" + hi + "],", "[" + hi + "]]"},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := io.Pipe()
			next := make(chan struct{}, 4)
			go func() {
				// Open reads ahead of the first runs.
				_, err := io.WriteString(w, pieces[0]+strings.Repeat(" ", 1<<20))
				for _, piece := range pieces[1:] {
					<-next
					_, werr := io.WriteString(w, piece)
					err = errors.Join(err, werr)
				}
				w.CloseWithError(err)
			}()
			src, err := importer.Open("file", r)
			if err != nil {
				t.Fatal(err)
			}
			runs := 0
			for _, err := range src.Runs() {
				if runs++; err != nil {
					t.Fatal(err)
				}
				if runs >= 2 && runs < 4 {
					next <- struct{}{}
				}
			}
			if runs != 4 {
				t.Errorf("%d runs, want 4", runs)
			}
		})
	}
}

// BenchmarkImportLarge reads a file of 32 MiB on one processor and on several. It sets their number
// itself: with -cpu, a benchmark with B.Loop runs the first time on the default number.
func BenchmarkImportLarge(b *testing.B) {
	for _, format := range []string{"claude-code", "codex", "har", "inspect", "langsmith", "messages", "openinference", "otel", "rows", "tau2-bench", "trace", "vcrpy"} {
		file := traceFile(b, 32<<20, 1)
		if format != "trace" {
			file = templates[format].generate(32 << 20)
		}
		for _, n := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("%s/processors=%d", format, n), func(b *testing.B) {
				setProcessors(b, n)
				benchmarkImport(b, format, file)
			})
		}
	}
}
