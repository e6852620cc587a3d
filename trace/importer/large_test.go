package importer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/trace/importer"
)

// A file longer than one read is read completely, and its
// values stay unchanged, whatever the sizes of reads.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\"é\"\n", 20_000)
	var want [][]string
	for n := range 20 {
		texts := []string{}
		for m := range n % 5 {
			texts = append(texts, fmt.Sprintf("%d \"%d\" %s", n, m, long[:(n*m*4300)%len(long)/5*5]))
		}
		want = append(want, texts)
	}
	var lists []string
	for _, texts := range want {
		lists = append(lists, listOf(t, texts))
	}
	for name, file := range map[string]string{
		"a list a line":     strings.Join(lists, "\n"),
		"a list of lists":   "[" + strings.Join(lists, ",\n") + "]",
		"objects":           `[{"traj":` + strings.Join(lists, `},{"traj":`) + `}]`,
		"an object a line":  `{"messages":` + strings.Join(lists, "}\n{\"messages\":") + `}`,
		"objects, over all": "[\n{\"messages\":\n" + strings.Join(lists, "\n}\n,\n{\"messages\":\n") + `}]`,
	} {
		for way, r := range map[string]io.Reader{
			"in one read":  strings.NewReader(file),
			"with its end": iotest.DataErrReader(strings.NewReader(file)),
			"by halves":    iotest.HalfReader(strings.NewReader(file)),
			"gzipped":      zipped(t, file),
		} {
			src, err := importer.Open("file", r)
			if err != nil {
				t.Fatal(err)
			}
			var runs []importer.Run
			for run, err := range src.Runs() {
				if err != nil {
					t.Errorf("%s, %s: %v", name, way, err)
				}
				runs = append(runs, run)
			}
			got := make([][]string, 0, len(runs))
			for _, run := range runs {
				texts := []string{}
				for _, m := range run.Messages {
					texts = append(texts, m.Text())
				}
				got = append(got, texts)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s: texts (-want +got):\n%.2000s", name, way, diff)
			}
		}
	}
}

func listOf(t testing.TB, texts []string) string {
	t.Helper()
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	list := []message{}
	for _, text := range texts {
		list = append(list, message{"user", text})
	}
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A file that is broken anywhere gives the same runs and the same errors in any
// chunks.
func TestBrokenInChunks(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		"[", "]", "{", "}", ",", "\n", " ", ":", "7", "tru", `"`, `\`, `\u00`,
		hi, yo, "[" + hi + "," + yo + "]", `{"messages":[` + hi + "]}", `{"traj":[` + yo + `],"task_id":3}`,
		`{"role":"function","name":"f","content":"x"}`, `{"role":"assistant","function_call":{"name":"f","arguments":"\n{"}}`,
	})
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.SampledFrom([]string{"", "[", "[[", "[" + hi + ",", `{"messages":[`, `[{"messages":[`}).Draw(t, "start")
		file := start + strings.Join(rapid.SliceOf(pieces).Draw(t, "pieces"), "")
		outcome := func(r io.Reader) (items []string) {
			src, err := importer.Open("file", r)
			if err != nil {
				return []string{err.Error()}
			}
			for run, err := range src.Runs() {
				items = append(items, describe(run, err))
			}
			return items
		}
		want := outcome(bytes.NewReader([]byte(file)))
		if diff := cmp.Diff(want, outcome(iotest.OneByteReader(strings.NewReader(file)))); diff != "" {
			t.Fatalf("%q (-one read +byte by byte):\n%s", file, diff)
		}
		broken := outcome(io.MultiReader(strings.NewReader(file), iotest.ErrReader(errors.New("gone"))))
		if len(broken) == 0 {
			t.Fatalf("%q: a reader's error is not reported", file)
		}
	})
}
