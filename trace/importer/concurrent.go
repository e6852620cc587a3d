package importer

import (
	"bytes"
	"errors"
	"iter"
	"math"
	"sync"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/ordered"
	"github.com/looptape/looptape/trace/importer/internal/format"
)

const (
	// maxAhead limits what is read ahead of the current run, in bytes of the file.
	maxAhead = 4 << 20
	// maxLine is the maximum length of a line with one run that is read concurrently. A list of
	// messages in a longer one is read message by message.
	maxLine = 16 << 20
)

// batchSize is the minimum length of the values that are read concurrently with others, in bytes.
var batchSize = 64 << 10

// queue reads values of a file concurrently, and gives their runs in the order of the values.
type queue struct {
	*ordered.Queue[queued, result]

	yield  func(Run, error) bool
	record func(add func() []format.Run)
	lines  int // of the file, so far, that have a value
}

// queued is a value that is read later.
type queued struct {
	walker walker // as it was when the value was found
	line   int    // lines of the queue at that time
	in     input  // with the value, unless do is set
	do     func(*walker)
}

// queuedSize is the size of a value in the queue in addition to its text, so that a batch does not have very
// many short values.
const queuedSize = 64

// result is a run, a record of a run, or an error.
type result struct {
	run    Run
	record func() []format.Run
	err    error
	line   int // lines of the queue when its value was found
}

// arenas are in no use.
var arenas = sync.Pool{New: func() any { return newArena(math.MaxInt) }}

// newArena returns memory for the strings of an input of a size.
func newArena(size int) *jsonio.Arena {
	return &jsonio.Arena{BlockSize: min(size, bufferSize/4)}
}

// concurrently lets the walker read values on all processors, if there are several. The caller calls
// endConcurrency.
func (w *walker) concurrently() {
	q := &queue{yield: w.yield, record: w.addRecord}
	q.Queue = ordered.New(batchSize, readQueued, func(r result) bool {
		if r.record != nil {
			q.record(r.record)
			return !w.stopped
		}
		if e, ok := errors.AsType[*Error](r.err); ok && errors.Is(e.Err, errLineEnds) && r.line == q.lines && w.in.next() == 0 {
			e.Err = errFileEnds
		}
		return q.yield(r.run, r.err)
	})
	if q.Queue == nil {
		return
	}
	w.queue = q
	w.yield = func(r Run, err error) bool { // of what the walker reads itself
		q.Flush()
		return !q.Stopped() && q.yield(r, err)
	}
	w.addRecord = func(add func() []format.Run) {
		if q.Flush(); !q.Stopped() {
			q.record(add)
		}
	}
}

// endConcurrency gives the runs of all values so far. The walker then gives runs immediately.
func (w *walker) endConcurrency() {
	if w.flush(); w.queue != nil {
		w.yield, w.addRecord, w.queue = w.queue.yield, w.queue.record, nil
	}
}

// flush gives the runs of all values so far.
func (w *walker) flush() {
	if w.queue != nil {
		w.queue.Flush()
		w.checkStopped()
	}
}

func (w *walker) checkStopped() { w.stopped = w.stopped || w.queue.Stopped() }

// later reads a value of a size with do, which gets a copy of the walker. It may give the runs of
// earlier values.
func (w *walker) later(size int, do func(*walker)) { w.add(size, queued{do: do}) }

func (w *walker) add(size int, v queued) {
	v.walker, v.line = *w, w.queue.lines
	w.queue.Add(size+queuedSize, v)
	w.checkStopped()
}

// readQueued reads values, one after another.
func readQueued(values iter.Seq[*queued], give func(result)) {
	var line int
	yield := func(r Run, err error) bool {
		give(result{run: r, err: err, line: line})
		return true
	}
	addRecord := func(add func() []format.Run) { give(result{record: add, line: line}) }
	mem := &memory{strings: arenas.Get().(*jsonio.Arena)}
	for v := range values {
		w := &v.walker
		w.queue, w.mem, w.yield, w.addRecord = nil, mem, yield, addRecord
		if line = v.line; v.do != nil {
			v.do(w)
		} else {
			w.onlyValue(&v.in)
		}
	}
	arenas.Put(mem.strings)
}

// limitAhead gives runs of earlier values if too many are held.
func (w *walker) limitAhead() {
	if w.queue != nil {
		w.queue.Limit(maxAhead)
		w.checkStopped()
	}
}

// waitFor gives the runs of all earlier values before it may take long to read from the input.
func (w *walker) waitFor(in *input) {
	if in.mayBlock {
		w.flush()
	}
}

// waitForNext is waitFor for an input of which only white space may be in memory.
func (w *walker) waitForNext(in *input) {
	if w.queue != nil && in.mayBlock && len(bytes.TrimLeft(in.buf, " \t\r\n")) == 0 {
		w.waitFor(in)
	}
}
