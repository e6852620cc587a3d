// Package scenario makes a run of a scenario file: what the models and the tools
// do, the options of the loop, and the trace that must come out.
//
// A scenario is a function: the same file gives the same trace, byte for byte,
// on any machine. It runs on a virtual clock (package fake), so its delays cost
// nothing. The package runs and compares; whether a run kept its promises is
// for package check to say.
package scenario

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/trace"
)

// The sections of an archive.
const (
	ScriptSection = "scenario.yaml"
	TraceSection  = "trace"
	// PartsSection holds, one JSON a line, what a preset's own stream shows.
	PartsSection = "parts"
)

// File is a scenario file: a txtar archive with a comment, the script and the
// expected trace, or the script's YAML alone.
type File struct {
	Name    string
	Comment string
	Script  *fake.Script
	// Trace is the expected canonical trace in its text form; HasTrace tells
	// whether the file has one.
	Trace    string
	HasTrace bool
	Parts    string
	HasParts bool

	archive *txtar.Archive // nil for plain YAML
	src     []byte
}

// Parse reads a scenario file; the name is for errors, which tell line and
// column in the file. What can never run is an error already here: a script
// without models, a tool that no loop takes, an option that does not fit.
func Parse(name string, src []byte) (*File, error) {
	f := &File{Name: name, src: src}
	a := txtar.Parse(src)
	if len(a.Files) == 0 {
		if err := f.parseScript(1, src); err != nil {
			return nil, err
		}
		return f, nil
	}
	f.archive, f.Comment = a, string(a.Comment)
	line := 1 + bytes.Count(a.Comment, []byte("\n"))
	for _, part := range a.Files {
		line++ // the marker
		data := string(part.Data)
		var twice bool
		switch part.Name {
		case ScriptSection:
			twice = f.Script != nil
			if err := f.parseScript(line, part.Data); err != nil {
				return nil, err
			}
		case TraceSection:
			twice = f.HasTrace
			f.Trace, f.HasTrace = data, true
		case PartsSection:
			twice = f.HasParts
			f.Parts, f.HasParts = data, true
		default:
			return nil, fmt.Errorf("%s:%d: there is no section %q in a scenario; the sections are %s, %s and %s", name, line-1, part.Name, ScriptSection, TraceSection, PartsSection)
		}
		if twice {
			return nil, fmt.Errorf("%s:%d: the section %s is there twice", name, line-1, part.Name)
		}
		line += strings.Count(data, "\n")
	}
	if f.Script == nil {
		return nil, fmt.Errorf("%s: no section %q", name, ScriptSection)
	}
	return f, nil
}

// parseScript reads the script, which begins at this line of the file.
func (f *File) parseScript(line int, src []byte) (err error) {
	if f.Script, err = fake.ParseScriptAt(f.Name, line, src); err != nil {
		return err
	}
	return valid(f.Script, fake.Pos{Line: line, Col: 1})
}

// With returns the file's text with what came out as what is expected. All else
// stays as it was, byte for byte.
func (f *File) With(o *Result) []byte {
	a := txtar.Archive{Comment: []byte("\n")}
	if f.archive == nil {
		a.Files = []txtar.File{{Name: ScriptSection, Data: f.src}}
	} else {
		a.Comment, a.Files = f.archive.Comment, slices.Clone(f.archive.Files)
	}
	set := func(name, data string) {
		i := slices.IndexFunc(a.Files, func(p txtar.File) bool { return p.Name == name })
		if i < 0 {
			a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(data)})
			return
		}
		a.Files[i].Data = []byte(data)
	}
	set(TraceSection, o.Trace())
	if f.HasParts {
		set(PartsSection, o.Parts())
	}
	return txtar.Format(&a)
}

// Compare tells how what came out differs from what the file expects; empty if
// it does not, or if the file expects nothing.
func (f *File) Compare(o *Result) string {
	var out string
	came, parts := o.Trace(), f.Parts
	if isV1(f.Trace) {
		came, parts = trace.FormatTextV1(trace.Canonical(o.Events)), currentParts(parts)
	}
	if f.HasTrace {
		out = lineDiff(TraceSection, f.Trace, came)
	}
	if f.HasParts {
		out += lineDiff(PartsSection, parts, o.Parts())
	}
	return out
}

// lineDiff shows the lines of two texts from a little before the first that
// differs.
func lineDiff(name, want, got string) string {
	if want == got {
		return ""
	}
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	at := 0
	for w[at] == g[at] { // up to a last line at most: that alone does not end in a newline
		at++
	}
	end := 0
	for end < min(len(w), len(g))-at && w[len(w)-1-end] == g[len(g)-1-end] {
		end++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, from line %d (- expected, + came):\n", name, at+1)
	put := func(sign string, lines []string) {
		for _, l := range lines {
			if l != "" {
				b.WriteString(sign + strings.TrimSuffix(l, "\n") + "\n")
			}
		}
	}
	put("  ", w[max(0, at-2):at])
	put("- ", w[at:len(w)-end])
	put("+ ", g[at:len(g)-end])
	return b.String()
}
