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
	m := merger{at: map[string]int{}}
	eachMember(block, m.add)
	for _, delta := range deltas {
		eachMember(json.RawMessage(delta), func(key string, raw []byte) {
			if key != "type" {
				m.add(key, raw)
			}
		})
	}
	var out members
	for _, f := range m.fields {
		if f.isText {
			f.raw = jsonio.AppendString(nil, string(f.text))
		}
		out.add(f.key, f.raw)
	}
	return out.object()
}

// merger gathers members by name.
type merger struct {
	fields []field
	at     map[string]int
}

type field struct {
	key    string
	raw    []byte
	text   []byte // of a string
	isText bool
}

func (m *merger) add(key string, raw []byte) {
	f := field{key: key, raw: raw, isText: raw[0] == '"'}
	if f.isText {
		d := jsonio.NewDec(string(raw))
		f.text = []byte(d.String())
	}
	i, has := m.at[key]
	switch {
	case !has:
		m.at[key] = len(m.fields)
		m.fields = append(m.fields, f)
	case m.fields[i].isText && f.isText:
		m.fields[i].text = append(m.fields[i].text, f.text...)
	case m.fields[i].raw[0] == 'n':
		m.fields[i] = f
	}
}
