// Package evalbeam scores recorded runs as a pipeline of Apache Beam, on as many machines
// as its runner has. What comes out is, byte for byte, what `looptape eval score -o` writes
// of the same files, whatever the runner and its bundles.
//
// A file is scored by one worker; several files are scored at once. One worker puts the
// rows of all runs together in the end and needs memory for them: some hundred bytes a run.
// Files are named as Beam names them; which names there are depends on the filesystems that
// the program imports. Package evalbeam leaves out runners, figures and decisions.
package evalbeam

import (
	"bytes"
	"context"
	"io"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/looptape/looptape/evals"
)

// Register tells Beam what pipelines of this package are made of, so that workers find it
// by name. The program that builds a pipeline, which is that of its workers, too, calls it
// before beam.Init.
func Register() {
	beam.RegisterCoder(reflect.TypeFor[part](), part.encode, decodePart)
	beam.RegisterDoFn(reflect.TypeFor[scorer]())
	beam.RegisterDoFn(reflect.TypeFor[writer]())
	beam.RegisterFunction(join)
	beam.RegisterDoFn(whole)
}

// Score scores the files of these names, a PCollection<string>. It returns a
// PCollection<[]byte> of one element, which is the file of the result. What cannot be read
// is in the result; runs that are there twice fail the pipeline.
func Score(s beam.Scope, suite Suite, files beam.PCollection) beam.PCollection {
	s = s.Scope("looptape.Score")
	parts := beam.ParDo(s, &scorer{Suite: suite}, beam.Reshuffle(s, files))
	all := beam.Combine(s, join, parts)
	return beam.ParDo(s, whole, beam.Impulse(s), beam.SideInput{Input: all})
}

// scorer scores a file.
type scorer struct {
	Suite Suite

	options evals.Options
}

// Setup reads the suite, once a worker.
func (f *scorer) Setup() error {
	s, err := f.Suite.parse()
	if err == nil {
		f.options = s.Options
	}
	return err
}

// ProcessElement scores the file of this name.
func (f *scorer) ProcessElement(ctx context.Context, name string) (p part, err error) {
	err = on(ctx, name, func(fs filesystem.Interface) error {
		in := evals.Input{Name: name, Open: func() (io.ReadCloser, error) { return fs.OpenRead(ctx, name) }}
		r, err := evals.ScoreFiles(ctx, []evals.Input{in}, &f.options)
		p = part{[]*evals.Result{r}}
		return err
	})
	return p, err
}

// part is results on their way. They are put together where they leave a worker, and not
// whenever one is added, which would take time that grows with the square of their number.
type part struct{ results []*evals.Result }

// join adds the results of b to those of a.
func join(a, b part) part { return part{append(a.results, b.results...)} }

// encode returns the file of all results together.
func (p part) encode() ([]byte, error) {
	var text bytes.Buffer
	r, err := evals.Merge(p.results...)
	if err != nil {
		return nil, err
	}
	err = r.Write(&text)
	return text.Bytes(), err
}

// decodePart reads what encode returned.
func decodePart(text []byte) (part, error) {
	r, err := evals.ReadResult("", bytes.NewReader(text))
	return part{[]*evals.Result{r}}, err
}

// whole is the file of the result of all parts, also where there is none.
func whole(_ []byte, next func(*part) bool) ([]byte, error) {
	var all part
	for p := (part{}); next(&p); {
		all = join(all, p)
	}
	return all.encode()
}
