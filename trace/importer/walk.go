package importer

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// walker goes through a recording once.
type walker struct {
	*Source
	yield func(Run, error) bool
	mem   jsonio.Arena // of texts with escapes
	// stopped says that the consumer wants no more.
	stopped bool
}

func (w *walker) give(r Run, err error) {
	w.stopped = w.stopped || !w.yield(r, err)
}

// document reads values that may go over many lines. After a value on a line
// of its own it takes the rest for such lines.
func (w *walker) document() {
	for !w.stopped && w.in.next() != 0 {
		line := w.in.line
		if !w.top(w.in) {
			return
		}
		if w.in.line == line && w.in.next() != 0 && w.in.line > line {
			w.lines()
			return
		}
	}
	w.ended()
}

// lines reads a value a line.
func (w *walker) lines() {
	for !w.stopped {
		in, done := w.in.oneLine()
		if in == nil {
			w.ended()
			return
		}
		w.lone(in)
		done()
	}
}

// lone reads the value of a line, if it has one.
func (w *walker) lone(in *input) {
	line := in.line
	if in.next() == 0 || !w.top(in) || w.stopped {
		return
	}
	if in.next() != 0 {
		w.give(Run{}, &Error{File: w.name, Line: line, Err: errors.New("something follows the JSON value")})
	}
}

// ended reports an error that kept the input from its end.
func (w *walker) ended() {
	if err := w.in.broken(); err != nil && !w.stopped {
		w.give(Run{}, &Error{File: w.name, Line: w.in.line, Err: err})
	}
}

// top reads the next value at the top of in. It reports whether what follows
// can be read.
func (w *walker) top(in *input) bool {
	switch {
	case in.next() != '[':
		if in.quick(w.quickRun) {
			return true
		}
		line := in.line
		text, err := in.value()
		if err != nil {
			w.give(Run{}, &Error{File: w.name, Line: line, Err: err})
			return false
		}
		w.run(text, line, "")
		return true
	case !w.shape.nested:
		return w.list(in)
	}
	err := w.array(in, w.quickRun, w.run)
	if err != nil {
		w.give(Run{}, err)
	}
	return err == nil
}

// list reads an array of messages, which is one run.
func (w *walker) list(in *input) bool {
	run := w.begin(in.line)
	var conv conversation
	var broken *Error
	quick := func(text string, _ int) (n int, short bool) {
		if broken != nil {
			return 0, false
		}
		d := jsonio.NewDecIn(&w.mem, text)
		m := conv.message(&d)
		if d.Err() != nil {
			return 0, d.Short()
		}
		run.Messages = append(run.Messages, m)
		return d.Offset(), false
	}
	err := w.array(in, quick, func(text string, line int, path string) {
		if broken != nil {
			return
		}
		d := jsonio.NewDec(text)
		m := conv.message(&d)
		if err := d.End(); err != nil {
			broken = w.place(err, text, line, path)
			return
		}
		run.Messages = append(run.Messages, m)
	})
	if broken != nil {
		w.give(partial(run), broken)
		run = Run{}
	}
	switch {
	case err != nil:
		w.give(partial(run), err)
	case broken == nil:
		w.give(run, nil)
	}
	return err == nil
}

// partial is a run that cannot be read further.
func partial(run Run) Run {
	if len(run.Messages) == 0 {
		return Run{}
	}
	run.Partial = true
	return run
}

// array calls do for each element of the array that comes next, but for those
// that are quickly read, until the consumer wants no more. After an error what
// follows cannot be read.
func (w *walker) array(in *input, quick quickly, do func(text string, line int, path string)) *Error {
	in.skip(1)
	for n := 0; !w.stopped; n++ {
		c := in.next()
		if c == ']' {
			in.skip(1)
			return nil
		}
		if n > 0 {
			if c != ',' {
				return w.lost(in, n, "expected a comma or the end of the array")
			}
			in.skip(1)
			c = in.next()
		}
		if c == 0 || strings.IndexByte("],}:", c) >= 0 {
			return w.lost(in, n, "expected a value")
		}
		if in.quick(quick) {
			continue
		}
		line := in.line
		text, err := in.value()
		if err != nil {
			return &Error{File: w.name, Line: line, Path: index(n), Err: err}
		}
		do(text, line, index(n))
	}
	return nil
}

func (w *walker) lost(in *input, n int, msg string) *Error {
	err := errors.New(msg + "; the rest is not read")
	if in.next() == 0 {
		err = in.cut()
	}
	return &Error{File: w.name, Line: in.line, Path: index(n), Err: err}
}

func index(n int) string { return "[" + strconv.Itoa(n) + "]" }

// messageLines reads a file of one message a line.
func (w *walker) messageLines() {
	run := w.begin(w.in.line)
	var conv conversation
	for {
		line := w.in.line
		text, ok := w.in.nextLine()
		if !ok {
			break
		}
		d := jsonio.NewDecIn(&w.mem, jsonio.View(text))
		if d.Peek() == 0 {
			continue
		}
		m := conv.message(&d)
		if err := d.End(); err != nil {
			w.give(partial(run), w.place(err, string(text), line, ""))
			return
		}
		run.Messages = append(run.Messages, m)
	}
	if err := w.in.broken(); err != nil {
		w.give(partial(run), &Error{File: w.name, Line: w.in.line, Err: err})
		return
	}
	w.give(run, nil)
}

// run reads one run: a list, or an object around a list.
func (w *walker) run(text string, line int, path string) {
	d := jsonio.NewDec(text)
	run := w.readRun(&d, line)
	err := d.End()
	if err == nil {
		w.give(run, nil)
		return
	}
	w.give(partial(run), w.place(err, text, line, path))
}

// quickRun is run for a text that goes on behind the run.
func (w *walker) quickRun(text string, line int) (n int, short bool) {
	before := w.runs
	d := jsonio.NewDecIn(&w.mem, text)
	run := w.readRun(&d, line)
	if d.Err() != nil {
		w.runs = before
		return 0, d.Short()
	}
	w.give(run, nil)
	return d.Offset(), false
}

func (w *walker) readRun(d *jsonio.Dec, line int) Run {
	run := w.begin(line)
	var conv conversation
	switch d.Peek() {
	case '[':
		run.Messages = conv.list(d)
	case '{':
		run.Messages, run.Meta = conv.object(d)
		run.Name = nameOf(run.Meta, run.Name)
		run.tell()
	default:
		d.Fail("expected a list of messages or an object with one")
	}
	return run
}

func (w *walker) begin(line int) Run {
	w.runs++
	return Run{Name: "run-" + strconv.Itoa(w.runs), Line: line, Epoch: NoEpoch}
}

// place says where in the file an error within a value is.
func (w *walker) place(err error, text string, line int, path string) *Error {
	syn, ok := errors.AsType[*jsonio.SyntaxError](err)
	if !ok {
		return &Error{File: w.name, Line: line, Path: path, Err: err}
	}
	if path != "" && syn.Path != "" && syn.Path[0] != '[' {
		path += "."
	}
	return &Error{
		File: w.name,
		Line: line + strings.Count(text[:syn.Offset], "\n"),
		Path: path + syn.Path,
		Err:  errors.New(syn.Msg),
	}
}

// object reads an object with the messages in "messages" or "traj", and all
// else that is in it.
func (c *conversation) object(d *jsonio.Dec) (messages []llm.Message, meta map[string]json.RawMessage) {
	d.Object()
	found := false
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			break
		}
		if key == "messages" || key == "traj" {
			found = true
			messages = c.list(d)
			continue
		}
		if meta == nil {
			meta = make(map[string]json.RawMessage)
		}
		meta[key] = json.RawMessage(d.Raw())
	}
	if !found {
		d.Fail("neither messages nor traj is among the members")
	}
	return messages, meta
}

// nameOf makes a run's name of what is said about it.
func nameOf(meta map[string]json.RawMessage, otherwise string) string {
	task, trial, id := scalar(meta["task_id"]), scalar(meta["trial"]), scalar(meta["id"])
	switch {
	case task != "" && trial != "":
		return "task-" + task + "/trial-" + trial
	case task != "":
		return "task-" + task
	case id != "":
		return id
	}
	return otherwise
}

// scalar returns the text of a string or a number, and nothing of all else.
func scalar(raw json.RawMessage) string {
	d := jsonio.NewDec(string(raw))
	switch c := d.Peek(); {
	case c == '"':
		return d.String()
	case c == '-', '0' <= c && c <= '9':
		return string(raw)
	}
	return ""
}
