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

const schemaID = "https://github.com/looptape/looptape/%[1]s/schema/%[1]s-v2.schema.json"

// schema returns the JSON Schema of the package's format.
func (g *generator) schema(own string) []byte {
	s := &jsonschema.Schema{Schema: "https://json-schema.org/draft/2020-12/schema", ID: fmt.Sprintf(schemaID, own), Defs: map[string]*jsonschema.Schema{}}
	const text = "Members that are empty are absent. A string that is not UTF-8 is base64 under its name and _b64. Readers ignore members that they do not know."
	if own == "trace" {
		s.Title = "A line of a looptape trace, version 2"
		s.Description = "A trace is JSON Lines: a header, then one line for each event. " + text
		s.If, s.Then, s.Else = &jsonschema.Schema{Required: []string{"kind"}}, ref("event"), ref("header")
		s.Defs["header"], s.Defs["event"] = g.object(g.types["Header"], "", s), g.object(g.types["Event"], "", s)
		return marshal(s)
	}
	s.Title = "The JSON forms of package llm, version 2"
	s.Description = "The definitions describe requests, messages, parts and the events of a response. " + text
	for _, name := range slices.Sorted(maps.Keys(g.types)) {
		if t := g.types[name]; len(t.fields) > 0 && g.unionOf(name) == "" {
			s.AnyOf = append(s.AnyOf, g.value(name, s))
		}
	}
	s.AnyOf = append(s.AnyOf, g.value("Event", s))
	return marshal(s)
}

func marshal(s *jsonschema.Schema) []byte {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	return append(b, '\n')
}

func ref(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + name} }

// unionOf returns the union that a type belongs to.
func (g *generator) unionOf(typ string) string {
	for name, of := range g.unions {
		if slices.Contains(of, typ) && typ != "Usage" {
			return name
		}
	}
	return ""
}

// object returns the schema of a struct; kind is the value of its member type.
func (g *generator) object(t *structType, kind string, root *jsonschema.Schema) *jsonschema.Schema {
	o := &jsonschema.Schema{Type: "object", Description: t.doc, Properties: map[string]*jsonschema.Schema{}}
	if kind != "" {
		o.Required = append(o.Required, "type")
		o.Properties["type"] = constant(kind)
		o.PropertyOrder = append(o.PropertyOrder, "type")
	}
	for _, f := range append(slices.Clone(t.fields), t.extra...) {
		if f.name == "-" { // the body of an event
			f.name, f.typ, f.doc = "kind", "string", "The kind of the event. Readers keep kinds that they do not know."
			o.AllOf = g.cases("kind", g.unions["Body"], root)
		}
		p := g.value(f.typ, root)
		if p.Description = f.doc; f.typ == "json.RawMessage" && f.doc == "" {
			p.Description = "Any JSON value."
		}
		if values := g.enums[f.typ]; values != nil && f.name != "kind" {
			p.Description = strings.TrimPrefix(p.Description+" Known values: ", " ") + "`" + strings.Join(values, "`, `") + "`."
		}
		rule, value, _ := strings.Cut(f.tag.Get("schema"), "=")
		switch rule {
		case "const":
			p = constant(value)
			p.Description = f.doc
		case "pattern":
			p.Pattern = value
		case "minimum":
			p.Minimum = new(number(value))
		}
		if !f.optional && (f.typ != "string" && !g.words[f.typ] || f.name == "kind" || rule == "const") {
			o.Required = append(o.Required, f.name)
		}
		o.Properties[f.name] = p
		o.PropertyOrder = append(o.PropertyOrder, f.name)
	}
	return o
}

func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		log.Fatal(err)
	}
	return n
}

func constant(text string) *jsonschema.Schema {
	var v any = text
	if n, err := strconv.Atoi(text); err == nil {
		v = n
	}
	return &jsonschema.Schema{Const: &v}
}

// cases returns one condition for each type of a union, and defines the types.
func (g *generator) cases(member string, of []string, root *jsonschema.Schema) (all []*jsonschema.Schema) {
	for _, one := range of {
		t := g.types[one]
		kind, def := t.kind, ""
		switch constantName, body := g.kinds[one]; {
		case body:
			kind = g.values[constantName]
			def = "kind." + kind
			root.Defs[def] = g.object(t, "", root)
		case member == "type" && slices.Contains(g.unions[one[:strings.LastIndex(one, ".")+1]+"Part"], one):
			def = "part." + kind
		default:
			def = "event." + kind
		}
		if root.Defs[def] == nil {
			root.Defs[def] = &jsonschema.Schema{} // ends the recursion
			*root.Defs[def] = *g.object(t, kind, root)
		}
		all = append(all, &jsonschema.Schema{If: &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{member: constant(kind)}}, Then: ref(def)})
	}
	return all
}

// value returns the schema of a value of a Go type, and defines the types that it refers to.
func (g *generator) value(typ string, root *jsonschema.Schema) *jsonschema.Schema {
	if elem, ok := strings.CutPrefix(typ, "[]"); ok && typ != "[]byte" && typ != "[]string" {
		return &jsonschema.Schema{Type: "array", Items: g.value(elem, root)}
	}
	text := &jsonschema.Schema{Type: "string"}
	base64 := &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
	switch short := typ[strings.LastIndex(typ, ".")+1:]; {
	case typ == "json.RawMessage":
		return &jsonschema.Schema{}
	case typ == "string" || g.words[typ]:
		return text
	case typ == "int" || typ == "int64" || typ == "*int64" || typ == "time.Duration":
		return &jsonschema.Schema{Type: "integer"}
	case typ == "*float64":
		return &jsonschema.Schema{Type: "number"}
	case typ == "bool" || typ == "*bool":
		return &jsonschema.Schema{Type: "boolean"}
	case typ == "[]byte":
		return base64
	case short == "ToolChoice":
		return &jsonschema.Schema{Type: "string", Pattern: "^(auto|required|none|tool:.*)$"}
	case typ == "map[string]json.RawMessage":
		return &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{}}
	case strings.HasPrefix(typ, "map[") && short == "Usage":
		return &jsonschema.Schema{Type: "object", AdditionalProperties: g.value("llm.Usage", root)}
	case typ == "[]string":
		object := &jsonschema.Schema{Type: "object", Required: []string{"_b64"}, Properties: map[string]*jsonschema.Schema{"_b64": base64}}
		return define(root, "names", &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{text, object}}, Description: "Strings."})
	case typ == "map[string]string":
		return define(root, "suppress", &jsonschema.Schema{Type: "object", AdditionalProperties: text, Description: "The reasons why violations are accepted, by the ID of the invariant."})
	case typ == "Options":
		return define(root, "options", &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Types: []string{"string", "number", "boolean", "null"}}, Description: "The declared options of the loop, in the order of their declaration."})
	case short == "Part" || short == "Event":
		name := strings.ToLower(short)
		if root.Defs[name] == nil {
			u := &jsonschema.Schema{Type: "object", Required: []string{"type"}, Properties: map[string]*jsonschema.Schema{"type": text}}
			root.Defs[name] = u
			u.Description = map[string]string{"part": "An element of a message. Readers keep types that they do not know.", "event": "A streamed part of a response. Readers keep types that they do not know."}[name]
			u.AllOf = g.cases("type", g.unions[typ], root)
		}
		return ref(name)
	case short == "ToolResult":
		g.value(strings.TrimSuffix(typ, "ToolResult")+"Part", root)
		return ref("part.tool_result")
	}
	t := g.types[strings.TrimPrefix(typ, "*")]
	if t == nil {
		log.Fatalf("the schema does not know the type %s", typ)
	}
	if t.inline {
		return g.object(t, "", root)
	}
	return define(root, snake(t.short), g.object(t, "", root))
}

func define(root *jsonschema.Schema, name string, s *jsonschema.Schema) *jsonschema.Schema {
	root.Defs[name] = s
	return ref(name)
}
