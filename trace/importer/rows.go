package importer

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Mapping contains the places of values in rows: JSON pointers (RFC 6901) into an object, or
// / and the name of a column of CSV. For an empty pointer, the first of the usual names that
// a row has is used.
type Mapping struct {
	// Case is the task of the run; usually task_id, case or id. Epoch is an integer of 0 or
	// more; usually trial or epoch.
	Case, Epoch string
	// Cluster is shared by related cases. It has no usual name.
	Cluster string
	// Prompt is a string, or a list of messages, which may end with the answer; usually
	// messages, prompt, question or input.
	Prompt string
	// Expected is the expected answer, or a list of acceptable ones; usually expected, target,
	// ideal or reference, or answer in a row that has an answer under another name.
	Expected string
	// Answer is the answer of the run; usually output, completion, response or answer.
	Answer string
	// Scores are numbers and booleans, and the strings that Inspect has for them (C, I, P, N,
	// yes, no), by the name of the score; usually reward and score. A row without a value has
	// no such score.
	Scores map[string]string
}

// OpenRows opens rows with a mapping. Each row is a run: an object in JSON Lines or in an
// array, or a record of CSV (RFC 4180) with a header. The messages of a run are its prompt
// and its answer. A name that is not a column is an error of OpenRows. A pointer without a
// value in any row is an [*Error] of Runs, after the last row. A value that is not a score is
// a Score with an [*Error]. Otherwise OpenRows is the same as [Open]; with a nil mapping it
// calls Open.
func OpenRows(name string, r io.Reader, m *Mapping) (*Source, error) {
	if m == nil {
		return Open(name, r)
	}
	mapping, err := newRows(m)
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	return open(name, r, mapping, sniff)
}

type rows struct {
	// A nil pointer means the usual names.
	caseName, epoch, cluster, prompt, expected, answer *tree.Pointer
	scores                                             []scorePointer
	all                                                []*tree.Pointer
}

type scorePointer struct {
	name string
	at   *tree.Pointer
}

func newRows(m *Mapping) (*rows, error) {
	var r rows
	var failed error
	parse := func(what, text string) *tree.Pointer {
		p, err := tree.ParsePointer(what, text)
		failed = cmp.Or(failed, err)
		r.all = append(r.all, p)
		return p
	}
	optional := func(what, text string) *tree.Pointer {
		if text == "" {
			return nil
		}
		return parse(what, text)
	}
	r.caseName, r.epoch, r.cluster = optional("case", m.Case), optional("epoch", m.Epoch), optional("cluster", m.Cluster)
	r.prompt, r.expected, r.answer = optional("prompt", m.Prompt), optional("expected answer", m.Expected), optional("answer", m.Answer)
	for _, name := range slices.Sorted(maps.Keys(m.Scores)) {
		r.scores = append(r.scores, scorePointer{name, parse("score "+name, m.Scores[name])})
	}
	return &r, failed
}

// table gives the rows, and an error for each pointer without a value.
func (w *walker) table() {
	w.read = w.row
	if w.csv != nil {
		w.records(w.record)
	} else {
		w.concurrently()
		w.values()
		w.endConcurrency()
	}
	for _, p := range w.rows.all {
		if !p.Found() && !w.stopped {
			w.fail(0, fmt.Errorf("no row has a value at %s, the %s", p.Text, p.What))
		}
	}
}

func (w *walker) row(d *jsonio.Dec, run *format.Run) {
	run.Members(d, nil)
	if d.Err() != nil {
		return
	}
	if err := w.fill(run); err != nil {
		d.Fail(err.Error())
	}
}

func (w *walker) fill(run *format.Run) error {
	r, row := w.rows, run.Meta
	run.SetName()
	if r.caseName == nil || r.epoch == nil {
		run.SetCase()
	}
	if err := r.name(row, &run.Case, &run.Cluster, &run.Epoch); err != nil {
		return err
	}
	if r.scores != nil {
		run.Scores = w.scores(run)
	} else {
		run.SetScores()
	}
	expected, answer := run.Outcome(r.expected, r.answer)
	run.Expected = format.ExpectedOf(expected)
	run.Ask(format.Value(row, r.prompt, format.PromptNames))
	run.Reply(answer)
	run.ReportOtherMessages(expected, answer)
	return nil
}

// name sets the values whose pointers are not nil.
func (r *rows) name(row map[string]json.RawMessage, caseName, cluster *string, epoch *int) error {
	if r.caseName != nil {
		*caseName = tree.String(r.caseName.In(row))
	}
	if r.cluster != nil {
		*cluster = tree.String(r.cluster.In(row))
	}
	if r.epoch == nil {
		return nil
	}
	raw := r.epoch.In(row)
	if *epoch = format.EpochOf(raw); *epoch == NoEpoch && raw != nil {
		return fmt.Errorf("invalid epoch at %s: want an integer of 0 or more", r.epoch.Text)
	}
	return nil
}

func (w *walker) scores(run *format.Run) []format.Score {
	scores := make([]format.Score, 0, len(w.rows.scores))
	for _, s := range w.rows.scores {
		raw := s.at.In(run.Meta)
		if raw == nil {
			continue
		}
		score := format.ScoreOf(s.name, raw)
		if score.Err != nil {
			score.Err = w.errorAt(run.Line, s.at.Text, score.Err)
		}
		scores = append(scores, score)
	}
	return scores
}

// table reads CSV with a header (RFC 4180).
type table struct {
	*csv.Reader
	columns []string
	in      *limitedReader
	mem     rowMemory
}

// rowMemory is the memory of a row. With [Source.ReuseRuns], the next row uses it too.
type rowMemory struct {
	meta     map[string]json.RawMessage
	values   []byte // of further rows too
	messages [2]llm.Message
	scores   [2]format.Score
}

// valuesSize is the minimum of memory that is allocated for values.
const valuesSize = 32 << 10

// limitedReader returns an error after it has read left bytes.
type limitedReader struct {
	io.Reader
	limit, left int
}

func (l *limitedReader) reset(limit int) { l.limit, l.left = limit, limit }

// Read implements io.Reader.
func (l *limitedReader) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, memoryError(l.limit)
	}
	n, err := l.Reader.Read(b)
	l.left -= n
	return n, err
}

func (s *Source) openCSV() error {
	t := &table{in: &limitedReader{Reader: s.in}}
	t.in.reset(s.in.maxValue())
	t.Reader = csv.NewReader(t.in)
	s.csv = t
	var err error
	if t.columns, err = t.Read(); err != nil {
		return s.csvError(nil, err)
	}
	seen := map[string]int{}
	for i, name := range t.columns {
		if seen[name]++; seen[name] > 1 {
			t.columns[i] = fmt.Sprintf("%s (%d)", name, seen[name])
		}
	}
	t.ReuseRecord = true // columns has its own memory
	for _, p := range s.rows.all {
		if len(p.Names) > 1 || !slices.Contains(t.columns, p.Names[0]) {
			err := fmt.Errorf("no column %s, the %s: want one of /%s", p.Text, p.What, strings.Join(t.columns, ", /"))
			return s.errorAt(1, "", err)
		}
		p.SetFound()
	}
	return nil
}

// records reads the rows of CSV. After an invalid record it continues if the end of the
// record is known.
func (w *walker) records(read func(record []string)) {
	for !w.stopped {
		w.csv.in.reset(w.in.maxValue())
		record, err := w.csv.Read()
		_, invalid := errors.AsType[*csv.ParseError](err)
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			w.give(Run{}, w.csvError(record, err))
			if !invalid {
				return
			}
		default:
			read(record)
		}
	}
}

func (w *walker) csvLine() int {
	line, _ := w.csv.FieldPos(0)
	return line
}

// csvObject returns a record as an object. A field may be JSON. An empty field is a missing value.
func (w *walker) csvObject(record []string) json.RawMessage {
	var o tree.Object
	for i, text := range record {
		begin := strings.TrimSpace(text)
		switch {
		case text == "":
		case (begin[:min(1, len(begin))] == "{" || begin[:min(1, len(begin))] == "[") && jsonio.ValidText(text):
			o.Raw(w.csv.columns[i], text)
		default:
			o.Text(w.csv.columns[i], text)
		}
	}
	return append(json.RawMessage(nil), cmp.Or(string(o.JSON()), "{}")...)
}

// record gives a record as a run. An empty field is a missing value.
func (w *walker) record(record []string) {
	line, m := w.csvLine(), &w.csv.mem
	run := &w.mem.run
	*run = w.begin(line)
	size := 0
	for _, text := range record {
		size += len(text) + len(`""`)
	}
	if w.ReuseRuns {
		clear(m.meta)
		run.Messages, run.Scores, m.values = m.messages[:0], m.scores[:0], m.values[:0]
	} else {
		m.meta = nil
	}
	if m.meta == nil {
		m.meta = make(map[string]json.RawMessage, len(record))
	}
	if cap(m.values)-len(m.values) < size || cap(m.values) > 2*valuesSize {
		m.values = make([]byte, 0, max(size, valuesSize))
	}
	run.Meta = m.meta
	for i, text := range record {
		if text != "" {
			from := len(m.values)
			m.values = jsonio.AppendString(m.values, text)
			run.SetMeta(w.csv.columns[i], m.values[from:len(m.values):len(m.values)])
		}
	}
	if err := w.fill(run); err != nil {
		w.fail(line, err)
	} else {
		w.giveRun(run, nil)
	}
	*run = format.Run{} // what follows may be large
}

func (s *Source) csvError(record []string, err error) *Error {
	invalid, ok := errors.AsType[*csv.ParseError](err)
	switch {
	case !ok:
		return s.errorAt(0, "", fmt.Errorf("reading stopped: %w", err))
	case errors.Is(invalid, csv.ErrFieldCount):
		err = fmt.Errorf("the row has %d fields: want %d, the number of columns", len(record), len(s.csv.columns))
	default:
		err = invalid.Err
	}
	return s.errorAt(invalid.StartLine, "", err)
}
