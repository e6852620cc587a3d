package importer

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// Mapping tells what is where in a row: as JSON pointers (RFC 6901) in an object, as /
// and the name of a column in CSV. What is empty is looked for under its usual names, of
// which the first that a row has counts.
type Mapping struct {
	// Case is what the run was to do, else task_id, case or id. Epoch is a whole number
	// from 0 up, else trial or epoch.
	Case, Epoch string
	// Cluster is what cases have in common; nothing else is looked for.
	Cluster string
	// Prompt is what was asked, else messages, prompt, question or input: a text, or a
	// list of messages as in FormatMessages, which may end with the answer.
	Prompt string
	// Want is what should be answered, or a list of what may be, else expected, target,
	// ideal or reference.
	Expected string
	// Answer is what was answered, else answer, output, completion or response.
	Answer string
	// Scores are numbers and truth values, and texts for them as Inspect has them (C, I,
	// P, N, yes, no), by the name of the score; else reward and score. A row without one
	// has no such score.
	Scores map[string]string
}

// usual are the names of members and columns with a meaning.
var usual = struct{ prompt, want, answer []string }{
	prompt: []string{"messages", "prompt", "question", "input"},
	want:   []string{"expected", "target", "ideal", "reference"},
	answer: []string{"answer", "output", "completion", "response"},
}

// OpenRows opens rows, each a run: objects in JSON Lines or in an array, or CSV (RFC 4180)
// with a line of names at its top, told apart by their content. The messages of a run are
// what was asked and what was answered. A pointer that leads to nothing in any row is an
// *Error of Runs, behind them; a name that is no column is one of OpenRows. A value that
// is no score makes a Score with an *Error, which names the line and the pointer. All
// else is as Open has it, and all is if there is no mapping.
func OpenRows(name string, r io.Reader, m *Mapping) (*Source, error) {
	if m == nil {
		return Open(name, r)
	}
	how, err := newRows(*m)
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	return open(name, r, how)
}

// rows reads rows as a mapping tells.
type rows struct {
	// These are nil where the usual names count.
	caseOf, epoch, cluster, prompt, want, answer *pointer
	scores                                       []scoreAt
	mapped                                       []*pointer // all of them
}

type scoreAt struct {
	name string
	at   *pointer
}

func newRows(m Mapping) (*rows, error) {
	var r rows
	for _, field := range []struct {
		what, text string
		to         **pointer
	}{
		{"case", m.Case, &r.caseOf}, {"epoch", m.Epoch, &r.epoch}, {"cluster", m.Cluster, &r.cluster},
		{"prompt", m.Prompt, &r.prompt}, {"expected answer", m.Expected, &r.want}, {"answer", m.Answer, &r.answer},
	} {
		if field.text == "" {
			continue
		}
		p, err := r.point(field.what, field.text)
		if err != nil {
			return nil, err
		}
		*field.to = p
	}
	for _, name := range slices.Sorted(maps.Keys(m.Scores)) {
		p, err := r.point("score "+name, m.Scores[name])
		if err != nil {
			return nil, err
		}
		r.scores = append(r.scores, scoreAt{name, p})
	}
	return &r, nil
}

func (r *rows) point(what, text string) (*pointer, error) {
	p, err := parsePointer(what, text)
	r.mapped = append(r.mapped, p)
	return p, err
}

// row reads a row of JSON.
func (w *walker) row(d *jsonio.Dec, run *Run) {
	run.members(d, nil)
	if d.Err() != nil {
		return
	}
	if err := w.fill(run, run.Meta); err != nil {
		d.Fail(err.Error())
	}
}

// fill makes a run of what stands in a row.
func (w *walker) fill(run *Run, row map[string]json.RawMessage) error {
	r := w.rows
	run.Meta = row
	run.Name = nameOf(row, run.Name)
	run.tell()
	if r.caseOf != nil {
		run.Case = asText(r.caseOf.in(row))
	}
	if r.cluster != nil {
		run.Cluster = asText(r.cluster.in(row))
	}
	if r.epoch != nil {
		raw := r.epoch.in(row)
		if run.Epoch = epochOf(raw); run.Epoch == NoEpoch && raw != nil {
			return fmt.Errorf("the epoch at %s is no whole number from 0 up", r.epoch.text)
		}
	}
	if r.scores != nil {
		run.Scores = w.scores(run, row)
	}
	run.Expected = wanted(valueOf(row, r.want, usual.want))
	run.ask(valueOf(row, r.prompt, usual.prompt))
	run.answer(valueOf(row, r.answer, usual.answer))
	return nil
}

// scores reads those that the mapping names.
func (w *walker) scores(run *Run, row map[string]json.RawMessage) (scores []Score) {
	for _, s := range w.rows.scores {
		raw := s.at.in(row)
		if raw == nil {
			continue
		}
		score := scoreOf(s.name, raw)
		if score.Err != nil {
			score.Err = &Error{File: w.name, Line: run.Line, Path: s.at.text, Err: score.Err}
		}
		scores = append(scores, score)
	}
	return scores
}

// valueOf returns what a pointer leads to or, without one, the first value that the row
// has under a name; nil if there is none.
func valueOf(row map[string]json.RawMessage, p *pointer, names []string) json.RawMessage {
	if p != nil {
		return p.in(row)
	}
	for _, name := range names {
		if raw := row[name]; !isNull(raw) {
			return raw
		}
	}
	return nil
}

// ask begins the messages with what was asked; nil is nothing.
func (r *Run) ask(prompt json.RawMessage) {
	if prompt == nil {
		return
	}
	var conv conversation
	d := jsonio.NewDec(jsonio.View(prompt))
	if messages := conv.list(&d); d.Err() == nil {
		r.Messages = messages
		return
	}
	r.Messages = []llm.Message{llm.User(asText(prompt))}
}

// answer ends the messages with what was answered, unless they do already; nil is nothing.
func (r *Run) answer(answer json.RawMessage) {
	if answer == nil {
		return
	}
	r.Answer = asText(answer)
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == llm.RoleAssistant {
		return
	}
	r.Messages = append(r.Messages, answered(answer)...)
}

// answered is the message of an answer: a text, or a list of tool calls as OpenAI spells
// them.
func answered(answer json.RawMessage) []llm.Message {
	if memberOf(elementOf(answer, "0"), "function") != nil {
		var conv conversation
		d := jsonio.NewDec(jsonio.View(spell("assistant", nil, nil, answer)))
		if called := conv.add(nil, &d); called != nil {
			return called
		}
	}
	return []llm.Message{llm.Assistant(llm.Text{Text: asText(answer)})}
}

// table gives the rows, and tells which pointers led to nothing.
func (w *walker) table() {
	w.read = w.row
	switch {
	case w.csv != nil:
		w.records()
	case w.shape.lines:
		w.lines()
	default:
		w.document()
	}
	for _, p := range w.rows.mapped {
		if !p.found && !w.stopped {
			w.give(Run{}, &Error{File: w.name, Err: fmt.Errorf("no row has a value at %s, the %s", p.text, p.what)})
		}
	}
}
