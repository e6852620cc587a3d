// Package importer turns recordings into runs: looptape's own traces, OpenAI-style
// message lists, what tools write (Inspect, tau-bench, promptfoo, SWE-agent, ADK, the AI
// SDK), spans of OpenTelemetry, rows of JSON or CSV with prompts and answers, and
// recordings of HTTP (looptape's cassettes, those of go-vcr and vcrpy, HAR files, httprr
// traces), plain or compressed with gzip or zstd, told apart by their content and never by
// a name.
//
// It promises that a file is read one run at a time, however large it is (but for spans
// and recordings of HTTP, which are held whole), that nothing of a message is lost
// (arguments keep their bytes, unknown fields travel as opaque JSON, unknown content
// parts and spoken answers as llm.Unknown), and that a file which is broken in places
// gives all that can be read, with an error for each place that cannot. What a small
// file is decompressed to takes bounded memory. It judges nothing; see package check.
//
// The texts of messages share the memory that the file was read to, in buffers
// of 256 KiB and more (those of a trace's events in pieces of 32 KiB): one text
// that is kept keeps its buffer. Who keeps few of many clones them.
package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Format is a kind of recording.
type Format string

// The formats.
const (
	// FormatTrace is a trace as package trace writes it.
	FormatTrace Format = "trace"
	// FormatMessages is messages as OpenAI's Chat Completions spells them, or the AI SDK,
	// of whose UIMessages each step is a message, and the results of its calls another. A run
	// is an array of messages, or an object with such an array as "messages".
	// The file has one run, or one a line, or an array of runs.
	FormatMessages Format = "messages"
	// FormatMessageLines is one run, a message a line.
	FormatMessageLines Format = "message-lines"
	// FormatInspect is a log of Inspect, as JSON or as a ZIP of it (.eval). Each sample
	// of an epoch is a run. Of a ZIP, the place of a run is its entry and the line in it.
	// The events of samples in pieces (version 3 of the logs) are not read.
	FormatInspect Format = "inspect"
	// FormatTauBench is results of tau-bench: objects with the messages as
	// "traj", in an array or one a line.
	FormatTauBench Format = "tau-bench"
	// FormatSWEAgent is trajectories of SWE-agent, one in the file, one a line, or an array
	// of them. Each is a run.
	FormatSWEAgent Format = "swe-agent"
	// FormatPromptfoo is the results of promptfoo, as JSON or JSON Lines.
	FormatPromptfoo Format = "promptfoo"
	// FormatAISDK is results of the AI SDK: objects with steps, or with what the only step
	// has, one in the file, one a line, or an array of them.
	FormatAISDK Format = "ai-sdk"
	// Formats of Google's Agent Development Kit. Each case of a set is a run: of one
	// that was evaluated with what happened, of one that was not (an EvalSet, or a list
	// of turns as there was first) with what the user says alone, and in both with what
	// should come of it.
	FormatADKSet     Format = "adk-set"
	FormatADKResult  Format = "adk-result"
	FormatADKSession Format = "adk-session"
	// FormatTelemetry is spans with what models were asked and answered, after the
	// conventions of OpenTelemetry for generative AI, those of OpenLLMetry or those of
	// ADK: as OTLP in JSON, or as Tempo and Jaeger give them. Each conversation of a trace
	// is a run.
	FormatTelemetry Format = "otel"
	// FormatRows is rows with what was asked, and what was or should be answered, under
	// their usual names; or as OpenRows is told.
	FormatRows Format = "rows"
	// Recordings of HTTP: each request to a model, with its answer, is a run, so
	// that each of a conversation begins with the one before. See Exchanges.
	FormatCassette Format = "cassette" // looptape's own, or its journal
	FormatGoVCR1   Format = "go-vcr1"  // of go-vcr v1 and v2
	FormatGoVCR2   Format = "go-vcr2"  // of go-vcr v3 and v4
	FormatHAR      Format = "har"
	FormatVCRPy    Format = "vcrpy"
	FormatHTTPRR   Format = "httprr"
)

// ErrFormat says that a recording is in none of the formats above.
var ErrFormat = errors.New("its format is not known: it is no trace, no list of messages, nothing of Inspect, tau-bench, promptfoo, SWE-agent, ADK or the AI SDK, no spans, no rows with prompt and answer or with expected answers, and no recording of HTTP (a cassette of looptape, go-vcr or vcrpy, HAR, httprr)")

// ErrEmpty says that a recording has nothing but space in it.
var ErrEmpty = errors.New("it is empty; what should have written it wrote nothing")

// Error is a part of a recording that cannot be read. Err is what is wrong
// there, ErrFormat or ErrEmpty if it is all of it.
type Error struct {
	File string
	Line int    // counts from 1; 0 if no line is to blame
	Path string // of the value in the file, as in `[3].traj[7].role`; may be empty
	// Run is the run of the trace that the line belongs to, as far as the line
	// tells; else empty.
	Run string
	Err error
}

func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where += ":" + strconv.Itoa(e.Line)
	}
	if e.Path != "" {
		where += ": " + e.Path
	}
	return where + ": " + e.Err.Error()
}

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Run is one recorded run.
type Run struct {
	// Name is the trace's name of the run, or made of what the recording says
	// of it (task-3/trial-1), or of its place (run-7).
	Name string
	Line int // where the run begins
	// Case is what the run was to do and Epoch which of the runs of that case it is,
	// as the recording says it: else "" and NoEpoch. A trace says it in an CaseEvent.
	Case  string
	Epoch int
	// Cluster is what the case has in common with others, where a Mapping tells it.
	Cluster string
	// Scores are those that the recording carries.
	Scores []Score
	// Want is what the recording says should come of the run, and Answer the final text
	// that it names itself; else nothing and "".
	Expected Expected
	Answer   string
	// Messages is the whole conversation. Calls of the old function_call form,
	// which has no ids, have minted ones.
	Messages []llm.Message
	// Events is what happened; only a trace has them, and then no Messages.
	Events []trace.Event
	// Meta is what the recording says beside the messages (task_id, reward,
	// model …), as JSON; nil if nothing.
	Meta map[string]json.RawMessage
	// Head is what the recording says, before its runs, of all of them, by path; nil if
	// nothing. Runs share it: it is not to be changed.
	Head map[string]json.RawMessage
	// Partial says that the run goes on in the file, but cannot be read further.
	Partial bool
}

// Parent is the call that started the run, nil if none did or the recording does not say it.
func (r *Run) Parent() *trace.Parent {
	if len(r.Events) == 0 {
		return nil
	}
	start, _ := r.Events[0].Body.(trace.RunStart)
	return start.Parent
}

// Source is a recording that was opened. It is for one goroutine.
type Source struct {
	// Format is what the recording was found to be.
	Format Format

	name  string
	in    *input
	shape shape
	runs  int                // that were begun
	line  int                // of a trace's event
	http  *convert.Recording // nil if it is none of HTTP
	zip   *archive           // nil if it is none
	rows  *rows              // how to read them
	csv   *table             // nil if it is none
}

// Open finds out what r holds. The name stands in errors and is not looked at.
// The error, if any, is an *Error. Open reads ahead; the caller closes what r
// is made of when the runs have been read. A ZIP is read where it stands if r is an
// io.ReaderAt and an io.Seeker, as a file is, and held if not.
func Open(name string, r io.Reader) (*Source, error) {
	return open(name, r, nil)
}

// open takes what r holds for rows, if it is told how to read them.
func open(name string, r io.Reader, how *rows) (*Source, error) {
	at, start := position(r)
	in, err := newInput(r)
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	head, err := in.head()
	if err != nil && len(head) == 0 {
		return nil, &Error{File: name, Err: err}
	}
	if len(bytes.TrimSpace(head)) == 0 {
		return nil, &Error{File: name, Err: ErrEmpty}
	}
	if inUTF16(head) {
		return nil, &Error{File: name, Err: errors.New("it is in UTF-16; write it in UTF-8")}
	}
	if text, ok := in.wrapped(head); ok {
		return open(name, strings.NewReader(text), how)
	}
	s := &Source{name: name, in: in, rows: how}
	if how != nil {
		s.shape, _ = rowsIn(head)
	} else {
		var ok bool
		if s.shape, ok = sniff(head); !ok {
			return nil, &Error{File: name, Err: ErrFormat}
		}
		s.rows = new(rows)
	}
	s.Format = s.shape.format
	if err := s.openWhole(at, start); err != nil {
		return nil, err
	}
	return s, nil
}

// openWhole reads what has to be known before the first run.
func (s *Source) openWhole(at random, start int64) error {
	switch {
	case s.shape.zip:
		return s.openZip(at, start)
	case s.shape.http:
		return s.openHTTP()
	case s.shape.csv:
		return s.openCSV()
	}
	return nil
}

// Runs yields the runs in the order of the file. An error is an *Error for a
// part that cannot be read; the runs go on after it where that is possible. The
// Run beside an error holds the messages before the broken place and is Partial,
// or is the zero Run if there are none. Runs may be ranged over once.
func (s *Source) Runs() iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		w := walker{Source: s, yield: yield, mem: jsonio.Arena{Piece: pieceSize / 4}, read: reader(s.Format)}
		switch {
		case s.Format == FormatTrace:
			w.trace()
		case s.http != nil:
			w.exchanges()
		case s.zip != nil:
			w.entries()
		case s.Format == FormatRows:
			w.table()
		case s.Format == FormatTelemetry:
			w.spans()
		case s.Format == FormatMessageLines:
			w.messageLines()
		case s.shape.lines:
			w.lines()
		default:
			w.document()
		}
	}
}

// reader returns what reads a run of a format whose runs are values of JSON.
func reader(f Format) func(*jsonio.Dec, *Run) {
	switch f {
	case FormatInspect:
		return sample
	case FormatSWEAgent:
		return trajectory
	case FormatPromptfoo:
		return evaluated
	case FormatAISDK:
		return generated
	case FormatADKSet:
		return evalCase
	case FormatADKResult:
		return caseResult
	case FormatADKSession:
		return session
	default:
		return readList
	}
}
