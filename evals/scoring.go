package evals

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// part is the result of one input in the making.
type part struct {
	Result

	o      *Options
	by     []Scoring
	passed bool
	whole  bool // it was read from the file of a result
	// helpers has an item for each goroutine that scores a run beside those that read, as
	// many as there may be; helped are those of this input.
	helpers chan struct{}
	helped  sync.WaitGroup
	// mu is for what several runs add to: Rows and texts.
	mu    sync.Mutex
	texts texts
	// spent is what the runs took that calls of others started, by the run that they are
	// part of.
	spent map[string]llm.Usage
}

func newPart(by []Scoring, o *Options, helpers chan struct{}) *part {
	p := &part{o: o, by: by, helpers: helpers, texts: texts{}, spent: map[string]llm.Usage{}}
	for _, s := range by {
		p.Scorers = append(p.Scorers, s.Name)
	}
	if o.Rows != nil {
		p.Scorers = append(p.Scorers, mapped(o.Rows))
	}
	if n := o.Names; n != nil {
		p.Scorers = append(p.Scorers, "names"+told([][2]string{{"case", n.Case}, {"epoch", n.Epoch}, {"cluster", n.Cluster}}))
	}
	return p
}

// mapped says what is where in rows, since scores depend on it.
func mapped(m *importer.Mapping) string {
	text := "rows" + told([][2]string{{"case", m.Case}, {"epoch", m.Epoch}, {"cluster", m.Cluster}, {"prompt", m.Prompt}, {"want", m.Expected}, {"answer", m.Answer}})
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
		p.helped.Wait()
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
	src, err := importer.OpenRows(name, f, p.o.Rows)
	if err != nil {
		return err
	}
	for run, err := range src.Conversations() {
		switch {
		case ctx.Err() != nil:
			return nil // which ScoreFiles tells
		case err != nil:
			p.unread(name, err)
		case run.Partial:
			p.unread(name, &importer.Error{Line: run.Line, Err: fmt.Errorf("the run %q may have lost an event; it is not scored", run.Name)})
		default:
			p.run(ctx, name, &run)
		}
	}
	return nil
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

// large is the size of a run that is scored before the next one of its input is read.
const large = 16 << 20

// run has a run named and scored, while the next ones are read, or counts what it took for
// the run that it is part of.
func (p *part) run(ctx context.Context, file string, run *importer.Run) {
	started := p.spent[run.Name]
	delete(p.spent, run.Name)
	if parent := run.Parent(); parent != nil {
		row := rowOf(file, run)
		row.Usage = row.Usage.Add(started)
		p.spent[parent.Run] = p.spent[parent.Run].Add(row.Usage)
		p.seen(&row, run)
		return
	}
	if err := p.o.Names.Name(run); err != nil {
		p.unread(file, &importer.Error{Line: run.Line, Err: err})
		return
	}
	if sizeOf(run) >= large {
		p.score(ctx, file, run, started)
		return
	}
	select {
	case p.helpers <- struct{}{}:
		p.helped.Go(func() {
			p.score(ctx, file, run, started)
			<-p.helpers
		})
	case <-ctx.Done(): // which ScoreFiles tells
	}
}

// score makes the row of a run, which took something beside that by the runs that it started.
func (p *part) score(ctx context.Context, file string, run *importer.Run, started llm.Usage) {
	row := rowOf(file, run)
	row.Usage = row.Usage.Add(started)
	var scores []Score
	for _, s := range p.by {
		scores = append(scores, s.Scorer.Score(ctx, run)...)
	}
	row.scored(scores)
	p.seen(&row, run)
	if p.o.Brief && p.o.Journal == nil {
		row.abridge()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.texts.share(&row)
	p.Rows = append(p.Rows, row)
}

func (p *part) seen(row *Row, run *importer.Run) {
	if p.o.Seen != nil {
		p.o.Seen(row, run)
	}
}
