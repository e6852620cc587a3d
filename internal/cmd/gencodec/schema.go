package main

import (
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

type (
	schema  = jsonschema.Schema
	schemas = map[string]*jsonschema.Schema
)

// schema returns the JSON Schema of the package's format.
func (g *generator) schema(own string) []byte {
	const id = "https://github.com/looptape/looptape/%[1]s/schema/%[1]s-v2.schema.json"
	const draft = "https://json-schema.org/draft/2020-12/schema"
	s := &schema{Schema: draft, ID: fmt.Sprintf(id, own), Defs: schemas{}}
	g.root = s
	const text = " Members that are empty are absent. A string that is not UTF-8 is base64 under its name and _b64. Readers ignore members that they do not know."
	if own == "trace" {
		s.Title = "A line of a looptape trace, version 2"
		s.Description = "A trace is JSON Lines: a header, then one line for each event." + text
		s.If, s.Then, s.Else = &schema{Required: []string{"kind"}}, ref("event"), ref("header")
		s.Defs["header"] = g.object(g.types["Header"], "")
		s.Defs["event"] = g.object(g.types["Event"], "")
	} else {
		s.Title = "The JSON forms of package llm, version 2"
		s.Description = "The definitions describe requests, messages, parts and the events of a response." + text
		for _, name := range slices.Sorted(maps.Keys(g.types)) {
			if t := g.types[name]; len(t.fields) > 0 && !t.inline && !g.isMember(name) {
				s.AnyOf = append(s.AnyOf, g.value(name))
			}
		}
		s.AnyOf = append(s.AnyOf, g.value("Event"))
	}
	b, err := json.MarshalIndent(s, "", "  ")
	check(err)
	return append(b, '\n')
}

func ref(name string) *schema { return &schema{Ref: "#/$defs/" + name} }

// isMember reports whether a type appears only as a member of a union.
func (g *generator) isMember(typ string) bool {
	for _, of := range g.unions {
		if slices.Contains(of, typ) && typ != "Usage" {
			return true
		}
	}
	return false
}

// object returns the schema of a struct; kind is the value of its member type.
func (g *generator) object(t *structType, kind string) *schema {
	o := &schema{Type: "object", Description: t.doc, Properties: schemas{}}
	add := func(name string, p *schema, required bool) {
		if required {
			o.Required = append(o.Required, name)
		}
		o.Properties[name] = p
		o.PropertyOrder = append(o.PropertyOrder, name)
	}
	if kind != "" {
		add("type", constant(kind), true)
	}
	for _, f := range append(slices.Clone(t.fields), t.extra...) {
		if f.name == "-" { // the body of an event
			p := &schema{Type: "string"}
			p.Description = "The kind of the event. Readers keep kinds that they do not know."
			add("kind", p, true)
			o.AllOf = g.cases("kind", g.unions["Body"])
			continue
		}
		p := g.value(f.typ)
		rule, value, _ := strings.Cut(f.tag.Get("schema"), "=")
		switch rule {
		case "const":
			p = constant(value)
		case "pattern":
			p.Pattern = value
		case "minimum":
			n, err := strconv.ParseFloat(value, 64)
			check(err)
			p.Minimum = &n
		}
		if p.Description = f.doc; f.typ == "json.RawMessage" && f.doc == "" {
			p.Description = "Any JSON value."
		}
		if values := g.enums[f.typ]; values != nil {
			known := p.Description + " Known values: `" + strings.Join(values, "`, `") + "`."
			p.Description = strings.TrimPrefix(known, " ")
		}
		isText := f.typ == "string" || g.words[f.typ]
		add(f.name, p, !f.optional && (!isText || rule == "const"))
	}
	return o
}

func constant(text string) *schema {
	var v any = text
	if n, err := strconv.Atoi(text); err == nil {
		v = n
	}
	return &schema{Const: &v}
}

// cases returns one condition for each type of a union, and defines the types.
func (g *generator) cases(member string, of []string) (all []*schema) {
	for _, one := range of {
		t := g.types[one]
		union := strings.TrimSuffix(one, t.name) + "Part"
		kind, def := t.kind, "event."+t.kind
		switch constantName, body := g.kinds[one]; {
		case body:
			kind = g.values[constantName]
			def = "kind." + kind
			g.root.Defs[def] = g.object(t, "")
		case member == "type" && slices.Contains(g.unions[union], one):
			def = "part." + kind
		}
		if g.root.Defs[def] == nil {
			g.root.Defs[def] = &schema{} // ends the recursion
			*g.root.Defs[def] = *g.object(t, kind)
		}
		condition := &schema{Properties: schemas{member: constant(kind)}}
		all = append(all, &schema{If: condition, Then: ref(def)})
	}
	return all
}

var unionDocs = map[string]string{
	"part":  "An element of a message. Readers keep types that they do not know.",
	"event": "A streamed part of a response. Readers keep types that they do not know.",
}

// value returns the schema of a value of a Go type, and defines the types that it refers to.
func (g *generator) value(typ string) *schema {
	text := &schema{Type: "string"}
	base64 := &schema{Type: "string", ContentEncoding: "base64"}
	short := shortName(typ)
	switch typ {
	case "json.RawMessage":
		return &schema{}
	case "string":
		return text
	case "int", "int64", "*int64", "time.Duration":
		return &schema{Type: "integer"}
	case "*float64":
		return &schema{Type: "number"}
	case "bool", "*bool":
		return &schema{Type: "boolean"}
	case "[]byte":
		return base64
	case "map[string]json.RawMessage":
		return &schema{Type: "object", AdditionalProperties: &schema{}}
	case "[]string":
		object := &schema{Type: "object", Required: []string{"_b64"}, Properties: schemas{"_b64": base64}}
		items := &schema{AnyOf: []*schema{text, object}}
		return g.define("names", &schema{Type: "array", Items: items, Description: "Strings."})
	case "map[string]string":
		const doc = "The reasons why violations are accepted, by the ID of the invariant."
		return g.define("suppress", &schema{Type: "object", AdditionalProperties: text, Description: doc})
	case "Options":
		const doc = "The declared options of the loop, in the order of their declaration."
		value := &schema{Types: []string{"string", "number", "boolean", "null"}}
		return g.define("options", &schema{Type: "object", AdditionalProperties: value, Description: doc})
	}
	elem, isList := strings.CutPrefix(typ, "[]")
	name := strings.ToLower(short)
	switch t := g.types[strings.TrimPrefix(typ, "*")]; {
	case isList:
		return &schema{Type: "array", Items: g.value(elem)}
	case g.words[typ]:
		return text
	case short == "ToolChoice":
		return &schema{Type: "string", Pattern: "^(auto|required|none|tool:.*)$"}
	case short == "System":
		return &schema{AnyOf: []*schema{text, {Type: "array", Items: g.value(typ + "Part")}}}
	case strings.HasPrefix(typ, "map[") && short == "Usage":
		return &schema{Type: "object", AdditionalProperties: g.value("llm.Usage")}
	case unionDocs[name] != "":
		if g.root.Defs[name] == nil {
			u := &schema{Type: "object", Required: []string{"type"}, Properties: schemas{"type": text}}
			g.root.Defs[name] = u
			u.Description = unionDocs[name]
			u.AllOf = g.cases("type", g.unions[typ])
		}
		return ref(name)
	case short == "ToolResult":
		g.value(strings.TrimSuffix(typ, short) + "Part")
		return ref("part.tool_result")
	case t == nil:
		log.Fatalf("the schema does not know the type %s", typ)
		return nil
	case t.inline:
		return g.object(t, "")
	default:
		return g.define(snake(t.name), g.object(t, ""))
	}
}

func (g *generator) define(name string, s *schema) *schema {
	g.root.Defs[name] = s
	return ref(name)
}
