package evalbeam_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/contrib/beam"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/scorers"
)

// scored runs the pipeline and returns the file that it writes.
func scored(t *testing.T, suite evalbeam.Suite, files []string) (string, error) {
	t.Helper()
	return output(t, evalbeam.Score, suite, files)
}

// output runs a pipeline of Score or Summarize and returns the file that it writes.
func output(t *testing.T, of func(beam.Scope, evalbeam.Suite, beam.PCollection) beam.PCollection, suite evalbeam.Suite, files []string) (string, error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.jsonl")
	p, s := beam.NewPipelineWithRoot()
	evalbeam.Write(s, out, of(s, suite, beam.CreateList(s, files)))
	if _, err := prism.Execute(t.Context(), p); err != nil {
		if _, gone := os.Stat(out); !errors.Is(gone, fs.ErrNotExist) {
			t.Errorf("%s was written by a pipeline that failed", out)
		}
		return "", err
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), nil
}

// expected is the result of scoring all files together. It checks that merging the score files
// of each file gives the same.
func expected(t *testing.T, o *evals.Options, files []string) string {
	t.Helper()
	var inputs []evals.Input
	var parts []*evals.Result
	for _, name := range files {
		in := evals.Input{Name: name, Open: func() (io.ReadCloser, error) { return os.Open(name) }}
		inputs = append(inputs, in)
		text := written(t)(evals.ScoreFiles(t.Context(), []evals.Input{in}, o))
		part, err := evals.ReadResult(name, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	whole := written(t)(evals.ScoreFiles(t.Context(), inputs, o))
	if diff := cmp.Diff(whole, written(t)(evals.Merge(parts...))); diff != "" {
		t.Fatalf("merged score files (-whole +merged):\n%s", diff)
	}
	return whole
}

// written returns what makes a file of a result that came without an error.
func written(t *testing.T) func(*evals.Result, error) string {
	t.Helper()
	return func(r *evals.Result, err error) string {
		t.Helper()
		var text bytes.Buffer
		if err == nil {
			err = r.Write(&text)
		}
		if err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
}

// folder writes files and returns their names.
func folder(t *testing.T, texts map[string]string) (files []string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	slices.Sort(files)
	return files
}

// answers is a file with four runs of each of two cases, half of them right.
func answers(i int) string {
	var text strings.Builder
	for n := range 8 {
		fmt.Fprintf(&text, `{"case":"case %d/%d","epoch":%d,"reward":%d,"messages":[{"role":"user","content":"How many?"},{"role":"assistant","content":"It is %d."}]}`+"\n",
			i, n/4, n%4, n%2, i+n%2)
	}
	return text.String()
}

// recordings are files of all kinds: whole ones, one that is compressed, one without
// epochs, one that is truncated, one that is not a recording, a score file, and a missing
// one.
func recordings(t *testing.T) []string {
	t.Helper()
	texts := map[string]string{
		"none.txt":     "no recording\n",
		"epochs.jsonl": `{"case":"x","reward":1,"messages":[{"role":"user","content":"a"}]}` + "\n" + `{"case":"x","reward":0,"messages":[{"role":"user","content":"b"}]}` + "\n",
		"cut.jsonl":    answers(50)[:1000],
	}
	for i := range 12 {
		texts[fmt.Sprintf("runs-%d.jsonl", i)] = answers(i)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := io.WriteString(zip, answers(51)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	texts["packed.jsonl.gz"] = packed.String()
	files := folder(t, texts)
	return append(files, filepath.Join(filepath.Dir(files[0]), "missing.jsonl"))
}

// The result of the pipeline equals that of all files together, in any order.
func TestScore(t *testing.T) {
	files := recordings(t)
	want := expected(t, nil, files)
	if n := strings.Count(want, `{"unreadable":`); n != 3 {
		t.Fatalf("%d parts are unreadable, want 3:\n%s", n, want)
	}
	shuffle := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		got, err := scored(t, evalbeam.Suite{}, files)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("of the files %q (-want +got):\n%s", files, diff)
		}
		shuffle.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	}
}

// Parts are taken as they are, of files and of the pipeline.
func TestScoreFiles(t *testing.T) {
	files := recordings(t)
	want := expected(t, nil, files)
	part, err := scored(t, evalbeam.Suite{}, files[5:])
	if err != nil {
		t.Fatal(err)
	}
	got, err := scored(t, evalbeam.Suite{}, append(folder(t, map[string]string{"part.jsonl": part}), files[:5]...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Scorers of a suite score, and what they cannot score is an error of the row.
func TestScoreSuite(t *testing.T) {
	files := folder(t, map[string]string{
		"a.jsonl": answers(1), "b.jsonl": answers(2),
		"c.jsonl": `{"case":"c","epoch":0,"messages":[{"role":"user","content":"How many?"}]}`,
	})
	suite := evalbeam.Suite{Name: "eval.yaml", Text: []byte("suite: 1\nruns: ['*.jsonl']\nscorers: [{kind: numeric, settings: {want: ['2']}}, recorded]\n")}
	s, err := evals.ParseSuite(suite.Name, suite.Text, scorers.Parse)
	if err != nil {
		t.Fatal(err)
	}
	want := expected(t, &s.Options, files)
	if !strings.Contains(want, `"errors":{"numeric":"the recording has no model response`) || !strings.Contains(want, `"numeric":1,"reward":0`) {
		t.Fatalf("want a score and an error of numeric:\n%s", want)
	}
	got, err := scored(t, suite, files)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A result of no files is one, too.
func TestScoreNothing(t *testing.T) {
	got, err := scored(t, evalbeam.Suite{}, []string{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expected(t, nil, nil), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An error of scoring all files together fails the pipeline with the same message.
func TestScoreFails(t *testing.T) {
	files := folder(t, map[string]string{"a.jsonl": answers(1), "b.jsonl": answers(1), "c.jsonl": strings.Repeat(answers(1), 2)})
	for name, c := range map[string]struct {
		suite evalbeam.Suite
		files []string
		want  string
	}{
		"in two files":    {evalbeam.Suite{}, files[:2], `two runs of case "case 1/0", epoch 0: ` + files[0] + ":1 (run-1) and " + files[1] + ":1 (run-1): pass each run once"},
		"in one file":     {evalbeam.Suite{}, files[2:], `two runs of case "case 1/0", epoch 0: ` + files[2]},
		"no suite":        {evalbeam.Suite{Name: "eval.yaml", Text: []byte("suit: 1\n")}, files[:1], "eval.yaml:1:1: missing suite: 2"},
		"no such scheme":  {evalbeam.Suite{}, []string{"nowhere://a"}, `file system scheme "nowhere" not registered`},
		"one of two runs": {evalbeam.Suite{}, append([]string{"nowhere://a"}, files[:1]...), `"nowhere"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := scored(t, c.suite, c.files); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, error %v; want an error with %q", got, err, c.want)
			}
		})
	}
}

// A result that cannot be written fails the pipeline.
func TestWriteFails(t *testing.T) {
	file := folder(t, map[string]string{"a.jsonl": answers(1)})[0]
	for out, want := range map[string]string{
		filepath.Join(file, "out.jsonl"): "not a directory",
		"nowhere://out.jsonl":            `file system scheme "nowhere" not registered`,
		filepath.Dir(file):               "is a directory",
	} {
		p, s := beam.NewPipelineWithRoot()
		evalbeam.Write(s, out, evalbeam.Score(s, evalbeam.Suite{}, beam.Create(s, file)))
		if _, err := prism.Execute(t.Context(), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("writing to %s: got error %v, want one with %q", out, err, want)
		}
	}
}

// Several workers score at the same time: no file can be read until three are opened.
func TestScoreTogether(t *testing.T) {
	var files []string
	for i := range 16 {
		files = append(files, fmt.Sprintf("together://%02d", i))
	}
	meeting.expect(3, `{"case":"NAME","epoch":0,"reward":1,"messages":[{"role":"user","content":"a"}]}`)
	text, err := scored(t, evalbeam.Suite{}, files)
	if err != nil {
		t.Fatal(err)
	}
	r, err := evals.ReadResult("out", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for row := range r.Rows.All() {
		got = append(got, row.Case)
	}
	if diff := cmp.Diff(files, got); diff != "" {
		t.Errorf("cases that were scored (-want +got):\n%s", diff)
	}
}

// named is a reader of a text with a name.
func named(text, name string) io.Reader {
	return strings.NewReader(strings.ReplaceAll(text, "NAME", name))
}

// The 200 runs of a benchmark come to the same in one file and in seven.
func TestScoreTauAirline(t *testing.T) {
	shared := os.Getenv("LOOPTAPE_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	file := filepath.Join(shared, "data", "tau-airline", "gpt-4o-airline.json.gz")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Skip("no data set next to the repository; set LOOPTAPE_SHARED to its path: ", err)
	}
	packed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var runs []json.RawMessage
	if err := json.NewDecoder(packed).Decode(&runs); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for list := range slices.Chunk(runs, 30) {
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		texts[fmt.Sprintf("part-%d.json", len(texts))] = string(text)
	}
	for _, files := range [][]string{{file}, folder(t, texts)} {
		got, err := scored(t, evalbeam.Suite{}, files)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(expected(t, nil, files), got); diff != "" {
			t.Errorf("of %d files (-want +got):\n%s", len(files), diff)
		}
		if n := strings.Count(got, `"reward":1`); n != 84 {
			t.Errorf("%d of the runs in %d files have a reward of 1, want 84", n, len(files))
		}
	}
}
