package format

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// ReportOtherMessages reports the lists of messages in the metadata that have other messages than the run,
// except the known values and what an evaluation expects.
func (r *Run) ReportOtherMessages(known ...json.RawMessage) {
	var read map[string]bool
	has := func(m *llm.Message) bool {
		if read == nil {
			read = map[string]bool{}
			for i := range r.Messages {
				read[said(&r.Messages[i])] = true
			}
		}
		return read[said(m)]
	}
	slices.Sort(r.others)
	for _, name := range slices.Compact(r.others) {
		value := decode(name, r.Meta[name])
		switch {
		case slices.ContainsFunc(known, func(k json.RawMessage) bool { return bytes.Equal(value, k) || bytes.Equal(r.Meta[name], k) }):
			continue
		case slices.Contains(callNames, name) && message.IsToolMember(name, value):
			if message.HasOtherCalls(value, r.Messages) {
				r.ReportUnknown(name, "the member has calls that are not those of the run, and they are not read")
			}
			continue
		case slices.Contains(ExpectedNames, name):
			continue
		case isMessage(value) && (slices.Contains(Roles, tree.Scalar(value, "role")) || slices.Contains(AnswerNames, name)):
			value = slices.Concat([]byte("["), value, []byte("]"))
			if messages, err := readMessages(value); err != nil || slices.ContainsFunc(messages, func(m llm.Message) bool { return !has(&m) }) {
				r.ReportUnknown(name, "the message is not one of the run, and it is not read")
			}
			continue
		}
		if !bytes.Contains(value, []byte(`"content"`)) && !bytes.Contains(value, []byte(`"parts"`)) {
			continue
		}
		r.findMessages(name, value, known, has)
	}
}

// callNames are names of members of a message that have its calls.
var callNames = []string{"tool_calls", "toolCalls", "function_call", "function_calls", "calls", "tool_uses"}

// findMessages reports the lists of messages in a value if the run has not each of them.
func (r *Run) findMessages(path string, value json.RawMessage, known []json.RawMessage, has func(*llm.Message) bool) {
	first := tree.Element(value, "0")
	switch {
	case slices.ContainsFunc(known, func(k json.RawMessage) bool { return bytes.Equal(value, k) }):
	case message.IsLangChain(first) && tree.First(first, "content", "data", "kwargs") != nil || isMessage(first) && slices.Contains(Roles, tree.Scalar(first, "role")):
		messages, err := readMessages(value)
		if err != nil || slices.ContainsFunc(messages, func(m llm.Message) bool { return !has(&m) }) {
			r.ReportUnknown(path, "the list has messages that are not those of the run, and they are not read")
		}
	default:
		for name, inner := range tree.Members(value) {
			r.findMessages(joinPath(path, name), inner, known, has)
		}
		for n, inner := range tree.Elements(value) {
			r.findMessages(path+"["+strconv.Itoa(n)+"]", inner, known, has)
		}
	}
}

// readMessages reads a list of messages in any form.
func readMessages(list json.RawMessage) (messages []llm.Message, err error) {
	var plain tree.List
	for _, m := range tree.Elements(list) {
		if message.IsLangChain(m) {
			if m, err = message.LangChain(m); err != nil {
				return nil, err
			}
		}
		plain.Add(m)
	}
	var reader message.Reader
	d := jsonio.NewDec(jsonio.View(plain.JSON()))
	messages = reader.List(&d)
	return messages, d.Err()
}

// said returns the content of a message, without its ids and the data about it.
func said(m *llm.Message) string {
	s := strings.Builder{}
	s.WriteString(string(m.Role))
	var add func(parts []llm.Part)
	add = func(parts []llm.Part) {
		for _, p := range parts {
			s.WriteByte(0)
			switch p := p.(type) {
			case llm.Text:
				s.WriteString(p.Text)
			case llm.ToolCall:
				s.WriteString(p.Name + "(" + p.Arguments)
			case llm.ToolResult:
				add(p.Content)
			case llm.Reasoning, llm.Media, llm.Unknown: // their number counts
			}
		}
	}
	add(m.Parts)
	return s.String()
}
