package importer

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// walker goes through a recording once.
type walker struct {
	*Source
	yield  func(Run, error) bool
	mem    jsonio.Arena // of texts with escapes
	read   func(d *jsonio.Dec, run *Run)
	head   map[string]json.RawMessage // of the runs, which share it
	found  bool                       // the array of the runs; then the head is complete
	held   int                        // of the entries of a sample, in bytes
	packed int64                      // how many those are in the ZIP
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
	case w.shape.path != nil:
		return w.nested(in)
	case in.next() != '[' || w.shape.whole:
		if in.quick(w.quickRun) {
			return true
		}
		line := in.line
		text, err := in.value()
		if err != nil {
			w.give(w.cutOff(text, line), &Error{File: w.name, Line: line, Err: err})
			return false
		}
		w.run(text, line, "")
		return true
	case !w.shape.nested:
		return w.list(in)
	}
	err := w.array(in, "", w.quickRun, w.run)
	if err != nil {
		w.give(Run{}, err)
	}
	return err == nil
}

// cutOff reads what there is of a run.
func (w *walker) cutOff(text string, line int) Run {
	run := w.begin(line)
	d := jsonio.NewDec(finite(text))
	w.read(&d, &run)
	return partial(run)
}

// list reads an array of messages, which is one run.
func (w *walker) list(in *input) bool {
	in.keep(true)
	defer in.keep(false)
	run := w.begin(in.line)
	var conv conversation
	var broken *Error
	quick := func(text string, _ int) (n int, short bool) {
		if broken != nil {
			return 0, false
		}
		d := jsonio.NewDecIn(&w.mem, text)
		run.Messages = conv.add(run.Messages, &d)
		if d.Err() != nil {
			return 0, d.Short()
		}
		return d.Offset(), false
	}
	err := w.array(in, "", quick, func(text string, line int, path string) {
		if broken != nil {
			return
		}
		text = finite(text)
		d := jsonio.NewDec(text)
		run.Messages = conv.add(run.Messages, &d)
		if err := d.End(); err != nil {
			broken = w.place(err, text, line, path)
		}
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

// messageLines reads a file of one message a line.
func (w *walker) messageLines() {
	w.in.keep(true)
	run := w.begin(w.in.line)
	var conv conversation
	for {
		line := w.in.line
		raw, ok := w.in.nextLine()
		if !ok {
			break
		}
		text := finite(jsonio.View(raw))
		d := jsonio.NewDecIn(&w.mem, text)
		if d.Peek() == 0 {
			continue
		}
		run.Messages = conv.add(run.Messages, &d)
		if err := d.End(); err != nil {
			w.give(partial(run), w.place(err, text, line, ""))
			return
		}
	}
	if err := w.in.broken(); err != nil {
		w.give(partial(run), &Error{File: w.name, Line: w.in.line, Err: err})
		return
	}
	w.give(run, nil)
}

// run reads one run. What Python writes for numbers that are none may stand there.
func (w *walker) run(text string, line int, path string) {
	text = finite(text)
	run := w.begin(line)
	d := jsonio.NewDec(text)
	w.read(&d, &run)
	if err := d.End(); err != nil {
		w.give(partial(run), w.place(err, text, line, path))
		return
	}
	w.give(run, nil)
}

// quickRun is run for a text that goes on behind the run.
func (w *walker) quickRun(text string, line int) (n int, short bool) {
	run := w.begin(line)
	d := jsonio.NewDecIn(&w.mem, text)
	w.read(&d, &run)
	if d.Err() != nil {
		w.runs--
		return 0, d.Short()
	}
	w.give(run, nil)
	return d.Offset(), false
}

// readList reads a list of messages, or an object around one.
func readList(d *jsonio.Dec, run *Run) {
	var conv conversation
	switch d.Peek() {
	case '[':
		run.Messages = conv.list(d)
	case '{':
		found := false
		run.members(d, func(key string) bool {
			own := key == "messages" || key == "traj"
			if own {
				found = true
				run.Messages = conv.list(d)
			}
			return own
		})
		if !found {
			d.Fail("neither messages nor traj is among the members")
		}
		run.Name = nameOf(run.Meta, run.Name)
		run.tell()
		run.Expected.Calls = actions(run.Meta["info"])
	default:
		d.Fail("expected a list of messages or an object with one")
	}
}

func (w *walker) begin(line int) Run {
	w.runs++
	return Run{Name: "run-" + strconv.Itoa(w.runs), Line: line, Epoch: NoEpoch, Head: w.head}
}

// place says where in the file an error within a value is.
func (w *walker) place(err error, text string, line int, path string) *Error {
	syn, ok := errors.AsType[*jsonio.SyntaxError](err)
	if !ok {
		return &Error{File: w.name, Line: line, Path: path, Err: err}
	}
	return &Error{
		File: w.name,
		Line: line + strings.Count(text[:syn.Offset], "\n"),
		Path: below(path, syn.Path),
		Err:  errors.New(syn.Msg),
	}
}

// below is a path within the value at another.
func below(path, sub string) string {
	if path != "" && sub != "" && sub[0] != '[' {
		path += "."
	}
	return path + sub
}

// members reads an object. What is in it is kept as said of the run, but for the members
// that own, which may be nil, reads itself: it says which.
func (r *Run) members(d *jsonio.Dec, own func(key string) bool) {
	d.Object()
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return
		}
		if own != nil && own(key) {
			continue
		}
		raw := d.Raw()
		if d.Err() != nil {
			return
		}
		if r.Meta == nil {
			r.Meta = map[string]json.RawMessage{}
		}
		r.Meta[key] = json.RawMessage(raw)
	}
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
