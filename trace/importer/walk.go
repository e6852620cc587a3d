package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/spans"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

type walker struct {
	*Source
	yield     func(Run, error) bool
	mem       *memory
	queue     *queue                         // reads runs concurrently; may be nil
	addRecord func(add func() []format.Run)  // adds a record to the runs of the file
	runs      int                            // begun so far
	read      func(*jsonio.Dec, *format.Run) // reads one run
	head      map[string]json.RawMessage     // of the runs, which share it
	found     bool                           // the array of the runs; then head is complete
	elements  int                            // of that array
	tail      map[string]json.RawMessage     // of a document: what follows its runs
	heldBytes int                            // of the entries of a sample in a ZIP
	zipBytes  int64                          // compressed size of these entries
	stopped   bool                           // the consumer wants no more runs
}

// memory is used for one value after another.
type memory struct {
	strings *jsonio.Arena // with escapes
	dec     jsonio.Dec
	run     format.Run
}

func (w *walker) give(r Run, err error) bool {
	w.stopped = w.stopped || !w.yield(r, err)
	return !w.stopped
}

func (w *walker) giveRun(f *format.Run, err *Error) {
	if f.Record != nil {
		if w.addRecord(f.Record); err == nil {
			return
		}
	}
	if err == nil && f.Failed != nil {
		err = w.errorAt(f.Line, "", f.Failed)
	}
	r := Run{Head: w.head, Partial: err != nil}
	if err != nil && len(f.Messages) == 0 {
		r = Run{}
	} else {
		r.set(f)
		r.Unknown = append(append(w.unknownParts(r.Name, r.Line, r.Protocol, r.Messages), w.reported(f)...), w.wrongUsage(r.Name, r.Line, r.Meta)...)
		isUnknown := func(m llm.Message) bool { return !slices.Contains(knownRoles, m.Role) }
		if n := slices.IndexFunc(r.Messages, isUnknown); n >= 0 && !r.Sent && r.Protocol != "gemini" && (r.Gap == 0 || n+1 < r.Gap) {
			r.Gap = n + 1 // no provider has refused the message, which may have calls or results
		}
		if n := len(r.Messages); n > 0 && !f.IsResponse && slices.ContainsFunc(r.Messages[n-1].Calls(), func(c llm.ToolCall) bool { return c.Name == "" }) {
			// The invariants look at the calls that a client sent back.
			unnamed := w.errorAt(r.Line, "", errors.New("the response has a call without the name of a tool"))
			unnamed.Place = fmt.Sprintf("message %d of %s", n-1, r.Name)
			r.Unknown = append(r.Unknown, unnamed)
		}
	}
	if err != nil {
		w.give(r, err)
		return
	}
	w.give(r, nil)
	for i := range f.More {
		if !w.stopped {
			w.giveRun(&f.More[i], nil)
		}
	}
}

func (w *walker) fail(line int, err error) { w.give(Run{}, w.errorAt(line, "", err)) }

func (w *walker) begin(line int) format.Run {
	w.runs++
	name := strconv.AppendInt(append(make([]byte, 0, 24), "run-"...), int64(w.runs), 10)
	return format.Run{Name: string(name), Line: line, Epoch: NoEpoch, Head: w.head}
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
	var line input
	for !w.stopped {
		if !w.in.hasLine() {
			w.waitFor(w.in)
		}
		in, done := w.in.oneLine(&line)
		if in == nil {
			break
		}
		w.readLine(in)
		done()
	}
	if err := w.in.readError(); err != nil && !w.stopped {
		w.fail(w.in.line, err)
	}
}

// readLine reads the value on a line.
func (w *walker) readLine(in *input) {
	c := in.next()
	if c == 0 {
		return
	}
	if w.queue != nil {
		w.queue.lines++
	}
	oneRun := w.layout.Path == nil && (c != '[' || w.layout.Array || !w.layout.Elements)
	if w.queue != nil && oneRun {
		w.limitAhead()
		for in.err == nil && len(in.buf) < maxLine && !w.stopped {
			w.waitFor(in)
			in.double()
		}
	}
	if w.queue == nil || in.err == nil || !oneRun {
		w.onlyValue(in)
		return
	}
	in.file, in.isTask = nil, true
	w.add(len(in.buf), queued{in: *in})
	w.runs++
}

// onlyValue reads the only value of an input.
func (w *walker) onlyValue(in *input) {
	line := in.line
	if w.top(in) && !w.stopped && in.next() != 0 {
		w.fail(line, errors.New("something follows the JSON value"))
	}
}

// top reads the next value at the top of in. It reports whether the rest can be read.
func (w *walker) top(in *input) bool {
	switch {
	case w.layout.Path != nil:
		return w.document(in)
	case in.next() != '[' || w.layout.Array:
		line := in.line
		if text, err := w.element(in, "", -1, nil); err != nil {
			run := w.begin(line)
			d := jsonio.NewDec(tree.QuoteNonFinite(text))
			w.read(&d, &run)
			w.giveRun(&run, w.errorAt(line, "", err))
			return false
		}
		return true
	case !w.layout.Elements:
		return w.list(in)
	}
	if err := w.array(in, "", nil); err != nil {
		w.give(Run{}, err)
		return false
	}
	return true
}

// element is a JSON value of a file, or a string that begins with one.
type element struct {
	text  string
	line  int
	path  string // only if whole
	whole bool   // the text has nothing but the value, which may be invalid
}

// readElement reads an element and returns its length. If that is 0 for a string that is not
// whole, the value is invalid, or the text is too short.
type readElement func(element) (n int, short bool)

// decode reads an element. An invalid one is an error only if it is whole.
func (w *walker) decode(e element, read func(*jsonio.Dec)) (n int, short bool, err *Error) {
	if e.whole {
		e.text = tree.QuoteNonFinite(e.text)
	}
	d := &w.mem.dec
	*d = jsonio.NewDecIn(w.mem.strings, e.text)
	defer func() { *d = jsonio.Dec{} }()
	if read(d); e.whole {
		return d.Offset(), false, w.place(d.End(), e)
	}
	if n = d.Offset(); d.Err() != nil {
		n = 0
	}
	return n, d.Short(), nil
}

func (w *walker) run(e element) (n int, short bool) {
	run := &w.mem.run
	*run = w.begin(e.line)
	defer func() { *run = format.Run{} }() // what follows may be large
	n, short, err := w.decode(e, func(d *jsonio.Dec) { w.read(d, run) })
	if n == 0 && !e.whole {
		w.runs--
		return 0, short
	}
	w.giveRun(run, err)
	return n, false
}

// messages reads a run whose elements are messages, up to the first invalid one.
type messages struct {
	*walker
	run     format.Run
	reader  message.Reader
	invalid *Error
}

func (m *messages) read(e element) (n int, short bool) {
	if m.invalid != nil {
		return 0, false
	}
	m.reader.Report = func(n int, what string) {
		path := e.path
		if !e.whole {
			path = "[" + strconv.Itoa(n) + "]"
		}
		m.run.Unknown = append(m.run.Unknown, format.Unknown{Line: e.line, Path: path, Err: errors.New(what)})
	}
	n, short, m.invalid = m.decode(e, func(d *jsonio.Dec) {
		if d.Peek() != 0 { // an empty line
			m.run.Messages = m.reader.Add(m.run.Messages, d)
		}
	})
	return n, short
}

// flush ends the messages.
func (m *messages) flush() {
	var err error
	if m.run.Messages, err = m.reader.Flush(m.run.Messages); err != nil && m.invalid == nil {
		m.invalid = m.errorAt(m.run.Line, "", err)
	}
	m.run.Protocol = m.reader.Protocol
	m.run.FindMissing(nil)
}

// list reads an array of messages, which is one run.
func (w *walker) list(in *input) bool {
	in.measureRun(true)
	defer in.measureRun(false)
	m := messages{walker: w, run: w.begin(in.line)}
	err := w.array(in, "", m.read)
	m.flush()
	w.giveRun(&m.run, cmp.Or(m.invalid, err))
	if m.invalid != nil && err != nil {
		w.give(Run{}, err)
	}
	return err == nil
}

// messageLines reads a run with one message per line.
func (w *walker) messageLines() {
	w.in.measureRun(true)
	m := messages{walker: w, run: w.begin(w.in.line)}
	for m.invalid == nil {
		line := w.in.line
		text, ok := w.in.nextLine()
		if !ok {
			break
		}
		m.read(element{jsonio.View(text), line, "", true})
	}
	if err := w.in.readError(); err != nil && m.invalid == nil {
		m.invalid = w.errorAt(w.in.line, "", err)
	}
	m.flush()
	w.giveRun(&m.run, m.invalid)
}

// sessions reads runs that consist of several records, and gives each run once it has ended.
func (w *walker) sessions() {
	reader := w.Format.records()
	w.readRecords(reader.Read, reader.Skip)
	w.giveRuns(reader.Runs())
}

func (w *walker) giveRuns(runs []format.Run) {
	for i := range runs {
		if w.stopped {
			return
		}
		w.giveRun(&runs[i], nil)
	}
}

// readRecords reads records of runs, concurrently if they are not rows of a table. It calls the functions
// that read returns in the order of the records, gives the runs that these return, and calls skip for
// what is invalid.
func (w *walker) readRecords(read func(json.RawMessage, int) func() []format.Run, skip func()) {
	w.in.measureRun(true)
	yield := w.yield
	w.addRecord = func(add func() []format.Run) {
		silent := w.yield
		w.yield = yield
		w.giveRuns(add())
		w.yield = silent
	}
	w.yield = func(_ Run, err error) bool {
		if err == nil { // of a record
			return true
		}
		skip()
		return yield(Run{}, err)
	}
	w.read = func(d *jsonio.Dec, run *format.Run) {
		if raw := json.RawMessage(jsonio.Bytes(d.Raw())); d.Err() == nil {
			run.Record = read(raw, run.Line)
		}
	}
	if w.csv != nil {
		w.records(func(record []string) { w.run(element{string(w.csvObject(record)), w.csvLine(), "", true}) })
	} else {
		w.concurrently()
		w.values()
		w.endConcurrency()
	}
	w.yield = yield
}

// streams reads streaming responses: server-sent events, or their data as JSON values.
func (w *walker) streams() {
	var reader format.Streams
	if c := w.in.next(); c == '{' || c == '[' {
		w.readRecords(reader.Read, reader.Skip)
	} else {
		w.events(&reader)
	}
	w.giveRuns(reader.Runs())
}

func (w *walker) events(reader *format.Streams) {
	w.in.measureRun(true)
	err := reader.ReadEvents(w.in, w.in.line, func(ended []format.Run) bool {
		w.giveRuns(ended)
		w.in.measureRun(true)
		return !w.stopped
	})
	for _, err := range []error{err, w.in.readError()} {
		if err != nil && !w.stopped {
			w.fail(0, err)
		}
	}
}

// spans reads all spans of a recording, and gives their conversations as runs.
func (w *walker) spans() {
	var t spans.Telemetry
	w.readRecords(t.Read, func() {})
	runs, head, unread := t.Runs()
	w.head = head
	for _, u := range unread {
		if !w.stopped {
			w.fail(u.Line, u.Err)
		}
	}
	if len(runs)+len(unread) == 0 && !t.IsEmpty() && !w.stopped {
		w.fail(0, errors.New("no span has the messages of a model call, as gen_ai.input.messages: let the recorder capture message content"))
	}
	w.giveRuns(runs)
}

// place returns an error within an element as an error at a place in the file; nil for nil.
func (w *walker) place(err error, e element) *Error {
	if err == nil {
		return nil
	}
	syn, ok := errors.AsType[*jsonio.SyntaxError](err)
	if !ok {
		return w.errorAt(e.line, e.path, err)
	}
	line := e.line + strings.Count(e.text[:syn.Offset], "\n")
	return w.errorAt(line, joinPath(e.path, syn.Path), errors.New(syn.Msg))
}

func joinPath(path, sub string) string {
	if path != "" && sub != "" && sub[0] != '[' {
		path += "."
	}
	return path + sub
}

// document reads an object whose runs are the elements of the array at the path of the
// layout. The members before the array are the head of the runs, and that of the last run also has
// those after it. It reports whether the rest can be read.
func (w *walker) document(in *input) bool {
	w.found, w.head, w.tail = false, map[string]json.RawMessage{}, map[string]json.RawMessage{}
	release := w.holdLast()
	err := w.object(in, "", w.layout.Path)
	switch {
	case err != nil:
		w.give(Run{}, err)
	case !w.found && !w.stopped:
		w.fail(in.line, errors.New("the array of runs at "+strings.Join(w.layout.Path, ".")+" is missing"))
	}
	if release(); err == nil && w.found {
		w.checkCount(w.elements)
	}
	return err == nil
}

// checkCount reports runs that the head, and what follows the runs, require and the file does not have.
func (w *walker) checkCount(has int) {
	if w.Format.named == nil || w.stopped {
		return
	}
	head := maps.Clone(w.head)
	maps.Copy(head, w.tail)
	if named := w.Format.named(head); named > has {
		w.fail(0, fmt.Errorf("the file is incomplete: its header requires %d runs and it has %d", named, has))
	}
}

// object reads the next object, at a path, to find the array of runs that the names lead to.
// After an error the rest cannot be read.
func (w *walker) object(in *input, path string, names []string) *Error {
	if in.next() != '{' {
		return w.unreadable(in, path, "expected an object")
	}
	at := func(int) string { return path }
	return w.items(in, at, "object", func(int) *Error {
		key, err := w.key(in, path)
		if err != nil {
			return err
		}
		return w.member(in, key, joinPath(path, key), names)
	})
}

// items reads the items of the next array or object, each with its comma, until the consumer wants
// no more. At returns the path of an item.
func (w *walker) items(in *input, at func(n int) string, kind string, read func(n int) *Error) *Error {
	in.skip(1)
	for n := 0; ; n++ {
		w.waitForNext(in)
		if w.stopped {
			return nil
		}
		c := in.next()
		if c == ']' && kind == "array" || c == '}' && kind == "object" {
			in.skip(1)
			return nil
		}
		if n > 0 {
			if c != ',' {
				return w.unreadable(in, at(n), "expected a comma or the end of the "+kind)
			}
			in.skip(1)
		}
		if err := read(n); err != nil {
			return err
		}
	}
}

func (w *walker) key(in *input, path string) (string, *Error) {
	if in.next() != '"' {
		return "", w.unreadable(in, path, "expected a member's name in double quotes")
	}
	line := in.line
	text, err := in.value(nil)
	if err != nil {
		return "", w.errorAt(line, path, err)
	}
	if in.next() != ':' {
		return "", w.unreadable(in, path, "expected a colon after the member's name")
	}
	in.skip(1)
	d := jsonio.NewDec(text)
	return d.String(), nil
}

// checkVersion reports a head with a version that is newer than the known ones.
func (w *walker) checkVersion(line int) {
	version, err := strconv.Atoi(tree.Scalar(w.head["version"]))
	if newest := w.Format.newest; newest > 0 && err == nil && version > newest && !w.stopped {
		w.give(Run{}, w.errorAt(line, "version", fmt.Errorf("unknown version %d: looptape knows versions 1 to %d and may not understand the runs", version, newest)))
	}
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
		w.checkVersion(in.line)
		first := w.runs
		err := w.array(in, path, nil)
		w.elements = w.runs - first
		return err
	}
	if key == names[0] && c == '{' && len(names) > 1 {
		return w.object(in, path, names[1:])
	}
	line := in.line
	text, err := in.value(nil)
	if err != nil {
		return w.errorAt(line, path, err)
	}
	if w.found {
		w.tail[path] = w.valid(element{text, line, path, true})
	} else {
		w.head[path] = w.valid(element{text, line, path, true})
	}
	return nil
}

// holdLast makes the walker give each run when the next one is read. The function that it returns
// gives the last run, with the members of the file after the runs in its head. If what follows that
// run is invalid, the run has been given without them, and each of them is an error.
func (w *walker) holdLast() (release func()) {
	to := &w.yield
	if w.queue != nil {
		to = &w.queue.yield
	}
	yield := *to
	var last *Run
	given := false
	next := func() bool {
		run := last
		last = nil
		given = given || run != nil
		return run == nil || yield(*run, nil)
	}
	*to = func(r Run, err error) bool {
		if !next() {
			return false
		}
		if err != nil {
			return yield(r, err)
		}
		last = &r
		return true
	}
	return func() {
		w.flush()
		*to = yield
		if last != nil && len(w.tail) > 0 {
			last.Head = maps.Clone(last.Head)
			maps.Copy(last.Head, w.tail)
		} else if given {
			for _, name := range slices.Sorted(maps.Keys(w.tail)) {
				if !w.stopped {
					w.give(Run{}, w.errorAt(0, name, errors.New("the member follows runs that cannot be read, and is not read")))
				}
			}
		}
		if !w.stopped {
			w.stopped = !next()
		}
	}
}

// valid returns an element as JSON. If it is invalid, valid yields an error and returns null.
func (w *walker) valid(e element) (raw json.RawMessage) {
	_, _, err := w.decode(e, func(d *jsonio.Dec) { raw = json.RawMessage(jsonio.Bytes(d.Raw())) })
	if err != nil {
		w.give(Run{}, err)
		return json.RawMessage("null")
	}
	return raw
}

// array reads the elements of the next array, at a path, until the consumer wants no more. A nil read
// means that they are runs. After an error the rest cannot be read.
func (w *walker) array(in *input, path string, read readElement) *Error {
	at := func(n int) string { return path + "[" + strconv.Itoa(n) + "]" }
	return w.items(in, at, "array", func(n int) *Error {
		w.waitForNext(in)
		if w.stopped {
			return nil
		}
		if !isValue(in.next()) {
			return w.unreadable(in, at(n), "expected a value")
		}
		line := in.line
		if _, err := w.element(in, path, n, read); err != nil {
			return w.errorAt(line, at(n), err)
		}
		return nil
	})
}

// element reads the next value with read; nil means that it is a run. It is the value at a path or,
// if n is not negative, an element of the array there. With an error it returns the text of the value.
func (w *walker) element(in *input, path string, n int, read readElement) (string, error) {
	c := in.next()
	later := read == nil && w.queue != nil && (c == '{' || c == '[')
	if read == nil {
		read = w.run
	}
	if !later && in.quick(read) {
		return "", nil
	}
	line := in.line
	w.limitAhead()
	text, err := in.value(func() { w.waitFor(in) })
	if err != nil {
		return text, err
	}
	whole := func(read readElement) {
		at := path
		if n >= 0 {
			at += "[" + strconv.Itoa(n) + "]"
		}
		read(element{text, line, at, true})
	}
	if !later {
		whole(read)
		return "", nil
	}
	w.later(len(text), func(w *walker) {
		if n, _ := w.run(element{text: text, line: line}); n == 0 {
			whole(w.run)
		}
	})
	w.runs++
	return "", nil
}

// isValue reports whether a byte that next returned may begin a value.
func isValue(c byte) bool { return c != 0 && strings.IndexByte("],}:", c) < 0 }

// unreadable returns the error of an input whose rest cannot be read.
func (w *walker) unreadable(in *input, path, msg string) *Error {
	err := errors.New(msg + "; the rest of the file is not read")
	if in.next() == 0 {
		err = in.endError()
	}
	return w.errorAt(in.line, path, err)
}
