package evalbeam_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/contrib/beam"
	"github.com/looptape/looptape/evals"
)

// summaryOf is the summary of scoring all files together.
func summaryOf(t *testing.T, files []string) string {
	t.Helper()
	var inputs []evals.Input
	for _, name := range files {
		inputs = append(inputs, evals.Input{Name: name, Open: func() (io.ReadCloser, error) { return os.Open(name) }})
	}
	r, err := evals.ScoreFiles(t.Context(), inputs, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Summary(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return `{"format":"looptape-score","version":1,` + string(text[1:]) + "\n"
}

// values is a file of rows of several cases with values of many digits, in clusters and without.
func values(file int) string {
	var text strings.Builder
	for n := range 40 {
		cluster := ""
		if n%3 == 0 {
			cluster = fmt.Sprintf(`,"on":"cluster %d"`, n%4)
		}
		fmt.Fprintf(&text, `{"case":"case %d","epoch":%d,"reward":%.17g,"cost":%.9g%s,"messages":[]}`+"\n",
			n, file, 1/float64(1+n*n+file), float64(n)/7, cluster)
	}
	return text.String()
}

// TestSummarize compares the summary of a pipeline with that of the command, byte for byte: of files whose runs are
// of the same cases, and of unreadable ones.
func TestSummarize(t *testing.T) {
	texts := map[string]string{}
	for i := range 6 {
		texts[fmt.Sprintf("values-%d.jsonl", i)] = values(i)
	}
	for name, files := range map[string][]string{"values": folder(t, texts), "recordings": recordings(t), "nothing": {}} {
		t.Run(name, func(t *testing.T) {
			got, err := output(t, evalbeam.Summarize, evalbeam.Suite{}, files)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(summaryOf(t, files), got); diff != "" {
				t.Errorf("summary (-of the command +of the pipeline):\n%s", diff)
			}
		})
	}
}

// TestSummarizeFails checks that runs which are there twice are an error.
func TestSummarizeFails(t *testing.T) {
	twice := `{"case":"a","epoch":1,"reward":1,"messages":[]}` + "\n"
	same := `{"case":"a","reward":1,"messages":[]}` + "\n"
	runs := folder(t, map[string]string{"a.jsonl": same, "b.jsonl": `{"case":"b","reward":1,"messages":[]}` + "\n"})
	scores := expected(t, nil, runs) // of both files
	for name, c := range map[string]struct {
		suite evalbeam.Suite
		texts map[string]string
		want  string
		more  []string // names of further files
	}{
		"an epoch": {evalbeam.Suite{}, map[string]string{"a.jsonl": twice, "b.jsonl": twice}, `two runs of case "a" have the same epoch`, nil},
		"a file":   {evalbeam.Suite{}, map[string]string{"a.jsonl": same, "b.jsonl": same}, "has the same runs as", nil},
		"a dataset": {evalbeam.Suite{Name: "eval.yaml", Text: []byte("suite: 2\nruns: [a.jsonl]\ndataset: data.jsonl\n")},
			map[string]string{"a.jsonl": same}, "a pipeline does not read datasets", nil},
		"missing as zero": {evalbeam.Suite{Name: "eval.yaml", Text: []byte("suite: 2\nruns: [a.jsonl]\nmissing_as_zero: true\n")},
			map[string]string{"a.jsonl": same}, "missing_as_zero needs the score file", nil},
		"a run that a score file has": {evalbeam.Suite{}, map[string]string{"scores.jsonl": scores}, "the same run twice", runs[1:]},
		"a score file of version 1":   {evalbeam.Suite{}, map[string]string{"scores.jsonl": strings.Replace(scores, `"version":2`, `"version":1`, 1)}, "score file of version 1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := output(t, evalbeam.Summarize, c.suite, append(folder(t, c.texts), c.more...)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, %v, want the error %s", got, err, c.want)
			}
		})
	}
}
