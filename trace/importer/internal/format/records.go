package format

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/ordered"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/shape"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Records reads a recording whose runs consist of several records, usually one per line.
type Records interface {
	// Read decodes a value that begins on a line. The function that it returns adds the value to the
	// runs, and returns the runs that have ended. Several goroutines may call Read; the functions are
	// called by one, in the order of the values.
	Read(raw json.RawMessage, line int) (add func() []Run)
	// Skip notes that a value is invalid. Its messages are missing.
	Skip()
	// Runs returns the other runs. It is called last.
	Runs() []Run
}

// record is an object with a type. Members has its other members.
type record struct {
	line    int
	path    string // within the value on the line
	raw     json.RawMessage
	kind    string
	members fields

	decoded
}

// fields are the members of an object. A record has too few for a map.
type fields []field

type field struct {
	name  string
	value json.RawMessage
}

// get returns the value of a member. The last of equal names counts.
func (f fields) get(name string) json.RawMessage {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].name == name {
			return f[i].value
		}
	}
	return nil
}

// all returns the members for many lookups.
func (f fields) all() map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(f))
	for _, one := range f {
		all[one.name] = one.value
	}
	return all
}

// decoded is what a reader has decoded of a record before it is added to a run.
type decoded struct {
	messages []llm.Message
	invalid  *jsonio.SyntaxError
	unread   string          // what the messages do not have of the record; empty if nothing
	data     json.RawMessage // without the messages

	payloadKind string // of Codex
}

func newRecord(raw json.RawMessage, line int, path string) record {
	r := record{line: line, path: path, raw: raw}
	r.readMembers()
	return r
}

func (r *record) readMembers() {
	const most = 8 // of most records
	r.members = make(fields, 0, most)
	for name, value := range tree.Members(r.raw) {
		r.members = append(r.members, field{name, value})
	}
	r.kind = tree.Scalar(r.members.get("type"))
}

func (r *record) isObject() bool { return isObject(r.raw) }

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

func isArray(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '[' }

// without returns the record with a member of which the inner members with these names are omitted;
// nil if it does not have the member.
func (r *record) without(member string, inner ...string) json.RawMessage {
	if r.members.get(member) == nil {
		return nil
	}
	var data tree.Object
	for name, value := range tree.Members(r.raw) {
		if name == member {
			value = tree.Without(value, inner...)
		}
		data.Add(name, value)
	}
	return data.JSON()
}

// text returns the first of the members that is a string and not empty.
func (r *record) text(names ...string) string {
	for _, name := range names {
		if text, _ := tree.Text(r.members.get(name)); text != "" {
			return text
		}
	}
	return ""
}

// decodeElements returns the records of the values that elements yields. It decodes those of a long value concurrently.
func decodeElements(raw json.RawMessage, line int, names []string, decode func(*record)) (records []record, rest map[string]json.RawMessage) {
	rest = elements(raw, line, names, func(e Element) { records = append(records, record{line: e.Line, path: e.Path, raw: e.Raw}) })
	ordered.Each(len(records), len(raw), func(i int) {
		records[i].readMembers()
		decode(&records[i])
	})
	return records, rest
}

// readEach is [Records.Read] for a value whose records are added one after another.
func readEach(raw json.RawMessage, line int, decode func(*record), add func(*record) []Run) func() []Run {
	records, _ := decodeElements(raw, line, nil, decode)
	return func() (ended []Run) {
		for i := range records {
			ended = append(ended, add(&records[i])...)
		}
		return ended
	}
}

// elements yields the values in a value: the elements of an array, those of the array in one of the
// members, or the value itself. It returns the other members of an object with such an array.
func elements(raw json.RawMessage, line int, names []string, read func(Element)) (rest map[string]json.RawMessage) {
	d := jsonio.NewValidDec(jsonio.View(raw))
	counted := 0 // the bytes before line
	list := func(path string) {
		for n := range d.Elements() {
			value := tree.Next(raw, &d)
			line += bytes.Count(raw[counted:d.Offset()-len(value)], []byte{'\n'})
			counted = d.Offset() - len(value)
			read(Element{value, line, path + "[" + strconv.Itoa(n) + "]"})
		}
	}
	name := ""
	if names != nil {
		for key, value := range tree.Members(raw) {
			if isArray(value) && slices.Contains(names, key) {
				name = key
			}
		}
	}
	switch {
	case d.Peek() == '[':
		list("")
	case name == "":
		read(Element{raw, line, ""})
	default:
		rest = map[string]json.RawMessage{}
		for key := range d.Members() {
			if key == name {
				list(name)
				continue
			}
			rest[key] = tree.Next(raw, &d)
		}
	}
	return rest
}

// reportRecord reports a record that was not understood. It may have had any content.
func (r *Run) reportRecord(rec *record, what string) {
	r.Unknown = append(r.Unknown, Unknown{Line: rec.line, Path: rec.path, Err: errors.New(what)})
	r.lose()
}

// reportUsage reports the values in a usage of a record that are no counts. The messages are complete without them.
func (r *Run) reportUsage(rec *record, name string, usage json.RawMessage) {
	shape.Usage(name, usage, func(format string, args ...any) {
		r.Unknown = append(r.Unknown, Unknown{Line: rec.line, Path: rec.path, Err: fmt.Errorf(format, args...)})
	})
}

// lose notes that messages may be missing after those so far.
func (r *Run) lose() {
	if r.Gap == 0 {
		r.Gap = 1 + len(r.Messages)
	}
}

// Element is an element of a list in a recording. Its path is within the value on the line.
type Element struct {
	Raw  json.RawMessage
	Line int
	Path string
}

// Elements yields the elements of an array, or of the array in a member of an object, that begins
// on a line; for another value it yields the value.
func Elements(raw json.RawMessage, line int, member string, read func(Element)) {
	elements(raw, line, []string{member}, read)
}

// lists collects values by name.
type lists map[string]tree.List

func (l *lists) add(name string, raw json.RawMessage) {
	if *l == nil {
		*l = lists{}
	}
	list := (*l)[name]
	list.Add(raw)
	(*l)[name] = list
}

// moveTo moves the lists to the metadata of a run.
func (l lists) moveTo(run *Run) {
	for name, list := range l {
		run.SetMeta(name, list.JSON())
	}
}

// SetMeta sets a member of Meta.
func (r *Run) SetMeta(name string, raw json.RawMessage) {
	if r.Meta == nil {
		r.Meta = map[string]json.RawMessage{}
	}
	r.Meta[name] = raw
	if isObject(raw) || isArray(raw) || mayHaveJSON(raw) || slices.Contains(callNames, name) {
		r.others = append(r.others, name)
	}
}

// setUsage sets the usage that importer.Run.Resources returns.
func (r *Run) setUsage(u llm.Usage) {
	if u != (llm.Usage{}) {
		r.SetMeta("usage", u.AppendJSON(nil))
	}
}

// setCost sets the cost that importer.Run.Resources returns, unless it is 0.
func (r *Run) setCost(cost float64) {
	if cost > 0 {
		r.SetMeta("cost", strconv.AppendFloat(nil, cost, 'f', -1, 64))
	}
}

// setAnthropic reads a message of the Messages API. Its results become messages of their own.
func (r *record) setAnthropic(m json.RawMessage) {
	r.messages, r.invalid = message.DecodeOne(anthropic.Messages{}, "messages", m)
	isCall := func(p llm.Part) bool { _, ok := p.(llm.ToolCall); return ok }
	if !slices.ContainsFunc(r.messages, func(m llm.Message) bool { return slices.ContainsFunc(m.Parts, isCall) }) {
		return
	}
	if name, found := message.WithoutInput(m); found {
		r.unread = fmt.Sprintf(message.NotObject, name)
	}
}

// reportUnread reports what was not understood of a record whose messages are read.
func (r *Run) reportUnread(rec *record, path string) {
	if rec.unread != "" {
		r.reportWithin(rec, path, rec.unread)
	}
}

// reportWithin reports a value at a path within a record, whose messages are complete without it.
func (r *Run) reportWithin(rec *record, path, what string) {
	r.Unknown = append(r.Unknown, Unknown{Line: rec.line, Path: joinPath(rec.path, path), Err: errors.New(what)})
}

// number returns the number at a path within a record. It reports another value that is not null. It is 0 if there is none.
func (r *Run) number(rec *record, path string, raw json.RawMessage) float64 {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil && !tree.IsNull(raw) {
		r.reportWithin(rec, path, "expected a number")
	}
	return f
}

// addRecord adds the data of a record, if it is not nil, to opaque data.
func addRecord(opaque, data json.RawMessage) json.RawMessage {
	const name = "records"
	if data == nil {
		return opaque
	}
	if opaque == nil {
		const around = len(`{"":[]}`)
		with := append(append(make([]byte, 0, around+len(name)+len(data)), `{"`+name+`":[`...), data...)
		return append(with, "]}"...)
	}
	list := data
	if records := tree.Member(opaque, name); records != nil {
		list = slices.Concat(records[1:len(records)-1], json.RawMessage(","), data)
	}
	var with tree.Object
	for key, value := range tree.Members(opaque) {
		if key != name {
			with.Add(key, value)
		}
	}
	with.Raw(name, "["+string(list)+"]")
	return with.JSON()
}

// anthropicUsage reads the usage of the Messages API, in which input_tokens has no cached tokens.
func anthropicUsage(raw json.RawMessage) (u llm.Usage) {
	u.CacheReadInputTokens = tree.Count(raw, "cache_read_input_tokens")
	u.CacheCreationInputTokens = tree.Count(raw, "cache_creation_input_tokens")
	u.InputTokens = tree.Count(raw, "input_tokens") + u.CacheReadInputTokens + u.CacheCreationInputTokens
	u.OutputTokens = tree.Count(raw, "output_tokens")
	return u
}

// nameResults sets the names of results by the names of their calls, which it adds to names.
func nameResults(messages []llm.Message, names map[string]string) {
	for _, m := range messages {
		for i, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				names[p.ID] = p.Name
			case llm.ToolResult:
				p.Name = cmp.Or(p.Name, names[p.ID])
				m.Parts[i] = p
			default:
			}
		}
	}
}

// joinPath joins two paths, as importer.Error has them. An empty one adds nothing.
func joinPath(path, name string) string {
	if path == "" || name == "" || name[0] == '[' || name[0] == '.' {
		return strings.TrimPrefix(path+name, ".")
	}
	return path + "." + name
}
