package fake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/fake/internal/yamlfile"
	"github.com/looptape/looptape/internal/visible"
	"github.com/looptape/looptape/llm"
)

// Script is a scenario: the responses of the models, the behavior of the tools, the input
// and what happens to the run meanwhile. It has all that a scenario file contains, and
// [Response.Err], which a file cannot contain.
type Script struct {
	// File is the name of the file, for errors. It is not written.
	File string
	// Version is the version of the file: 1 or 2. The names in Loop are those of the
	// version; 0 means 2. YAML writes version 2.
	Version int
	// Renames has the keys of a file of version 1 by position, each with its name in
	// version 2.
	Renames map[Pos][2]string
	Name    string
	Doc     string
	// Loop contains the options of the loop, in order.
	Loop   []Option
	Tools  []Tool
	Models []ModelScript
	// Gates open in this order. See [Clock.OpenInOrder].
	Gates   []string
	System  string
	History []llm.Message
	Input   []llm.Message
	// Cancel is when the run is canceled; nil means never.
	Cancel *Cancel
	// StopAfter is the number of events after which the consumer stops the iteration; 0
	// means that it reads all events.
	StopAfter int
}

// ModelScript is the script of one model. Name is its session.
type ModelScript struct {
	Name      string
	Pos       Pos // of the name
	Responses []Response
}

// Cancel is when a run is canceled. One of its fields is set.
type Cancel struct {
	Before      bool          // before the run starts
	At          time.Duration // at this virtual time after the start
	InTool      string        // at the first call of this tool
	AfterEvents int           // after this number of events
}

// NewModel returns the scripted model. Its sessions are the script's models. The first one
// is the default.
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

// SyntaxError is an error in a scenario file, with its position.
type SyntaxError struct {
	File      string
	Line, Col int // from 1; Col counts characters; 0 means unknown
	Msg       string
}

// Error returns FILE:LINE:COLUMN: MESSAGE without the unknown parts.
func (e *SyntaxError) Error() string {
	at := e.File
	for _, n := range []int{e.Line, e.Col} {
		if n != 0 {
			at += ":" + strconv.Itoa(n)
		}
	}
	return strings.TrimPrefix(at+": ", ": ") + e.Msg
}

// Pos is a position in a scenario file. The zero value means unknown.
type Pos struct{ Line, Col int }

// Errorf returns a [*SyntaxError] for this position.
func (s *Script) Errorf(at Pos, format string, args ...any) error {
	return &SyntaxError{s.File, at.Line, at.Col, fmt.Sprintf(format, args...)}
}

// ParseScript reads a scenario file, which is YAML by the published JSON Schema. The name
// is for errors. It returns up to 20 errors, joined, each a [*SyntaxError].
func ParseScript(name string, src []byte) (*Script, error) {
	r, s, renames := newReader(name), &Script{}, map[Pos][2]string{}
	r.Renamed = func(key *yaml.Node, current string) { renames[pos(key)] = [2]string{key.Value, current} }
	if root := r.Document(src); root != nil {
		r.CheckYAML(root)
		if v := yamlfile.Child(root, "version"); v != nil && versionOf(v) == 1 {
			r.Old = version1
		}
		if len(r.Errs) == 0 {
			var form scenario
			scriptCodec.Read(r, root, &form)
			*s = form.Script
			s.StopAfter = form.Consumer.StopAfter
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	s.File, s.Renames = name, renames
	return s, nil
}

// YAML returns the script as a scenario file. [ParseScript] returns an equal script for it,
// except for positions and File, unless it rejects a contradiction in the script. JSON is
// written without insignificant space, and empty members of llm types are omitted. It
// returns an error if a Response has an Err.
func (s *Script) YAML() ([]byte, error) {
	for _, l := range s.Models {
		for i, t := range l.Responses {
			for _, a := range append([]Response{t}, t.Attempts...) {
				if a.Err != nil {
					return nil, fmt.Errorf("fake: response %d of model %q: a file cannot contain Err: set Error", i+1, l.Name)
				}
			}
		}
	}
	form := scenario{*s, consumer{s.StopAfter}}
	form.Version = 2
	n := scriptCodec.Write(&form)
	quoteCommands(n)
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(n), enc.Close()); err != nil {
		return nil, fmt.Errorf("fake: write the script %q: %w", s.Name, err)
	}
	return visible.QuotedYAML(b.Bytes()), nil // the writer puts such strings into double quotes
}

// quoteCommands puts strings with commands for a CI system into double quotes, in which they are escaped.
func quoteCommands(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && visible.IsCommand(n.Value) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		quoteCommands(child)
	}
}

// newReader returns a reader whose errors are syntax errors of the named file.
func newReader(file string) *yamlfile.Reader {
	return &yamlfile.Reader{NewError: func(line, col int, message string) error { return &SyntaxError{file, line, col, message} }}
}

func pos(n *yaml.Node) Pos { return Pos{n.Line, n.Column} }

// versionOf returns the version of the format; 0 means unknown.
func versionOf(n *yaml.Node) int {
	if n.ShortTag() != "!!int" {
		return 0
	}
	return slices.Index([]string{"1", "2"}, n.Value) + 1
}

// buildSchema builds the JSON Schema (2020-12) of scenario files from the codecs. The
// published one is schema/scenario-v2.schema.json.
func buildSchema() ([]byte, error) {
	d := yamlfile.Defs{}
	scriptCodec.Schema(d)
	root := maps.Clone(d["scenario"])
	delete(d, "scenario")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "looptape scenario, version 2"
	root["required"] = []string{"version"}
	root["$defs"] = d
	out, err := json.MarshalIndent(root, "", "  ")
	return append(out, '\n'), err
}
