package fake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/llm"
)

// Version is the version of the scenario format that this package reads and
// writes.
const Version = 1

// Script is a scenario: what the models and the tools do, what goes in, and
// what happens to the run meanwhile. It is the same as a scenario file says, but
// for Turn.Err, which a file can not hold.
type Script struct {
	// File is what the script was read from, for errors; it is not written.
	File string
	Name string
	Doc  string
	// Loop are the options of the loop, by name, in order.
	Loop   []Option
	Tools  []Tool
	Models []ModelScript
	// Gates open by themselves in this order. See Clock.OpenInOrder.
	Gates   []string
	System  string
	History []llm.Message
	Input   []llm.Message
	// Cancel is how the run is cancelled; nil means not at all.
	Cancel *Cancel
	// Consumer is how the run is listened to; nil means to the end.
	Consumer *Consumer
}

// Lane is the script of one model, by the name of its lane.
type ModelScript struct {
	Name      string
	Pos       Pos // of the name
	Responses []Response
}

// Cancel is how a run is cancelled: one of its fields is set.
type Cancel struct {
	Before      bool          // before it starts
	At          time.Duration // at this virtual time after its start
	InTool      string        // when this tool is entered first
	AfterEvents int           // when so many events of the run have come
}

// Consumer is how a run is listened to.
type Consumer struct {
	StopAfter int // leaves after so many events; 0 means at the end
}

// NewModel returns the scripted model. Its lanes are the script's models; the
// first of them answers requests that name no lane.
func (s *Script) NewModel(clock *Clock) *Model {
	m := &Model{Clock: clock, Sessions: map[string][]Response{}}
	for _, l := range s.Models {
		m.Sessions[l.Name] = l.Responses
	}
	if len(s.Models) > 0 {
		m.Default = s.Models[0].Name
	}
	return m
}

// SyntaxError says what is wrong with a scenario file, and where.
type SyntaxError struct {
	File      string
	Line, Col int // from 1; Col counts characters; 0 where it is not known
	Msg       string
}

// Error is FILE:LINE:COLUMN: MESSAGE, without what is not known.
func (e *SyntaxError) Error() string {
	at := e.File
	for _, n := range []int{e.Line, e.Col} {
		if n != 0 {
			at += ":" + strconv.Itoa(n)
		}
	}
	return strings.TrimPrefix(at+": ", ": ") + e.Msg
}

// Pos is a place in a scenario file. The zero value is none.
type Pos struct{ Line, Col int }

// Errorf returns a *SyntaxError for what stands at this place of the script's
// file.
func (s *Script) Errorf(at Pos, format string, args ...any) error {
	return &SyntaxError{s.File, at.Line, at.Col, fmt.Sprintf(format, args...)}
}

// ParseScript reads a scenario file, which is YAML as the published JSON Schema
// says. The name is for errors. All errors that are found are returned together
// (up to 20), each a *SyntaxError.
func ParseScript(name string, src []byte) (*Script, error) { return ParseScriptAt(name, 1, src) }

// ParseScriptAt is ParseScript for a text that begins at this line of its file,
// as a part of an archive does.
func ParseScriptAt(name string, line int, src []byte) (*Script, error) {
	r := &reader{file: name, before: line - 1}
	s := &Script{}
	if root := r.document(src); root != nil {
		r.refuse(root)
		if len(r.errs) == 0 {
			*s = scriptCodec().read(r, root)
		}
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	s.File = name
	return s, nil
}

// err is what is wrong, of many things the first.
func (r *reader) err() error { return errors.Join(r.errs[:min(len(r.errs), 20)]...) }

// YAML writes the script as a scenario file: ParseScript gives an equal one
// again, positions and the File aside, unless it refuses a script that
// contradicts itself. JSON is written without insignificant
// space, and empty members of llm types as if they were absent.
func (s *Script) YAML() ([]byte, error) {
	for _, l := range s.Models {
		for i, t := range l.Responses {
			for _, a := range append([]Response{t}, t.Attempts...) {
				if a.Err != nil {
					return nil, fmt.Errorf("fake: turn %d of model %q has an Err, which a file can not hold; use Error", i+1, l.Name)
				}
			}
		}
	}
	n := scriptCodec().write(*s)
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(n), enc.Close()); err != nil {
		return nil, fmt.Errorf("fake: the script %q can not be written as YAML: %w", s.Name, err)
	}
	return b.Bytes(), nil
}

// document returns the root of the only YAML document of src.
func (r *reader) document(src []byte) *yaml.Node {
	if !r.clean(src) {
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		r.errorAt(1, 1, "the file is empty; it needs at least version: %d", Version)
		return nil
	case err != nil:
		r.yamlError(dec, err)
		return nil
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		r.errorf(&more, "a second YAML document begins here; put one document in a file")
		return nil
	case !errors.Is(err, io.EOF):
		r.yamlError(dec, err)
		return nil
	}
	return doc.Content[0]
}
