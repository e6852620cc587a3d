package rerun

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// Recorded is a run with the file that it stands in.
type Recorded struct {
	File string
	importer.Run
}

// Runs yields the runs of inputs, in order, one in memory at a time, until ctx ends. Those
// that a call of another run started are passed over, requests of a recording of HTTP that
// a later one goes on from, and inputs that were found and are no recordings. Of the options Rows, Names and Passed are looked at. An error is an *importer.Error
// for what cannot be read; the runs go on behind it where that is possible.
func Runs(ctx context.Context, inputs []evals.Input, o *evals.Options) iter.Seq2[Recorded, error] {
	return func(yield func(Recorded, error) bool) {
		for _, in := range inputs {
			if !runsOf(ctx, &in, o, yield) {
				return
			}
		}
	}
}

// runsOf yields the runs of an input. It reports whether more are wanted.
func runsOf(ctx context.Context, in *evals.Input, o *evals.Options, yield func(Recorded, error) bool) bool {
	fail := func(err error) bool {
		if _, ok := errors.AsType[*importer.Error](err); !ok {
			err = &importer.Error{File: in.Name, Err: err}
		}
		return yield(Recorded{}, err)
	}
	f, err := in.Open()
	if err != nil {
		return fail(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	src, err := open(in.Name, f, o.Rows)
	switch {
	case in.Found && errors.Is(err, importer.ErrFormat):
		if o.Passed != nil {
			o.Passed(in.Name)
		}
		return true
	case err != nil:
		return fail(err)
	}
	all := src.Runs()
	if src.Format.IsHTTP() {
		all = conversations(all)
	}
	for run, err := range all {
		more := true
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			more = fail(err)
		case run.Partial:
			more = fail(&importer.Error{File: in.Name, Line: run.Line, Err: fmt.Errorf("the run %q may have lost an event; it is not rerun", run.Name)})
		case run.Parent() == nil:
			if err := name(&run, o.Names); err != nil {
				more = fail(&importer.Error{File: in.Name, Line: run.Line, Err: err})
			} else {
				more = yield(Recorded{in.Name, run}, nil)
			}
		}
		if !more {
			return false
		}
	}
	return true
}

// conversations are the runs of a recording of HTTP with which none of the others goes on:
// of a conversation the last request with its answer has all of it.
func conversations(all iter.Seq2[importer.Run, error]) iter.Seq2[importer.Run, error] {
	type item struct {
		run importer.Run
		err error
		key string // of its messages
	}
	var list []item
	continued := map[string]bool{}
	for run, err := range all {
		key := ""
		for _, m := range run.Messages {
			continued[key] = true
			key = next(key, m)
		}
		list = append(list, item{run, err, key})
	}
	return func(yield func(importer.Run, error) bool) {
		for _, i := range list {
			if (i.err != nil || !continued[i.key]) && !yield(i.run, i.err) {
				return
			}
		}
	}
}

// next is the key of messages with one more, by what it says: a client may tell an answer
// back without what the provider said beside it.
func next(key string, m llm.Message) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %s %q", key, m.Role, m.Text()) // which cannot fail
	for _, part := range m.Parts {
		switch p := part.(type) {
		case llm.ToolCall:
			_, _ = fmt.Fprintf(h, " %q %q", p.Name, llm.Canonical(p.Args))
		case llm.ToolResult:
			_, _ = fmt.Fprintf(h, " %q", p.Text())
		default:
		}
	}
	return string(h.Sum(nil))
}

func open(name string, f io.Reader, rows *importer.Mapping) (*importer.Source, error) {
	if rows != nil {
		return importer.OpenRows(name, f, *rows)
	}
	return importer.Open(name, f)
}

func name(run *importer.Run, names *importer.Naming) error {
	if names == nil {
		return nil
	}
	return names.Name(run)
}
