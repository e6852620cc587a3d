package format

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Head is the beginning of a recording, which may end anywhere.
type Head struct {
	Bytes []byte
	// Lines is true if each line is a value of its own, so that an invalid line does not
	// affect the others.
	Lines bool
	// CSV is true if the recording is not JSON. Keys then has the names of the columns.
	CSV bool
	// Object is true if the first value is an object and not an array. Empty is true for an
	// array without elements, Nested for an array whose first element is an array.
	Object, Empty, Nested bool
	// Keys are the names of the members of the first object, as far as they can be read.
	// Format and Role are the strings of its members with these names.
	Keys         []string
	Format, Role string
	// First is the first object; nil if it is longer than the beginning, or invalid.
	First json.RawMessage

	values []byte // the first byte of the value of each of Keys; 0 if it is not there
}

// NewHead parses the beginning of a recording, whose memory it uses.
func NewHead(b []byte) *Head {
	h := &Head{Bytes: b}
	text := strings.TrimLeft(jsonio.View(b), " \t\r\n")
	if isEvents(text) {
		return h
	}
	if text == "" || text[0] != '{' && text[0] != '[' {
		h.CSV = true
		h.Keys, _ = csv.NewReader(bytes.NewReader(b)).Read() // nil if it is not CSV
		return h
	}
	var first string
	first, h.Lines = firstLine(tree.QuoteNonFinite(text))
	d := jsonio.NewDec(first)
	if h.Object = d.Peek() == '{'; !h.Object {
		more := true
		d.Array()
		if !d.More(&more) {
			h.Empty = d.Err() == nil
			return h
		}
		h.Nested = d.Peek() == '['
	}
	h.members(&d)
	return h
}

func (h *Head) members(d *jsonio.Dec) {
	if d.Peek() != '{' {
		return
	}
	from := d.Offset()
	for key := range d.Members() {
		h.Keys, h.values = append(h.Keys, key), append(h.values, d.Peek())
		switch isText := d.Peek() == '"'; {
		case key == "format" && isText:
			h.Format = d.String()
		case key == "role" && isText:
			h.Role = d.String()
		default:
			d.Skip()
		}
	}
	if d.Err() == nil {
		h.First = jsonio.Bytes(d.Since(from))
	}
}

// firstLine returns the first line, or the second if the first is invalid, and true if the
// line is a JSON value with more lines next to it; else it returns the whole text.
func firstLine(text string) (line string, ok bool) {
	first, rest, _ := strings.Cut(text, "\n")
	rest = strings.TrimLeft(rest, " \t\r\n")
	if rest == "" {
		return text, false
	}
	if jsonio.ValidText(first) {
		return first, true
	}
	second, third, ended := strings.Cut(rest, "\n")
	bracket := len(strings.TrimSpace(first)) == 1
	third = strings.TrimLeft(third, " \t\r\n") // in a value of several lines it closes brackets
	isLine := third == "" || third[0] == text[0]
	if ended && !bracket && isLine && second[0] == text[0] && jsonio.ValidText(second) {
		return second, true
	}
	return text, false
}

// Has reports whether the first object has any of the members. CSV has none.
func (h *Head) Has(names ...string) bool { return !h.CSV && h.names(names) }

// HasValue reports whether the first object has a member whose value begins with one of the bytes, or is not
// in the beginning.
func (h *Head) HasValue(name, begins string) bool {
	i := slices.Index(h.Keys, name)
	return i >= 0 && !h.CSV && (h.values[i] == 0 || strings.IndexByte(begins, h.values[i]) >= 0)
}

// names reports whether the first object or CSV has any of the names.
func (h *Head) names(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(h.Keys, n) })
}

// Contains reports whether any of the texts is in the beginning. A member may be longer than
// the beginning, so that its own members cannot be read.
func (h *Head) Contains(texts ...string) bool {
	var quoted [16]byte
	second := quoted[:0] // the bytes after the quotation marks with which most texts begin
	for _, text := range texts {
		if text[0] != '"' {
			return slices.ContainsFunc(texts, func(text string) bool { return bytes.Contains(h.Bytes, []byte(text)) })
		}
		second = append(second, text[1])
	}
	for rest := h.Bytes; ; {
		_, after, found := bytes.Cut(rest, []byte{'"'})
		if !found {
			return false
		}
		rest = after
		if len(rest) > 0 && bytes.IndexByte(second, rest[0]) >= 0 &&
			slices.ContainsFunc(texts, func(text string) bool { return bytes.HasPrefix(rest, []byte(text[1:])) }) {
			return true
		}
	}
}

// Layout is where the runs are in a recording. The zero value is a single run.
type Layout struct {
	Elements bool     // the elements of an array at the top are runs; else the array is a run's messages
	Array    bool     // an array at the top is read as one run by the format itself
	Path     []string // names of the members that lead to the array of runs
	Zip      bool     // the recording is a ZIP
	YAML     bool     // the recording is one YAML document, which becomes JSON
}

var runsInArray = Layout{Elements: true}
