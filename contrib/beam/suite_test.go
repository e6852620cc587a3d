package evalbeam_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"
	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/contrib/beam"
	"github.com/looptape/looptape/evals"
)

const eval = "suite: 1\nruns: ['runs-*.jsonl', runs-1.jsonl]\n"

// A suite names recordings in its folder, each once, and is scored as such.
func TestOpen(t *testing.T) {
	files := folder(t, map[string]string{"eval.yaml": eval, "runs-1.jsonl": answers(1), "runs-2.jsonl": answers(2), "else.jsonl": answers(3)})
	suite, got, err := evalbeam.Open(t.Context(), files[1:2])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files[2:], got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(evalbeam.Suite{Name: files[1], Text: []byte(eval)}, suite); diff != "" {
		t.Errorf("suite (-want +got):\n%s", diff)
	}
}

// Suites and recordings are where Beam's filesystems are.
func TestOpenRemote(t *testing.T) {
	memfs.Write("memfs://bucket/set/eval.yaml", []byte(eval))
	memfs.Write("memfs://bucket/set/runs-1.jsonl", []byte(answers(1)))
	memfs.Write("memfs://bucket/runs-2.jsonl", []byte(answers(2)))
	suite, files, err := evalbeam.Open(t.Context(), []string{"memfs://bucket/set/eval.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"memfs://bucket/set/runs-1.jsonl"}, files); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
	text, err := scored(t, suite, files)
	if err != nil {
		t.Fatal(err)
	}
	r, err := evals.ReadResult("out", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if r.Rows.Len() != 8 || len(r.Unreadable) != 0 || r.Rows.At(0).File != files[0] {
		t.Errorf("want 8 runs of %s:\n%s", files[0], text)
	}
}

// A file that is not a suite is read as recordings, by its name.
func TestOpenRecordings(t *testing.T) {
	files := folder(t, map[string]string{"a.jsonl": answers(1), "b.yaml": eval})
	dir := filepath.Dir(files[0])
	for _, names := range [][]string{files, files[:1], {files[0], filepath.Join(dir, "missing.yaml")}} {
		suite, got, err := evalbeam.Open(t.Context(), names)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(names, got); diff != "" || suite.Name != "" {
			t.Errorf("suite %q, files (-want +got):\n%s", suite.Name, diff)
		}
	}
}

func TestOpenFails(t *testing.T) {
	files := folder(t, map[string]string{
		"broken.yaml":  "suite: 1\nrun: []\n",
		"large.yaml":   "suite: 1\n" + strings.Repeat("#\n", 1<<19),
		"nothing.yaml": "suite: 1\nruns: [none-*.jsonl]\n",
		"rubric.yaml":  "suite: 1\nruns: [none-*.jsonl]\nscorers: [{kind: rubric, settings: {grader: {cassette: a.tape}}}]\n",
	})
	missing := files[0] + ".not"
	for name, want := range map[string]string{
		files[0]:          files[0] + `:2:1: unknown key "run" of the suite; did you mean "runs"?`,
		files[1]:          files[1] + ": the suite is larger than a megabyte",
		files[2]:          files[2] + ": runs: none-*.jsonl not found in the folder of the suite",
		files[3]:          files[3] + `:3:36: scorer "rubric": no grading model can be opened here`,
		missing:           "open " + missing + ": no such file",
		"nowhere://a.yml": `file system scheme "nowhere" not registered`,
	} {
		if _, _, err := evalbeam.Open(t.Context(), []string{name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, want)
		}
	}
}
