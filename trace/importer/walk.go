package importer

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// walker reads a recording once.
type walker struct {
	*Source
	yield     func(Run, error) bool
	mem       jsonio.Arena                   // of strings with escapes
	read      func(*jsonio.Dec, *format.Run) // reads one run
	head      map[string]json.RawMessage     // of the runs, which share it
	found     bool                           // the array of the runs; then head is complete
	heldBytes int                            // of the entries of a sample in a ZIP
	zipBytes  int64                          // compressed size of these entries
	stopped   bool                           // the consumer wants no more runs
}

// give yields a run and an error. It reports whether the consumer wants more.
func (w *walker) give(r Run, err error) bool {
	w.stopped = w.stopped || !w.yield(r, err)
	return !w.stopped
}

func (w *walker) giveRun(f *format.Run, err error) {
	r := Run{Head: w.head, Partial: err != nil}
	if err != nil && len(f.Messages) == 0 {
		r = Run{}
	} else {
		r.set(f)
	}
	w.give(r, err)
}

func (w *walker) fail(line int, err error) {
	w.give(Run{}, &Error{File: w.name, Line: line, Err: err})
}

func (w *walker) begin(line int) format.Run {
	w.runs++
	return format.Run{Name: "run-" + strconv.Itoa(w.runs), Line: line, Epoch: NoEpoch}
}

// values reads runs that are JSON values: one per line, or over any number of lines. After a
// value on a line of its own it reads the rest as lines.
func (w *walker) values() {
	for !w.lines && !w.stopped && w.in.next() != 0 {
		line := w.in.line
		if !w.top(w.in) {
			return
		}
		w.lines = w.in.line == line && w.in.next() != 0 && w.in.line > line
	}
	for !w.stopped {
		in, done := w.in.oneLine()
		if in == nil {
			break
		}
		line := in.line
		if in.next() != 0 && w.top(in) && !w.stopped && in.next() != 0 {
			w.fail(line, errors.New("something follows the JSON value"))
		}
		done()
	}
	w.ended()
}

// ended yields the error that ended the input, if any.
func (w *walker) ended() {
	if err := w.in.readError(); err != nil && !w.stopped {
		w.fail(w.in.line, err)
	}
}

// top reads the next value at the top of in. It reports whether the rest can be read.
func (w *walker) top(in *input) bool {
	switch {
	case w.layout.Path != nil:
		return w.document(in)
	case in.next() != '[' || w.layout.Array:
		if in.quick(w.quickRun) {
			return true
		}
		line := in.line
		text, err := in.value()
		if err != nil {
			run := w.begin(line)
			d := jsonio.NewDec(tree.QuoteNonFinite(text))
			w.read(&d, &run)
			w.giveRun(&run, &Error{File: w.name, Line: line, Err: err})
			return false
		}
		w.run(text, line, "")
		return true
	case !w.layout.Elements:
		return w.list(in)
	}
	if err := w.array(in, "", w.quickRun, w.run); err != nil {
		w.give(Run{}, err)
		return false
	}
	return true
}

// list reads an array of messages, which is one run.
func (w *walker) list(in *input) bool {
	in.measureRun(true)
	defer in.measureRun(false)
	run := w.begin(in.line)
	var reader message.Reader
	var invalid *Error
	quick := func(text string, _ int) (n int, short bool) {
		if invalid != nil {
			return 0, false
		}
		d := jsonio.NewDecIn(&w.mem, text)
		run.Messages = reader.Add(run.Messages, &d)
		if d.Err() != nil {
			return 0, d.Short()
		}
		return d.Offset(), false
	}
	err := w.array(in, "", quick, func(text string, line int, path string) {
		if invalid == nil {
			run.Messages, invalid = w.message(&reader, run.Messages, text, line, path)
		}
	})
	switch {
	case invalid != nil:
		w.giveRun(&run, invalid)
		if err != nil {
			w.give(Run{}, err)
		}
	case err != nil:
		w.giveRun(&run, err)
	default:
		w.giveRun(&run, nil)
	}
	return err == nil
}

func (w *walker) message(reader *message.Reader, messages []llm.Message, text string, line int, path string) ([]llm.Message, *Error) {
	text = tree.QuoteNonFinite(text)
	d := jsonio.NewDecIn(&w.mem, text)
	if d.Peek() == 0 {
		return messages, nil
	}
	messages = reader.Add(messages, &d)
	if err := d.End(); err != nil {
		return messages, w.place(err, text, line, path)
	}
	return messages, nil
}

// messageLines reads a run with one message per line.
func (w *walker) messageLines() {
	w.in.measureRun(true)
	run := w.begin(w.in.line)
	var reader message.Reader
	for {
		line := w.in.line
		raw, ok := w.in.nextLine()
		if !ok {
			break
		}
		var invalid *Error
		if run.Messages, invalid = w.message(&reader, run.Messages, jsonio.View(raw), line, ""); invalid != nil {
			w.giveRun(&run, invalid)
			return
		}
	}
	if err := w.in.readError(); err != nil {
		w.giveRun(&run, &Error{File: w.name, Line: w.in.line, Err: err})
		return
	}
	w.giveRun(&run, nil)
}

func (w *walker) run(text string, line int, path string) {
	text = tree.QuoteNonFinite(text)
	run := w.begin(line)
	d := jsonio.NewDec(text)
	w.read(&d, &run)
	if err := d.End(); err != nil {
		w.giveRun(&run, w.place(err, text, line, path))
		return
	}
	w.giveRun(&run, nil)
}

// quickRun reads the run at the beginning of a text; see quickRead.
func (w *walker) quickRun(text string, line int) (n int, short bool) {
	run := w.begin(line)
	d := jsonio.NewDecIn(&w.mem, text)
	w.read(&d, &run)
	if d.Err() != nil {
		w.runs--
		return 0, d.Short()
	}
	w.giveRun(&run, nil)
	return d.Offset(), false
}

// spans reads all spans of a recording, and gives their conversations as runs.
func (w *walker) spans() {
	w.in.measureRun(true)
	var t format.Telemetry
	yield, read := w.yield, false
	w.yield = func(r Run, err error) bool { return err == nil || yield(r, err) }
	w.read = func(d *jsonio.Dec, run *format.Run) {
		if raw := json.RawMessage(d.Raw()); d.Err() == nil {
			read = true
			t.Add(raw, run.Line)
		}
	}
	w.values()
	w.yield = yield
	runs := t.Runs()
	if len(runs) == 0 && read && !w.stopped {
		w.fail(0, errors.New("no span has the messages of a model call, as gen_ai.input.messages: let the recorder capture message content"))
	}
	for i := range runs {
		if w.giveRun(&runs[i], nil); w.stopped {
			return
		}
	}
}

// place returns an error within a value as an error at a place in the file.
func (w *walker) place(err error, text string, line int, path string) *Error {
	syn, ok := errors.AsType[*jsonio.SyntaxError](err)
	if !ok {
		return &Error{File: w.name, Line: line, Path: path, Err: err}
	}
	return &Error{
		File: w.name,
		Line: line + strings.Count(text[:syn.Offset], "\n"),
		Path: joinPath(path, syn.Path),
		Err:  errors.New(syn.Msg),
	}
}

func joinPath(path, sub string) string {
	if path != "" && sub != "" && sub[0] != '[' {
		path += "."
	}
	return path + sub
}

// document reads an object whose runs are the elements of the array at the path of the
// layout. The members before the array are the head of the runs. It reports whether the rest
// can be read.
func (w *walker) document(in *input) bool {
	w.found, w.head = false, map[string]json.RawMessage{}
	if err := w.object(in, "", w.layout.Path); err != nil {
		w.give(Run{}, err)
		return false
	}
	if !w.found && !w.stopped {
		w.fail(in.line, errors.New("the array of runs at "+strings.Join(w.layout.Path, ".")+" is missing"))
	}
	return true
}

// object reads the next object, at a path, to find the array of runs that the names lead to.
// After an error the rest cannot be read.
func (w *walker) object(in *input, path string, names []string) *Error {
	if in.next() != '{' {
		return w.unreadable(in, path, "expected an object")
	}
	in.skip(1)
	for n := 0; !w.stopped; n++ {
		c := in.next()
		if c == '}' {
			in.skip(1)
			return nil
		}
		if n > 0 {
			if c != ',' {
				return w.unreadable(in, path, "expected a comma or the end of the object")
			}
			in.skip(1)
		}
		key, err := w.key(in, path)
		if err == nil {
			err = w.member(in, key, joinPath(path, key), names)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) key(in *input, path string) (string, *Error) {
	if in.next() != '"' {
		return "", w.unreadable(in, path, "expected a member's name in double quotes")
	}
	line := in.line
	text, err := in.value()
	if err != nil {
		return "", &Error{File: w.name, Line: line, Path: path, Err: err}
	}
	if in.next() != ':' {
		return "", w.unreadable(in, path, "expected a colon after the member's name")
	}
	in.skip(1)
	d := jsonio.NewDec(text)
	return d.String(), nil
}

// member reads the value of a member: the array of runs, an object that contains it, or a
// part of the head.
func (w *walker) member(in *input, key, path string, names []string) *Error {
	c := in.next()
	if !isValue(c) {
		return w.unreadable(in, path, "expected a value")
	}
	if key == names[0] && c == '[' && len(names) == 1 {
		w.found = true
		return w.array(in, path, w.quickRun, w.run)
	}
	if key == names[0] && c == '{' && len(names) > 1 {
		return w.object(in, path, names[1:])
	}
	line := in.line
	text, err := in.value()
	if err != nil {
		return &Error{File: w.name, Line: line, Path: path, Err: err}
	}
	if !w.found {
		w.head[path] = w.valid(text, line, path)
	}
	return nil
}

// valid returns a text as JSON. If the text is invalid, it yields an error and returns null.
func (w *walker) valid(text string, line int, path string) json.RawMessage {
	text = tree.QuoteNonFinite(text)
	d := jsonio.NewDec(text)
	d.Skip()
	if err := d.End(); err != nil {
		w.give(Run{}, w.place(err, text, line, path))
		return json.RawMessage("null")
	}
	return json.RawMessage(text)
}

// array reads the next array, at a path. It calls do for each element that quick cannot
// read, until the consumer wants no more. After an error the rest cannot be read.
func (w *walker) array(in *input, path string, quick quickRead, do func(text string, line int, path string)) *Error {
	in.skip(1)
	for n := 0; !w.stopped; n++ {
		c := in.next()
		if c == ']' {
			in.skip(1)
			return nil
		}
		at := func() string { return path + "[" + strconv.Itoa(n) + "]" }
		if n > 0 {
			if c != ',' {
				return w.unreadable(in, at(), "expected a comma or the end of the array")
			}
			in.skip(1)
			c = in.next()
		}
		if !isValue(c) {
			return w.unreadable(in, at(), "expected a value")
		}
		if in.quick(quick) {
			continue
		}
		line := in.line
		text, err := in.value()
		if err != nil {
			return &Error{File: w.name, Line: line, Path: at(), Err: err}
		}
		do(text, line, at())
	}
	return nil
}

// isValue reports whether a byte that next returned may begin a value.
func isValue(c byte) bool { return c != 0 && strings.IndexByte("],}:", c) < 0 }

// unreadable returns the error of an input whose rest cannot be read.
func (w *walker) unreadable(in *input, path, msg string) *Error {
	err := errors.New(msg + "; the rest of the file is not read")
	if in.next() == 0 {
		err = in.endError()
	}
	return &Error{File: w.name, Line: in.line, Path: path, Err: err}
}
