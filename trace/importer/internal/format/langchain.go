package format

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/ordered"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffLangChain recognizes messages of LangChain: a list of them, one per line, or an object such
// as a state of LangGraph with a list of them.
func SniffLangChain(h *Head) (Layout, bool) {
	state := h.Has("messages", "values", "channel_values")
	m := h.Has("type") && !h.Has("role") && h.Has("content", "data", "lc") && !h.Has("parentUuid", "payload", "event")
	return Layout{Array: true}, (state || m || h.Nested) &&
		h.Contains(`"additional_kwargs"`, `"response_metadata"`, `"type":"human"`, `"type": "human"`, `"type":"ai"`, `"type": "ai"`, `"lc":1`, `"lc": 1`)
}

// langChain reads messages of LangChain. Each state and each list is a run; messages on lines of
// their own are one run.
type langChain struct {
	n    int // runs so far
	open *langChainRun
}

type langChainRun struct {
	Run
	reader message.Reader
	usage  llm.Usage
	other  lists
}

// NewLangChain returns a reader of messages of LangChain.
func NewLangChain() Records { return &langChain{} }

// Read implements Records.
func (l *langChain) Read(raw json.RawMessage, line int) func() []Run {
	if message.IsLangChain(raw) {
		r := newRecord(raw, line, "")
		r.decodeLangChain()
		return func() []Run { return l.add(&r) }
	}
	values := []Element{{raw, line, ""}}
	if first := tree.Element(raw, "0"); len(first) > 0 && (first[0] == '[' || !message.IsLangChain(first) && tree.First(first, stateMembers...) != nil) {
		values = nil
		Elements(raw, line, "", func(e Element) { values = append(values, e) })
	}
	states := make([]langChainRun, len(values))
	ordered.Each(len(values), len(raw), func(i int) {
		states[i].Run = Run{Line: values[i].Line, Epoch: NoEpoch}
		states[i].state(values[i].Raw, values[i].Line, values[i].Path)
	})
	return func() (ended []Run) {
		for i := range states {
			states[i].Name = l.nextName()
			ended = append(ended, states[i].end())
		}
		return ended
	}
}

// decodeLangChain converts a message to a form of package message, which is the data of its record.
func (r *record) decodeLangChain() {
	var err error
	if r.data, err = message.LangChain(r.raw); err != nil {
		r.invalid = &jsonio.SyntaxError{Msg: err.Error()}
	}
}

// nextName returns the name of the next run.
func (l *langChain) nextName() string {
	l.n++
	return "run-" + strconv.Itoa(l.n)
}

// add adds a message on a line of its own.
func (l *langChain) add(r *record) []Run {
	if l.open == nil {
		l.open = &langChainRun{Run: Run{Name: l.nextName(), Line: r.line, Epoch: NoEpoch}}
	}
	l.open.add(r)
	return nil
}

// Skip implements Records.
func (l *langChain) Skip() {
	if l.open != nil {
		l.open.lose()
	}
}

// Runs implements Records.
func (l *langChain) Runs() (runs []Run) {
	if l.open != nil {
		runs = []Run{l.open.end()}
	}
	return runs
}

// stateMembers are the members of a state of LangGraph, of a checkpoint and of a thread that have
// messages.
var stateMembers = []string{"messages", "values", "channel_values"}

// state reads a list of messages, or an object that has one.
func (r *langChainRun) state(raw json.RawMessage, line int, path string) {
	for _, name := range stateMembers[1:] {
		if inner := tree.Member(raw, name); tree.Member(inner, "messages") != nil {
			at := line + bytes.Count(raw[:max(0, bytes.Index(raw, inner))], []byte{'\n'})
			r.keep(tree.Without(raw, name))
			raw, line, path = inner, at, joinPath(path, name)
		}
	}
	records, rest := decodeElements(raw, line, stateMembers[:1], (*record).decodeLangChain)
	for i := range records {
		rec := &records[i]
		rec.path = joinPath(path, rec.path)
		if rec.path == path && !message.IsLangChain(rec.raw) {
			r.reportRecord(rec, "the value has no list of messages")
			r.other.add("unknown", rec.raw)
			continue
		}
		r.add(rec)
	}
	for name, value := range rest {
		r.SetMeta(name, value)
	}
}

// keep keeps the members of an object in the metadata.
func (r *langChainRun) keep(object json.RawMessage) {
	for name, value := range tree.Members(object) {
		r.SetMeta(name, value)
	}
}

// add adds a message.
func (r *langChainRun) add(rec *record) {
	if rec.kind == "remove" { // it has only the id of a message
		r.other.add("remove", rec.raw)
		return
	}
	if rec.invalid == nil {
		r.Messages, rec.invalid = r.reader.AddLangChain(r.Messages, rec.data)
	}
	if rec.invalid != nil {
		rec.path = joinPath(rec.path, rec.invalid.Path)
		r.reportRecord(rec, rec.invalid.Msg)
		r.other.add("unknown", rec.raw)
		return
	}
	place, usage := message.LangChainUsage(rec.raw)
	r.reportUsage(rec, place, usage)
	r.usage = r.usage.Add(message.LangChainCounts(usage))
}

func (r *langChainRun) end() Run {
	messages, err := r.reader.Flush(r.Messages)
	if err != nil {
		r.ReportUnknown("", "%w", err)
	}
	r.Messages = messages
	r.ReportOtherMessages()
	r.other.moveTo(&r.Run)
	r.SetName()
	r.Describe()
	r.setUsage(r.usage)
	return r.Run
}
