// Package evalbeam scores recorded runs as a pipeline of Apache Beam, on all machines of its runner.
// With any runner and any bundles the result is, byte for byte, the score file that
// `looptape eval score -o` writes for the same files.
//
// One worker scores a file; several files are scored concurrently. For Score, one worker merges the rows of all
// runs and holds them in memory, some hundred bytes per run. Summarize computes only the statistics. Beam opens the files: the
// filesystems that the program imports define the names. Package evals computes the statistics and
// decisions.
package evalbeam

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/looptape/looptape/evals"
)

// Register registers the functions and types of the pipelines, so that workers find them by name.
// The program that builds a pipeline, which its workers run too, calls it before beam.Init.
func Register() {
	beam.RegisterCoder(reflect.TypeFor[part](), part.encode, decodePart)
	beam.RegisterCoder(reflect.TypeFor[evals.CaseTally](), encodeCase, decodeCase)
	beam.RegisterCoder(reflect.TypeFor[sums](), encodeSums, decodeSums)
	beam.RegisterDoFn(reflect.TypeFor[tallier]())
	beam.RegisterFunction(joinSums)
	beam.RegisterDoFn(mergeCase)
	beam.RegisterDoFn(reflect.TypeFor[clusterAdder]())
	beam.RegisterDoFn(findCopies)
	beam.RegisterDoFn(nothingSummed)
	beam.RegisterDoFn(dueSummed)
	beam.RegisterDoFn(summary)
	beam.RegisterDoFn(reflect.TypeFor[scorer]())
	beam.RegisterDoFn(reflect.TypeFor[writer]())
	beam.RegisterFunction(join)
	beam.RegisterDoFn(nothing)
	beam.RegisterDoFn(due)
	beam.RegisterDoFn(whole)
}

// Score scores the files of these names, a PCollection<string>. It returns a
// PCollection<[]byte> of one element, which is the file of the result. The result
// contains unreadable records. Duplicate runs fail the pipeline. A pipeline that fails has no
// element, even if the runner continues for a while.
func Score(s beam.Scope, suite Suite, files beam.PCollection) beam.PCollection {
	s = s.Scope("looptape.Score")
	scored := beam.ParDo(s, &scorer{Suite: suite}, beam.Reshuffle(s, files))
	parts := beam.Flatten(s, beam.ParDo(s, nothing, beam.Impulse(s)), beam.ParDo(s, due, files), scored)
	return beam.ParDo(s, whole, beam.Combine(s, join, parts))
}

type scorer struct {
	Suite Suite

	options evals.Options
}

// Setup reads the suite, once a worker.
func (f *scorer) Setup() error {
	s, err := f.Suite.parse()
	if err != nil {
		return err
	}
	if s.DatasetFile != "" {
		return fmt.Errorf("%s: dataset: a pipeline does not read datasets: use looptape eval score", f.Suite.Name)
	}
	f.options = s.Options
	return nil
}

// ProcessElement scores the file of this name.
func (f *scorer) ProcessElement(ctx context.Context, name string) (p part, err error) {
	err = on(ctx, name, func(fs filesystem.Interface) error {
		in := evals.Input{Name: name, Open: func() (io.ReadCloser, error) { return fs.OpenRead(ctx, name) }}
		r, err := evals.ScoreFiles(ctx, []evals.Input{in}, &f.options)
		p = part{-1, []*evals.Result{r}}
		return err
	})
	return p, err
}

// part is results on their way, and how many files more are due than were scored. Results
// are put together where they leave a worker, and not whenever one is added, which would
// take time that grows with the square of their number.
type part struct {
	due     int
	results []*evals.Result
}

// nothing is the part that is there also of no files.
func nothing([]byte) part { return part{} }

// due is the part of a file that is to be scored.
func due(string) part { return part{due: 1} }

func join(a, b part) part { return part{a.due + b.due, append(a.results, b.results...)} }

// encode returns the number of files that are due, on a line, and the file of all results
// together, if there are any.
func (p part) encode() ([]byte, error) {
	text, err := []byte(nil), error(nil)
	if len(p.results) > 0 {
		text, err = p.file()
	}
	return append(fmt.Appendln(nil, p.due), text...), err
}

func decodePart(text []byte) (p part, err error) {
	number, file, _ := bytes.Cut(text, []byte("\n"))
	if p.due, err = strconv.Atoi(string(number)); err != nil || len(file) == 0 {
		return p, err
	}
	r, err := evals.ReadResult("", bytes.NewReader(file))
	p.results = []*evals.Result{r}
	return p, err
}

func (p part) file() ([]byte, error) {
	r, err := evals.Merge(p.results...)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = r.Write(&text)
	return text.Bytes(), err
}

// whole is the file of the result of all parts. A runner that is about to fail may have
// lost some.
func whole(all part) ([]byte, error) {
	if all.due != 0 {
		return nil, fmt.Errorf("not all files were scored, %d are missing: see the errors before this one", all.due)
	}
	return all.file()
}
