// Package convert reads what other recorders wrote, and writes it for them: go-vcr's
// formats 1 (v1, v2) and 2 (v3, v4), HAR 1.2, vcrpy's version 1, and, to read only,
// httprr's traces.
//
// Bodies come through byte for byte, as the client of the recording got them. What a
// format cannot say is left out, and told. Secrets stay as they are.
package convert

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/looptape/looptape/cassettes"
)

// Format is a format of recordings that can be written.
type Format string

// The formats.
const (
	Cassette Format = "cassette" // looptape's own
	GoVCR1   Format = "go-vcr1"  // of go-vcr v1 and v2
	GoVCR2   Format = "go-vcr2"  // of go-vcr v3 and v4
	HAR      Format = "har"      // HTTP Archive 1.2
	VCRPy    Format = "vcrpy"    // vcrpy's YAML, version 1
)

// Formats are all formats, in the order in which they are listed.
func Formats() []Format { return []Format{Cassette, GoVCR1, GoVCR2, HAR, VCRPy} }

// ErrUnknown means that a file is no recording in a format that is read.
var ErrUnknown = errors.New("it is not a recording that can be read; looptape's cassettes, those of go-vcr and vcrpy, HAR files and httprr traces can")

// Recording is what a file of a recorder says.
type Recording struct {
	Interactions []*cassettes.Interaction
	Metadata     cassettes.Metadata
	// Format is the one that the file is in; it is empty for one that is not written.
	Format Format
	// Broken says that it is the journal of a recording that was not closed: a
	// *cassettes.IncompleteError, or nil.
	Incomplete error
	// Lines are those of the file on which the interactions begin, counted from 1; nil
	// if they are not known.
	Lines []int

	src []byte
}

// Parse reads a recording in any of the formats, which its content tells; name is what
// errors call it. It keeps src. The error is a *cassettes.FormatError.
//
// Streams of server-sent events have a piece for each event, with no times known. Where
// the file does not say when it was recorded, the first Date of a response does.
func Parse(name string, src []byte) (*Recording, error) {
	r := &reader{Recording: Recording{src: src}}
	err := r.read(name)
	if err == nil {
		if r.Metadata.Recorded.IsZero() {
			r.Metadata.Recorded = recordedAt(r.Interactions)
		}
		return &r.Recording, nil
	}
	if at, ok := errors.AsType[*cassettes.FormatError](err); ok && at.File == name {
		return nil, at
	}
	return nil, &cassettes.FormatError{File: name, Line: r.line, Err: err}
}

// Read is Parse for who needs no more.
func Read(name string, src []byte) ([]*cassettes.Interaction, cassettes.Metadata, error) {
	r, err := Parse(name, src)
	if err != nil {
		return nil, cassettes.Metadata{}, err
	}
	return r.Interactions, r.Metadata, nil
}

// reader reads a recording.
type reader struct {
	Recording
	line int // of what is read, from 1; 0 if it is not known
}

func (r *reader) read(name string) error {
	start := bytes.TrimLeft(bytes.TrimPrefix(r.src, []byte("\ufeff")), " \t\r\n")
	switch {
	case cassettes.IsCassette(r.src):
		return r.cassette(name)
	case bytes.HasPrefix(r.src, []byte(httprrMagic)):
		return r.httprr()
	case bytes.HasPrefix(start, []byte("{")):
		return r.json(start)
	case bytes.HasPrefix(start, []byte("[")):
		return errOldVCRPy
	}
	return r.yaml(r.src)
}

// cassette reads looptape's own format.
func (r *reader) cassette(name string) error {
	f, err := cassettes.Parse(name, r.src)
	if err != nil {
		return err
	}
	r.Format, r.Metadata, r.Incomplete, r.Lines = Cassette, f.Metadata, f.Incomplete(), f.Lines()
	for x, err := range f.All() {
		if err != nil {
			return err
		}
		r.Interactions = append(r.Interactions, x)
	}
	return nil
}

// add adds an interaction, or says what is wrong with it.
func (r *reader) add(x *cassettes.Interaction) error {
	if err := finish(x); err != nil {
		return r.wrong(err)
	}
	r.Interactions, r.Lines = append(r.Interactions, x), append(r.Lines, r.line)
	return nil
}

// wrong is an error in the interaction that is next.
func (r *reader) wrong(err error) error {
	return fmt.Errorf("interaction %d: %w", len(r.Interactions)+1, err)
}
