package wirejson

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// Limits of what is kept.
const (
	MaxKept  = 32 << 10
	maxNames = 4096
)

// rawMember is a member of a JSON object.
type Member struct{ Key, Raw string }

// gathered are the members of an object that comes in pieces, maxNames at most. The zero
// value is none.
type MemberSet struct {
	list []memberValue
	at   map[string]int // by name
}

// piece is a member: a value, or the elements of an array, or a text.
type memberValue struct {
	key, raw string
	items    []string
	at       map[string]int // of the items that have an index
	text     []byte
}

// piece returns the member of a name, or one that is not kept.
func (g *MemberSet) value(key string) *memberValue {
	i, has := g.at[key]
	switch {
	case !has && len(g.list) == maxNames:
		return &memberValue{}
	case !has:
		if g.at == nil {
			g.at = map[string]int{}
		}
		i = len(g.list)
		g.at[key] = i
		g.list = append(g.list, memberValue{key: key})
	}
	return &g.list[i]
}

// set makes a value the one of its name.
func (g *MemberSet) Set(m Member) { g.value(m.Key).raw = m.Raw }

// join adds the elements of an array to those of its name, and each that has an index
// in place of the one with the same. Of other values the last one counts.
func (g *MemberSet) Join(m Member) {
	if m.Raw[0] != '[' {
		g.Set(m)
		return
	}
	EachElement(json.RawMessage(m.Raw), func(raw string) { g.value(m.Key).item(raw) })
}

func (p *memberValue) item(raw string) {
	index := string(Get(json.RawMessage(raw), "index"))
	if at, has := p.at[index]; has {
		p.items[at] = raw
		return
	}
	if index != "" {
		if p.at == nil {
			p.at = map[string]int{}
		}
		p.at[index] = len(p.items)
	}
	p.items = append(p.items, raw)
}

// joinObject joins the members of an object; those of these names are texts, which go
// on where they ended.
func (g *MemberSet) JoinObject(raw string, texts ...string) {
	EachMember(json.RawMessage(raw), func(key, raw string) {
		switch {
		case raw == "null":
		case raw[0] == '"' && slices.Contains(texts, key):
			d := jsonio.NewDec(raw)
			p := g.value(key)
			p.text = append(p.text, d.String()...)
		default:
			g.Join(Member{key, raw})
		}
	})
}

// members are what was gathered, but for members of over so many bytes; 0 is any. They
// are sorted: a stream tells them in another order than an answer in one piece.
func (g *MemberSet) Members(most int) (out Members) {
	slices.SortFunc(g.list, func(a, b memberValue) int { return strings.Compare(a.key, b.key) })
	for i := range g.list {
		p := &g.list[i]
		if raw := p.json(); most == 0 || len(raw) <= most {
			out.AddRaw(p.key, raw)
		}
	}
	return out
}

func (p *memberValue) json() string {
	switch {
	case p.text != nil:
		return string(jsonio.AppendString(nil, string(p.text)))
	case p.items != nil:
		return "[" + strings.Join(p.items, ",") + "]"
	}
	return p.raw
}
