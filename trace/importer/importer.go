// Package importer reads recordings of agent runs: looptape's own traces, lists of messages,
// sessions of coding agents and frameworks (Claude Code, Codex, the Claude Agent SDK, managed
// agents, ATIF, LangChain, LangSmith), the output of other tools (Inspect, tau-bench, tau2-bench,
// promptfoo, SWE-agent, ADK, the AI SDK, Langfuse), spans of OpenTelemetry and OpenInference, rows
// of JSON or CSV, and recordings of HTTP. See [Format].
// It recognizes a format by the content of the file and never by its name. A file may be
// compressed with gzip or zstd.
//
// One run of a file is in memory, except for the formats with [Format.WholeFile]; on several
// processors, also the next ones, up to 4 MiB of the file. Nothing of a message is lost:
// arguments keep their bytes, unknown members are opaque JSON, and unknown content parts are
// llm.Unknown. Of a file with invalid parts, all other parts are read, and each invalid part is
// an [Error]. Compressed files are read in bounded memory.
// Package trace/check checks the runs against the invariants.
//
// The strings of messages share memory with the buffers that the file was read to: 256 KiB
// or more (32 KiB for the events of a trace). A caller that keeps few of many strings should
// clone them.
package importer

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/trace/importer/internal/archive"
	"github.com/looptape/looptape/trace/importer/internal/format"
)

// Errors of a whole recording, wrapped in an [Error].
var (
	ErrFormat = errors.New("unknown format")
	ErrEmpty  = errors.New("the file is empty: check that its writer has finished")
)

// Error reports a part of a recording that cannot be read. Err is [ErrFormat] or [ErrEmpty]
// if nothing can be read.
type Error struct {
	File string
	Line int    // from 1; 0 if unknown
	Path string // of the value in the file, as in `[3].traj[7].role`; may be empty
	// Run is the run of a trace to which the line belongs; empty if unknown.
	Run string
	// Place is the run and the message of a part that was read but not understood; else empty.
	Place string
	Err   error
}

func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where += ":" + strconv.Itoa(e.Line)
	}
	if e.Path != "" {
		where += ": " + e.Path
	}
	where += ": " + e.Err.Error()
	if e.Place != "" {
		where += " (in " + e.Place + ")"
	}
	return where
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Source is an open recording. It is for use by one goroutine.
type Source struct {
	// Format is the recognized format.
	Format Format
	// ReuseRuns lets Runs use the memory of a run, its strings and errors too, for the next one. The
	// caller must not use a run after it asks for the next.
	ReuseRuns bool

	name   string
	in     *input
	text   *textReader // of the file
	lines  bool        // one value per line
	layout format.Layout
	line   int                // of the current event of a trace
	http   *convert.Recording // of a recording of HTTP
	zip    *archive.Archive
	rows   *rows  // how to read rows
	csv    *table // of rows in CSV
}

// Open recognizes the format of r. The name is for errors only. The error, if any, is an
// [*Error]. Open reads ahead. The caller closes r after the runs have been read. A ZIP is
// read in place if r is an io.ReaderAt and an io.Seeker, such as a file; otherwise it is held
// in memory.
func Open(name string, r io.Reader) (*Source, error) { return open(name, r, nil, sniff) }

type sniffer func(*format.Head) (f Format, layout format.Layout, ok bool)

// open reads rows with a mapping if mapping is not nil. Sniff recognizes other formats.
func open(name string, r io.Reader, mapping *rows, sniff sniffer) (*Source, error) {
	fail := func(err error) (*Source, error) { return nil, &Error{File: name, Err: err} }
	at, start := position(r)
	in, err := newInput(r)
	if err != nil {
		return fail(err)
	}
	b, err := in.head()
	switch {
	case err != nil && len(b) == 0:
		return fail(err)
	case len(bytes.TrimSpace(b)) == 0:
		return fail(ErrEmpty)
	case isUTF32(b):
		return fail(errors.New("the file is in UTF-32: convert it to UTF-8"))
	case isUTF16(b):
		return fail(errors.New("the file is in UTF-16: convert it to UTF-8"))
	}
	if text, ok := in.embedded(b); ok {
		if wrong := in.text.invalid; wrong != nil {
			return nil, &Error{File: name, Line: 1 + wrong.line, Err: wrong}
		}
		return open(name, strings.NewReader(text), mapping, sniff)
	}
	head := format.NewHead(b)
	s := &Source{name: name, in: in, text: in.text, lines: head.Lines, rows: mapping}
	if mapping != nil {
		s.Format, s.layout = rowsFormat, format.Layout{Elements: true}
	} else {
		var ok bool
		if s.Format, s.layout, ok = sniff(head); !ok {
			return fail(unknownFormat(head))
		}
		s.rows = new(rows)
	}
	err = nil
	switch {
	case s.layout.Zip:
		err = s.openZip(at, start)
	case s.Format.HTTP:
		err = s.openHTTP()
	case s.layout.YAML:
		err = s.openYAML()
	case head.CSV:
		err = s.openCSV()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// errorAt returns an error at a line and a path of the file; 0 and an empty path mean unknown.
func (s *Source) errorAt(line int, path string, err error) *Error {
	return &Error{File: s.name, Line: line, Path: path, Err: err}
}

// Runs yields the runs in the order of the file. Each error is an [*Error] for a part that
// cannot be read; the next runs follow if possible. With an error, Runs yields the messages
// before the invalid part as a partial run, or the zero Run if there are none. Runs may be
// used once.
func (s *Source) Runs() iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		w := walker{Source: s, yield: yield, mem: &memory{strings: newArena(len(s.in.buf))}, read: s.Format.read}
		switch {
		case s.zip != nil:
			w.concurrently()
			w.entries()
			w.endConcurrency()
		case s.Format.runs != nil:
			s.Format.runs(&w)
		default:
			w.concurrently()
			w.values()
			w.endConcurrency()
		}
		if err := s.encodingError(); err != nil && s.http == nil && !w.stopped {
			yield(Run{}, err)
		}
	}
}

// encodingError returns an error if the file, as far as it was read, is not UTF-8. Entries of a ZIP and
// lines of a trace have their own. A file of httprr has the bytes of HTTP.
func (s *Source) encodingError() error {
	wrong := s.text.invalid
	if wrong == nil || s.zip != nil || s.Format.Name == "trace" || s.Format.Name == "httprr" {
		return nil
	}
	return s.errorAt(1+wrong.line, "", wrong)
}
