package evals

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// Input is a file to score: a recording in any format of package importer, or the file
// of a result, whose rows are taken as they are.
type Input struct {
	Name string // stands in rows and errors
	// Open is called once, by any goroutine.
	Open func() (io.ReadCloser, error)
	// Found says that nobody has named the file, so that it is passed over if it is no
	// recording.
	Found bool
}

// Options of scoring; the zero value takes the scores that the recordings carry.
type Options struct {
	Scorers []Scoring // none: Recorded, as "recorded"
	// Rows tells that recordings are rows of any shape, and what is where in them; nil
	// lets their content tell what they are.
	Rows *importer.Mapping
	// Names tells where recordings that are no such rows say the case, the epoch and the
	// cluster; nil takes what they are known to say.
	Names *importer.Naming
	// Passed is called with the name of each input that is passed over, in order; nil
	// does nothing.
	Passed func(name string)
	// Journal keeps what inputs score, and knows what they have scored; nil does neither.
	Journal *Journal
	// Seen is called with each run that was read, and its row, by several goroutines at
	// once, but for inputs that Journal knows; nil does nothing. The row of a run that a call of another run started, which
	// comes before that one, has no scores. Neither may be changed or kept.
	Seen func(row *Row, run *importer.Run)
}

// ScoreFiles scores the runs of all inputs, several at once, one run of each in memory. What
// cannot be read is in the result; the error is that of [Merge], of a context that has
// ended, or of a journal that cannot be written.
//
// Of a trace, runs that a call of another run started have no row: they are part of
// that run. A run that cannot be read to its end has none either.
func ScoreFiles(ctx context.Context, inputs []Input, o *Options) (*Result, error) {
	if o == nil {
		o = &Options{}
	}
	scorers := o.Scorers
	if len(scorers) == 0 {
		scorers = []Scoring{{"recorded", ScorerFunc(Recorded)}}
	}
	parts := make([]*part, len(inputs))
	each(len(inputs), func(i int) {
		parts[i] = newPart(scorers, o)
		parts[i].input(ctx, &inputs[i], o.Journal)
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("scoring stopped: %w", err)
	}
	if err := o.Journal.failed(); err != nil {
		return nil, err
	}
	results := make([]*Result, len(parts))
	for i, p := range parts {
		if p.passed && o.Passed != nil {
			o.Passed(inputs[i].Name)
		}
		results[i] = &p.Result
	}
	return Merge(results...)
}

// each calls do for all numbers below n, as many at once as there are processors.
func each(n int, do func(i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}

// part is the result of one input in the making.
type part struct {
	Result

	by     []Scoring
	rows   *importer.Mapping
	names  *importer.Naming
	seen   func(*Row, *importer.Run)
	passed bool
	whole  bool // it was read from the file of a result
	// spent is what the runs took that calls of others started, by the run that they are
	// part of.
	spent map[string]llm.Usage
}

func newPart(by []Scoring, o *Options) *part {
	p := &part{by: by, rows: o.Rows, names: o.Names, seen: o.Seen, spent: map[string]llm.Usage{}}
	for _, s := range by {
		p.Scorers = append(p.Scorers, s.Name)
	}
	if o.Rows != nil {
		p.Scorers = append(p.Scorers, mapped(o.Rows))
	}
	if n := o.Names; n != nil {
		p.Scorers = append(p.Scorers, "names"+told([][2]string{{"case", n.Case}, {"epoch", n.Epoch}, {"cluster", n.Cluster}}))
	}
	if p.seen == nil {
		p.seen = func(*Row, *importer.Run) {}
	}
	return p
}

// mapped says what is where in rows, since scores depend on it.
func mapped(m *importer.Mapping) string {
	text := "rows" + told([][2]string{{"case", m.Case}, {"epoch", m.Epoch}, {"cluster", m.Cluster}, {"prompt", m.Prompt}, {"want", m.Want}, {"answer", m.Answer}})
	for _, name := range slices.Sorted(maps.Keys(m.Scores)) {
		text += " score " + name + "=" + m.Scores[name]
	}
	return text
}

// told says what is told to be where.
func told(list [][2]string) (text string) {
	for _, at := range list {
		if at[1] != "" {
			text += " " + at[0] + "=" + at[1]
		}
	}
	return text
}

func (p *part) unread(file string, err error) {
	p.Unreadable = append(p.Unreadable, Unread(file, err))
}

// input scores what an input holds, unless the journal knows it.
func (p *part) input(ctx context.Context, in *Input, j *Journal) {
	if ctx.Err() != nil {
		return
	}
	f, err := in.Open()
	if err != nil {
		p.unread(in.Name, err)
		return
	}
	key := j.key(in, f, p.Scorers)
	if !j.take(key, p) {
		if err := p.file(ctx, in.Name, f); in.Found && errors.Is(err, importer.ErrFormat) {
			p.passed = true
		} else if err != nil {
			p.unread(in.Name, err)
		}
	}
	if err := f.Close(); err != nil {
		p.unread(in.Name, err)
	}
	if ctx.Err() == nil {
		j.keep(key, p)
	}
}

// file scores a recording, or takes the rows of a result.
func (p *part) file(ctx context.Context, name string, f io.Reader) error {
	head, f := peek(f)
	if begins(head) {
		res, err := ReadResult(name, f)
		if err == nil {
			p.Result, p.whole = *res, true
		}
		return err
	}
	src, err := p.open(name, f)
	if err != nil {
		return err
	}
	if src.Format.IsHTTP() {
		return errors.New("it is a recording of HTTP, whose requests are no runs that were scored; give the runs, as traces or lists of messages")
	}
	for run, err := range src.Runs() {
		switch {
		case ctx.Err() != nil:
			return nil // which ScoreFiles tells
		case err != nil:
			p.unread(name, err)
		case run.Partial:
			p.unread(name, &importer.Error{Line: run.Line, Err: fmt.Errorf("the run %q may have lost an event; it is not scored", run.Name)})
		default:
			if err := p.name(&run); err != nil {
				p.unread(name, &importer.Error{Line: run.Line, Err: err})
				continue
			}
			p.run(ctx, name, &run)
		}
	}
	return nil
}

// name names a run as the options say, unless it is part of another.
func (p *part) name(run *importer.Run) error {
	if p.names == nil || run.Parent() != nil {
		return nil
	}
	return p.names.Name(run)
}

// open opens a recording.
func (p *part) open(name string, f io.Reader) (*importer.Source, error) {
	if p.rows != nil {
		return importer.OpenRows(name, f, *p.rows)
	}
	return importer.Open(name, f)
}

// peek returns the first bytes of a file, and what reads all of it: the file itself where
// it can be read at any place, so that an importer can do so, too.
func peek(f io.Reader) (head []byte, all io.Reader) {
	const size = 4096
	if file, ok := f.(io.ReaderAt); ok {
		head = make([]byte, size)
		if n, _ := file.ReadAt(head, 0); n > 0 {
			return head[:n], f
		}
	}
	buf := bufio.NewReaderSize(f, size)
	head, _ = buf.Peek(size)
	return head, buf
}

// run scores a run.
func (p *part) run(ctx context.Context, file string, run *importer.Run) {
	row := rowOf(file, run)
	row.Usage = row.Usage.Add(p.spent[run.Name])
	delete(p.spent, row.Run)
	if parent := run.Parent(); parent != nil {
		p.spent[parent.Run] = p.spent[parent.Run].Add(row.Usage)
		p.seen(&row, run)
		return
	}
	for _, s := range p.by {
		row.scored(s.Scorer.Score(ctx, run))
	}
	p.Rows = append(p.Rows, row)
	p.seen(&row, run)
}
