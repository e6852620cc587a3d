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
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// inputResult is the result of one input while it is scored.
type inputResult struct {
	Result

	options       *Options
	recordedOnly  bool // the scores in the recording are all, which takes less time than a goroutine
	skipped       bool // the input is not a recording
	fromScoreFile bool // the rows come from a score file
	// slots limits the goroutines that score runs, of all inputs; workers are those of this input.
	slots   chan struct{}
	workers sync.WaitGroup
	mu      sync.Mutex  // protects the rows, which several runs add to
	mem     scoreMemory // of the runs that are scored before the next one is read
	// childUsage is the usage of runs that a call of another run started, by the name of that run.
	childUsage map[string]llm.Usage
}

func newInputResult(o *Options, slots chan struct{}) *inputResult {
	p := &inputResult{options: o, slots: slots, childUsage: map[string]llm.Usage{}}
	p.recordedOnly = true
	for _, s := range o.Scorers {
		p.Scorers = append(p.Scorers, s.Name)
		p.recordedOnly = p.recordedOnly && s.Scorer == nil
	}
	if m := o.Rows; m != nil {
		p.Scorers = append(p.Scorers, mappingName("rows", m))
	}
	if m := o.Names; m != nil {
		names := &importer.Mapping{Case: m.Case, Epoch: m.Epoch, Cluster: m.Cluster}
		p.Scorers = append(p.Scorers, mappingName("names", names))
	}
	if o.Dataset != nil {
		p.Scorers = append(p.Scorers, o.Dataset.scoringName())
	}
	if o.MissingAsZero {
		p.Scorers = append(p.Scorers, missingAsZero)
	}
	return p
}

// mappingName describes the pointers of a mapping, since scores depend on them.
func mappingName(text string, m *importer.Mapping) string {
	for _, at := range [][2]string{
		{"case", m.Case}, {"epoch", m.Epoch}, {"cluster", m.Cluster},
		{"prompt", m.Prompt}, {"want", m.Expected}, {"answer", m.Answer},
	} {
		if at[1] != "" {
			text += " " + at[0] + "=" + at[1]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Scores)) {
		text += " score " + name + "=" + m.Scores[name]
	}
	return text
}

func (p *inputResult) addUnreadable(file string, err error) {
	p.Unreadable = AddUnread(p.Unreadable, file, err)
}

// input scores an input, or takes its rows from the journal.
func (p *inputResult) input(ctx context.Context, in *Input) {
	if ctx.Err() != nil {
		return
	}
	f, err := in.Open()
	if err != nil {
		p.addUnreadable(in.Name, err)
		return
	}
	journal := p.options.Journal
	content, key, known := journal.open(in, f, p.Scorers)
	if known != nil {
		p.Rows, p.skipped = known.Rows, known.Skipped
	} else {
		err := p.file(ctx, in.Name, content)
		p.skipped = in.Found && errors.Is(err, importer.ErrFormat)
		if err != nil && !p.skipped {
			p.addUnreadable(in.Name, err)
		}
		p.workers.Wait()
		if ctx.Err() == nil {
			journal.store(key, in, p)
		}
	}
	if err := f.Close(); err != nil {
		p.addUnreadable(in.Name, err)
	}
}

// file scores a recording, or takes the rows of a score file.
func (p *inputResult) file(ctx context.Context, name string, f io.Reader) error {
	head, f := peek(f)
	if isScoreFile(head) {
		res, err := ReadResult(name, f)
		if err == nil {
			p.Result, p.fromScoreFile = *res, true
		}
		return err
	}
	src, err := importer.OpenRows(name, f, p.options.Rows)
	if err != nil {
		return err
	}
	src.ReuseRuns = p.recordedOnly
	var current importer.Run
	for run, err := range src.Conversations() {
		switch {
		case ctx.Err() != nil:
			return nil // ScoreFiles reports it
		case err != nil:
			p.addUnreadable(name, err)
		case run.Partial:
			err := fmt.Errorf("the run %q may be incomplete (an event is missing) and is not scored", run.Name)
			p.addUnreadable(name, &importer.Error{Line: run.Line, Err: err})
		default:
			for _, e := range run.Unknown {
				p.addUnreadable(name, e)
			}
			current = run
			p.run(ctx, name, &current)
			current = importer.Run{} // the next one may be large
		}
	}
	return nil
}

// peek returns the first bytes of a file and a reader of all of it: f itself if f supports random
// access, which some importers need.
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

// largeRun is the size of a run that is scored before the next one of its input is read.
const largeRun = 16 << 20

// run names a run and scores it, maybe a copy of it while the next one is read. The usage of a run that
// another run started is added to that run.
func (p *inputResult) run(ctx context.Context, file string, run *importer.Run) {
	started := p.childUsage[run.Name]
	delete(p.childUsage, run.Name)
	if parent := run.Parent(); parent != nil {
		row := rowOf(file, run, started, &p.mem.digester)
		p.childUsage[parent.Run] = p.childUsage[parent.Run].Add(row.Usage)
		p.options.Seen(&row, run)
		return
	}
	if err := p.options.Names.Name(run); err != nil {
		p.addUnreadable(file, &importer.Error{Line: run.Line, Err: err})
		return
	}
	var tags []string
	if d := p.options.Dataset; d != nil {
		if c := d.join(run); c != nil {
			tags = c.tags
		} else {
			err := fmt.Errorf("the run %q of the case %q has no case in %s, and is scored without", run.Name, run.CaseName(), d.name)
			p.addUnreadable(file, &importer.Error{Line: run.Line, Err: err})
		}
	}
	if p.recordedOnly || sizeOf(run) >= largeRun {
		p.score(ctx, file, run, &p.mem, started, tags)
		return
	}
	copied := *run
	select {
	case p.slots <- struct{}{}:
		p.workers.Go(func() {
			p.score(ctx, file, &copied, new(scoreMemory), started, tags)
			<-p.slots
		})
	case <-ctx.Done(): // ScoreFiles reports it
	}
}

// scoreMemory is used for one run after another.
type scoreMemory struct {
	row    Row
	scores []Score
	values ByName[float64]

	digester
}

// score adds the row of a run, with the memory of mem; started is the usage of the runs that it started, and tags
// are those of its case.
func (p *inputResult) score(ctx context.Context, file string, run *importer.Run, mem *scoreMemory, started llm.Usage, tags []string) {
	row, scores := &mem.row, mem.scores
	*row = rowOf(file, run, started, &mem.digester)
	row.Scores, row.Tags = mem.values, slices.Clone(tags)
	for _, s := range p.options.Scorers {
		if s.Scorer == nil {
			scores = appendRecorded(scores, run)
		} else {
			scores = append(scores, s.Scorer.Score(ctx, run)...)
		}
	}
	row.scored(scores)
	p.options.Seen(row, run)
	if p.options.Brief && p.options.Journal == nil {
		row.removeTexts()
	}
	p.mu.Lock()
	p.Rows.Add(row)
	p.mu.Unlock()
	clear(scores)
	mem.row, mem.scores, mem.values = Row{}, scores[:0], row.Scores[:0] // what follows may be large
}

// sizeOf estimates the memory of a run: its texts and a constant per event and part.
func sizeOf(run *importer.Run) int {
	const event = 256
	n := event * len(run.Events)
	add := func(messages []llm.Message) {
		for i := range messages {
			n += sizeOfParts(messages[i].Parts)
		}
	}
	add(run.Messages)
	for i := range run.Events {
		switch body := run.Events[i].Body.(type) {
		case trace.ModelRequest:
			add(body.NewMessages)
		case trace.ModelResponse:
			n += sizeOfParts(body.Message.Parts)
		case trace.ModelDelta:
			n += len(body.Text)
		case trace.ToolEnd:
			n += sizeOfParts(body.Result.Content)
		default: // small
		}
	}
	return n
}

func sizeOfParts(list []llm.Part) (n int) {
	const part = 128
	for _, p := range list {
		n += part
		switch p := p.(type) {
		case llm.Text:
			n += len(p.Text)
		case llm.Reasoning:
			n += len(p.Text)
		case llm.Media:
			n += len(p.Data)
		case llm.ToolCall:
			n += len(p.Arguments)
		case llm.ToolResult:
			n += sizeOfParts(p.Content)
		case llm.Unknown:
			n += len(p.Raw)
		}
	}
	return n
}
