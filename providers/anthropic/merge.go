package anthropic

import (
	"encoding/json"

	"github.com/looptape/looptape/internal/jsonio"
)

// merged returns a block of an unknown type with what its deltas say, by the way of
// the types that are known (compaction_delta is one that is not): a text goes behind
// the one that is there, and what is null or not there is set. Other values stay.
func merged(block json.RawMessage, deltas []string) json.RawMessage {
	if len(deltas) == 0 {
		return block
	}
	var m merger
	eachMember(block, m.join)
	for _, delta := range deltas {
		eachMember(json.RawMessage(delta), func(key string, raw []byte) {
			if key != "type" {
				m.join(key, raw)
			}
		})
	}
	return m.object()
}

// merger gathers members, one of a name. Its zero value is empty.
type merger struct {
	fields []field
	at     map[string]int
}

type field struct {
	key    string
	raw    []byte
	text   []byte // instead of raw
	isText bool
}

// read takes the next value of d as the member key, unless it is null.
func (m *merger) read(d *jsonio.Dec, key string) {
	if !d.Null() {
		m.set(key, []byte(d.Raw()))
	}
}

// set makes raw the value of a member.
func (m *merger) set(key string, raw []byte) { *m.field(key) = field{key: key, raw: raw} }

// join adds a value to those of its name.
func (m *merger) join(key string, raw []byte) {
	f := m.field(key)
	switch d := jsonio.NewDec(string(raw)); {
	case d.Peek() == '"' && (f.isText || empty(f.raw)):
		f.text, f.isText = append(f.text, d.String()...), true
	case !f.isText && empty(f.raw):
		f.raw = raw
	}
}

func empty(raw []byte) bool { return raw == nil || raw[0] == 'n' }

// field returns the member of a name.
func (m *merger) field(key string) *field {
	i, has := m.at[key]
	if !has {
		if m.at == nil {
			m.at = map[string]int{}
		}
		i = len(m.fields)
		m.at[key] = i
		m.fields = append(m.fields, field{key: key})
	}
	return &m.fields[i]
}

// object returns the members as an object, or nil if there are none.
func (m *merger) object() json.RawMessage {
	var out members
	for _, f := range m.fields {
		if f.isText {
			f.raw = jsonio.AppendString(nil, string(f.text))
		}
		out.add(f.key, f.raw)
	}
	return out.object()
}
