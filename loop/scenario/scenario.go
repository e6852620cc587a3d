// Package scenario runs scenario files and makes scenario files of recorded runs. A
// scenario contains what the models and the tools do, the options of the loop, and the
// expected trace.
//
// The same file gives the same trace, byte for byte, on any machine. A run uses the virtual
// clock of package fake, so its delays take no time. Package check verifies the invariants
// of a run.
package scenario

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/linediff"
	"github.com/looptape/looptape/trace"
)

// The sections of an archive.
const (
	scriptSection = "scenario.yaml"
	traceSection  = "trace"
	partsSection  = "parts" // the stream of a preset, one JSON value per line
)

// File is a scenario file: a txtar archive with a comment, the script and the expected
// trace, or the YAML of the script.
type File struct {
	Name    string
	Comment string
	Script  *fake.Script
	// Trace is the expected canonical trace in the text form, if HasTrace is true.
	Trace    string
	HasTrace bool
	Parts    string
	HasParts bool

	archive txtar.Archive // without files for plain YAML
	src     []byte        // of the script
	line    int           // at which it begins
}

// Parse reads a scenario file. The name is for errors, which contain the line and the
// column. Parse also rejects scripts that cannot run: without models, with an invalid tool
// or with an invalid option.
func Parse(name string, src []byte) (*File, error) {
	f := &File{Name: name, archive: txtar.Archive{Comment: []byte("\n")}}
	a := txtar.Parse(src)
	if len(a.Files) == 0 {
		if err := f.parseScript(1, src); err != nil {
			return nil, err
		}
		return f, nil
	}
	f.archive, f.Comment = *a, string(a.Comment)
	line := 1 + bytes.Count(a.Comment, []byte("\n"))
	seen := map[string]bool{}
	for _, part := range a.Files {
		line++ // the marker
		if seen[part.Name] {
			return nil, fmt.Errorf("%s:%d: duplicate section %s", name, line-1, part.Name)
		}
		seen[part.Name] = true
		data := string(part.Data)
		switch part.Name {
		case scriptSection:
			if err := f.parseScript(line, part.Data); err != nil {
				return nil, err
			}
		case traceSection:
			f.Trace, f.HasTrace = data, true
		case partsSection:
			f.Parts, f.HasParts = data, true
		default:
			return nil, fmt.Errorf("%s:%d: unknown section %q: want %s, %s or %s", name, line-1, part.Name, scriptSection, traceSection, partsSection)
		}
		line += strings.Count(data, "\n")
	}
	if f.Script == nil {
		return nil, fmt.Errorf("%s: missing section %q", name, scriptSection)
	}
	return f, nil
}

// parseScript reads the script, which begins at a line of the file.
func (f *File) parseScript(line int, src []byte) (err error) {
	f.src, f.line = src, line
	padding := bytes.Repeat([]byte("\n"), line-1)
	if f.Script, err = fake.ParseScript(f.Name, append(padding, src...)); err != nil {
		return err
	}
	_, err = validate(f.Script, fake.Pos{Line: line, Col: 1})
	return err
}

// With returns the file with the result as the expected result. A script of version 1 gets
// the keys of version 2. All else is unchanged, byte for byte.
func (f *File) With(o *Result) []byte {
	a := f.archive
	a.Files = slices.Clone(a.Files)
	set := func(name, data string) {
		i := slices.IndexFunc(a.Files, func(p txtar.File) bool { return p.Name == name })
		if i < 0 {
			i = len(a.Files)
			a.Files = append(a.Files, txtar.File{Name: name})
		}
		a.Files[i].Data = []byte(data)
	}
	set(scriptSection, f.upgrade())
	set(traceSection, o.Trace())
	if f.HasParts {
		set(partsSection, o.Parts())
	}
	return txtar.Format(&a)
}

// upgrade returns the script with the keys of version 2. It keeps formatting and comments.
func (f *File) upgrade() string {
	var out strings.Builder
	renames := maps.Clone(f.Script.Renames)
	if r, err := readOptions(f.Script, nil); err == nil {
		maps.Copy(renames, r.renames)
	}
	places := slices.Collect(maps.Keys(renames))
	sort.Slice(places, func(i, j int) bool { return places[i].Col < places[j].Col })
	n := f.line
	for line := range strings.Lines(string(f.src)) {
		rest, col := []rune(line), 1
		for _, at := range places {
			if at.Line != n {
				continue
			}
			was := renames[at][0]
			out.WriteString(string(rest[:at.Col-col]))
			rest, col = rest[at.Col-col:], at.Col
			if q := string(rest[0]); strings.HasPrefix(string(rest), q+was+q) {
				was = q + was + q
			}
			out.WriteString(renames[at][1])
			rest, col = rest[len([]rune(was)):], col+len([]rune(was))
		}
		out.WriteString(string(rest))
		n++
	}
	return out.String()
}

// Compare returns the difference between the result and the expected result. It is empty if
// they are equal or if the file expects nothing.
func (f *File) Compare(o *Result) string {
	var out string
	want, came, parts, cameParts := f.Trace, o.Trace(), f.Parts, o.Parts()
	if isV1(want) {
		cameParts = withoutNewParts(cameParts)
		want, came, parts = withoutDigest(want), withoutDigest(trace.FormatTextV1(trace.Canonical(withoutNewOptions(o.Events)))), currentParts(parts)
	}
	if f.HasTrace {
		out = sectionDiff(traceSection, want, came)
	}
	if f.HasParts {
		out += sectionDiff(partsSection, parts, cameParts)
	}
	return out
}

// sectionDiff is the difference of a section.
func sectionDiff(name, want, got string) string {
	text, at := linediff.Lines(want, got)
	if text == "" {
		return ""
	}
	return fmt.Sprintf("%s, from line %d (-want +got):\n%s", name, at, text)
}
