// Command gencodec writes codec_gen.go, the JSON codec of a package, and its JSON Schema. It
// reads the struct types of the package in the current folder and of package llm.
//
// A struct with json tags becomes an object. In addition to the options of encoding/json, a field
// may have these tags:
//
//	v1:"name"       the name of the member in version 1 of the format
//	codec:"word"    a string of which many values are equal
//	codec:"unless=X" the value of a member that is absent
//	codec:"name"    the method of the coder that codes the field
//	required:"text" the error of a decoder for objects without the member
//	schema:"const=x", schema:"minimum=0"
//
// Comments that begin with //gencodec: describe types:
//
//	//gencodec:type NAME           the value of the member type, for a type of a union
//	//gencodec:members             generate a method for the members without their object
//	//gencodec:inline              the schema contains the type where it is used
//	//gencodec:member NAME PATTERN TEXT   a member that the schema has in addition
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"log"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("gencodec: ")
	g := &generator{types: map[string]*structType{}, words: map[string]bool{}, unions: map[string][]string{}, kinds: map[string]string{}, values: map[string]string{}, enums: map[string][]string{}}
	own, err := g.parse(".", "")
	if err != nil {
		log.Fatal(err)
	}
	if own == "trace" {
		if _, err = g.parse("../llm", "llm."); err != nil {
			log.Fatal(err)
		}
	}
	code, err := format.Source(g.code(own))
	if err == nil {
		err = os.WriteFile("codec_gen.go", code, 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join("schema", own+"-v2.schema.json"), g.schema(own), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// generator contains the types of the packages. The names of llm's have the prefix "llm." in
// another package.
type generator struct {
	out    bytes.Buffer
	types  map[string]*structType
	words  map[string]bool     // named string types
	unions map[string][]string // the types of an interface
	kinds  map[string]string   // the constants of the kinds of event, by type
	values map[string]string   // of string constants
	enums  map[string][]string // the values of the constants of a named type
}

type structType struct {
	name    string // with its prefix
	short   string // without
	doc     string
	kind    string // the value of its member type
	members bool   // without its object
	inline  bool
	extra   []field
	fields  []field
}

type field struct {
	goName, name, typ string
	optional, orNil   bool // absent if empty, absent if nil
	doc               string
	tag               reflect.StructTag
}

// parse reads the package in dir.
func (g *generator) parse(dir, prefix string) (name string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "_gen.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return "", err
		}
		name = f.Name.Name
		for _, decl := range f.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				g.declare(d, prefix)
			case *ast.FuncDecl:
				g.method(d, prefix)
			}
		}
	}
	return name, nil
}

func (g *generator) declare(d *ast.GenDecl, prefix string) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.ValueSpec:
			for i, v := range s.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					value := strings.Trim(lit.Value, `"`)
					g.values[s.Names[i].Name] = value
					if typ, ok := s.Type.(*ast.Ident); ok && value != "" {
						g.enums[prefix+typ.Name] = append(g.enums[prefix+typ.Name], value)
					}
				}
			}
		case *ast.TypeSpec:
			doc := d.Doc
			if s.Doc != nil {
				doc = s.Doc
			}
			switch t := s.Type.(type) {
			case *ast.StructType:
				g.types[prefix+s.Name.Name] = newStruct(s.Name.Name, prefix, doc, t)
			case *ast.Ident:
				g.words[prefix+s.Name.Name] = t.Name == "string"
			}
		}
	}
}

// method notes the type of a union: a method part, event or Kind without code but its constant.
func (g *generator) method(d *ast.FuncDecl, prefix string) {
	if d.Recv == nil {
		return
	}
	recv, ok := d.Recv.List[0].Type.(*ast.Ident)
	union := map[string]string{"part": "Part", "event": "Event", "Kind": "Body"}[d.Name.Name]
	if !ok || union == "" {
		return
	}
	if union == "Body" {
		constant, ok := d.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.Ident)
		if !ok {
			return
		}
		g.kinds[recv.Name] = constant.Name
	}
	if recv.Name != "Unknown" {
		g.unions[prefix+union] = append(g.unions[prefix+union], prefix+recv.Name)
	}
}

func newStruct(name, prefix string, doc *ast.CommentGroup, t *ast.StructType) *structType {
	s := &structType{name: prefix + name, short: name, kind: snake(name), doc: describe(name, doc)}
	if doc != nil {
		for _, c := range doc.List {
			directive, arguments, _ := strings.Cut(strings.TrimPrefix(c.Text, "//gencodec:"), " ")
			switch {
			case directive == c.Text:
			case directive == "type":
				s.kind = arguments
			case directive == "members":
				s.members = true
			case directive == "inline":
				s.inline = true
			case directive == "member":
				words := strings.SplitN(arguments, " ", 3)
				s.extra = append(s.extra, field{name: words[0], typ: "string", doc: words[2], tag: reflect.StructTag(`schema:"pattern=` + words[1] + `"`), optional: true})
			}
		}
	}
	for _, f := range t.Fields.List {
		if f.Tag == nil {
			continue
		}
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
		name, options, _ := strings.Cut(tag.Get("json"), ",")
		doc := f.Doc
		if doc == nil {
			doc = f.Comment
		}
		x := field{goName: f.Names[0].Name, name: name, tag: tag, doc: describe(f.Names[0].Name, doc), optional: options != "", orNil: options == "omitzero"}
		x.typ = typeString(f.Type)
		if prefix != "" {
			x.typ = regexp.MustCompile(`\b[A-Z]\w*$`).ReplaceAllStringFunc(x.typ, func(name string) string {
				if strings.HasSuffix(x.typ, "json."+name) {
					return name
				}
				return prefix + name
			})
		}
		s.fields = append(s.fields, x)
	}
	return s
}

// describe returns a comment for readers who do not know Go's names: without the name that it
// begins with, and without links.
func describe(name string, doc *ast.CommentGroup) string {
	text := strings.Join(strings.Fields(strings.ReplaceAll(doc.Text(), "\n\n", " ")), " ")
	if rest, ok := strings.CutPrefix(text, name+" "); ok {
		text = strings.TrimPrefix(strings.TrimPrefix(rest, "is "), "are ")
	}
	text = regexp.MustCompile(`\[([A-Za-z.]+)\]`).ReplaceAllString(text, "$1")
	if text != "" && !strings.HasSuffix(text, ".") {
		text += "."
	}
	return capital(text)
}

// capital returns s with an upper-case letter at the beginning, unless it begins with a name of
// the format.
func capital(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if s == "" || strings.ContainsAny(word, "_,") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func typeString(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return "*" + typeString(t.X)
	case *ast.ArrayType:
		return "[]" + typeString(t.Elt)
	case *ast.MapType:
		return "map[" + typeString(t.Key) + "]" + typeString(t.Value)
	case *ast.SelectorExpr:
		return typeString(t.X) + "." + t.Sel.Name
	}
	return ""
}

var upper = regexp.MustCompile(`([a-z0-9])([A-Z])`)

func snake(name string) string { return strings.ToLower(upper.ReplaceAllString(name, "${1}_$2")) }

// method is the name of the coder's method for a type.
func method(typ string) string {
	name := typ[strings.LastIndex(typ, ".")+1:]
	return strings.ToLower(name[:1]) + name[1:]
}

func (g *generator) printf(format string, args ...any) { fmt.Fprintf(&g.out, format+"\n", args...) }

// code returns the source of the codec.
func (g *generator) code(own string) []byte {
	var names, unions []string // that the package has or needs
	done := map[string]bool{}
	var need func(typ string)
	need = func(typ string) {
		typ = strings.TrimLeft(typ[strings.LastIndex(typ, "]")+1:], "*")
		if done[typ] {
			return
		}
		done[typ] = true
		if of, ok := g.unions[typ]; ok {
			unions = append(unions, typ)
			for _, one := range of {
				need(one)
			}
		}
		s := g.types[typ]
		if s == nil || len(s.fields) == 0 && g.kinds[typ] == "" {
			return
		}
		names = append(names, typ)
		for _, f := range s.fields {
			need(f.typ)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.unions)) {
		if !strings.Contains(name, ".") {
			need(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.types)) {
		if !strings.Contains(name, ".") {
			need(name)
		}
	}
	slices.Sort(names)
	slices.Sort(unions)
	for _, name := range unions {
		if name == "Body" {
			g.bodies(g.unions[name])
		} else {
			g.union(name, g.unions[name])
		}
	}
	for _, name := range names {
		g.visit(g.types[name])
	}
	var file bytes.Buffer
	fmt.Fprintf(&file, "// Code generated by gencodec; DO NOT EDIT.\n\npackage %s\n\nimport (\n", own)
	if bytes.Contains(g.out.Bytes(), []byte("slices.")) {
		fmt.Fprintf(&file, "\"slices\"\n\n")
	}
	fmt.Fprintf(&file, "%q\n", "github.com/looptape/looptape/internal/jsonio")
	if own != "llm" {
		fmt.Fprintf(&file, "%q\n", "github.com/looptape/looptape/llm")
	}
	fmt.Fprintf(&file, ")\n\n%s", g.out.Bytes())
	return file.Bytes()
}

// visit writes the method that codes a struct.
func (g *generator) visit(s *structType) {
	renames := "nil"
	var list []string
	for _, f := range s.fields {
		if was := f.tag.Get("v1"); was != "" {
			list = append(list, fmt.Sprintf("%q: %q", was, f.name))
		}
	}
	if list != nil {
		renames = "v1" + s.short
		g.printf("var %s = jsonio.Renames{%s}\n", renames, strings.Join(list, ", "))
	}
	if s.members {
		g.printf("func (c *coder) %s(v *%s) {", method(s.name), s.name)
	} else {
		g.printf("func (c *coder) %s(s jsonio.Scope, v *%s) {", method(s.name), s.name)
	}
	required := slices.IndexFunc(s.fields, func(f field) bool { return f.tag.Get("required") != "" })
	if required >= 0 {
		g.printf("found := !c.Decoding || s.Absent()")
	}
	if !s.members {
		g.printf("for c.Next(&s, %s) {", renames)
	}
	for i := range s.fields {
		if s.fields[i].name != "-" {
			g.field(&s.fields[i], i == required)
		}
	}
	if !s.members {
		g.printf("}")
	}
	if required >= 0 {
		g.printf("if !found {\nc.Dec.Fail(%q)\n}", s.fields[required].tag.Get("required"))
	}
	g.printf("}\n")
}

// simple maps types to methods of jsonio.Coder: for members that are always present, and for
// members that may be absent.
var simple = map[string][2]string{
	"string": {"Text", "OptionalText"}, "int": {"Int", "OptionalInt"}, "int64": {"Int64", "OptionalInt64"}, "bool": {"", "OptionalBool"},
	"*bool": {"", "BoolPointer"}, "*int64": {"", "IntPointer"}, "*float64": {"", "FloatPointer"}, "json.RawMessage": {"", "Raw"}, "[]byte": {"", "Bytes"},
	"[]string": {"", "OptionalTexts"}, "map[string]string": {"", "OptionalTextMap"}, "map[string]json.RawMessage": {"", "OptionalRawMap"},
}

// field writes the call that codes a field.
func (g *generator) field(f *field, required bool) {
	at, optional := "v."+f.goName, 0
	if f.optional {
		optional = 1
	}
	codec := f.tag.Get("codec")
	methods, isSimple := simple[f.typ]
	elem, isList := strings.CutPrefix(f.typ, "[]")
	_, isUnion := g.unions[f.typ]
	pointer, isPointer := strings.CutPrefix(f.typ, "*")
	_, isUnions := g.unions[elem]
	switch {
	case strings.HasPrefix(codec, "unless="):
		g.printf("if c.Decoding || %s != %s {\nc.%s(%q, &%s)\n}", at, codec[len("unless="):], methods[0], f.name, at)
	case codec != "" && codec != "word":
		g.printf("c.%s(%q, &%s)", codec, f.name, at)
	case codec == "word":
		g.printf("c.%s(%q, &%s)", [...]string{"Word", "OptionalWord"}[optional], f.name, at)
	case f.typ == "[]string" && f.orNil:
		g.printf("c.TextsOrNil(%q, &%s)", f.name, at)
	case isSimple:
		g.printf("c.%s(%q, &%s)", methods[optional], f.name, at)
	case f.typ == "time.Duration":
		g.printf("c.OptionalInt64(%q, (*int64)(&%s))", f.name, at)
	case g.words[f.typ]:
		g.printf("c.%s(%q, (*string)(&%s))", [...]string{"Word", "OptionalWord"}[optional], f.name, at)
	case isUnion:
		g.printf("if c.Take(%q) {\nc.%s(&%s)", f.name, method(f.typ), at)
		if required {
			g.printf("found = true")
		}
		g.printf("}")
	case isUnions && required:
		g.printf("found = c.%ss(%q, &%s) || found", method(elem), f.name, at)
	case isUnions && f.optional:
		g.printf("if c.Decoding || len(%s) > 0 {\nc.%ss(%q, &%s)\n}", at, method(elem), f.name, at)
	case isUnions:
		g.printf("c.%ss(%q, &%s)", method(elem), f.name, at)
	case isList:
		list := [...]string{"List", "OptionalList"}[optional]
		if f.orNil {
			list = "ListOrNil"
		}
		g.printf("jsonio.%s(&c.Coder, %q, &%s, c.%s)", list, f.name, at, method(elem))
	case isPointer && g.types[pointer] != nil:
		g.printf("if c.Coming(%q, %s != nil) {\nif c.Decoding {\n%s = new(%s)\n}\nc.%s(c.Object(%q), %s)\n}", f.name, at, at, pointer, method(pointer), f.name, at)
	case g.types[f.typ] != nil && !f.optional:
		g.printf("c.%s(c.Object(%q), &%s)", method(f.typ), f.name, at)
	case g.types[f.typ] != nil && g.canBeEmpty(f.typ):
		g.printf("c.%s(c.Optional(%q), &%s)", method(f.typ), f.name, at)
	case g.types[f.typ] != nil && g.types[f.typ].fields != nil:
		g.printf("if c.Decoding || %s != (%s{}) {\nc.%s(c.Object(%q), &%s)\n}", at, f.typ, method(f.typ), f.name, at)
	default:
		g.printf("c.%s(%q, &%s)", method(f.typ), f.name, at)
	}
}

// canBeEmpty reports whether an object may have no members.
func (g *generator) canBeEmpty(typ string) bool {
	fields := g.types[typ].fields
	return fields != nil && !slices.ContainsFunc(fields, func(f field) bool { return !f.optional })
}

// union writes the methods that code values and arrays of a union whose member type names the
// type.
func (g *generator) union(name string, of []string) {
	prefix := name[:strings.LastIndex(name, ".")+1]
	g.printf("func (c *coder) %s(v *%s) {\nif !c.Decoding {\nswitch x := (*v).(type) {", method(name), name)
	for _, one := range of {
		g.printf("case %s:\nc.%s(c.Typed(%q), &x)", one, method(one), g.types[one].kind)
	}
	g.printf("case %sUnknown:\nc.Dst = jsonio.AppendRaw(c.Dst, x.Raw)\n}\nreturn\n}", prefix)
	g.printf("switch kind, s := c.Type(); kind {")
	for _, one := range of {
		g.printf("case %q:\n*v = decoded(c, s, (*coder).%s)", g.types[one].kind, method(one))
	}
	g.printf("default:\n*v = %sUnknown{Kind: kind, Raw: c.Rest(s)}\n}\n}\n", prefix)
	if !slices.ContainsFunc(slices.Collect(maps.Values(g.types)), func(s *structType) bool {
		return slices.ContainsFunc(s.fields, func(f field) bool { return f.typ == "[]"+name })
	}) {
		return
	}
	list := method(name) + "s"
	g.printf("func (c *coder) %s(key string, v *[]%s) (found bool) {\nswitch {\ncase !c.Take(key):\nreturn false", list, name)
	g.printf("case !c.Decoding:\nc.Dst = append(c.Dst, '[')\nfor i := range *v {\nif i > 0 {\nc.Dst = append(c.Dst, ',')\n}\nc.%s(&(*v)[i])\n}\nc.Dst = append(c.Dst, ']')\nreturn true", method(name))
	g.printf("case c.Dec.Null():\n*v = nil\nreturn true\n}")
	g.printf("if c.depth++; c.depth > maxDepth {\nc.Dec.Fail(tooDeep)\n}")
	g.printf("var buf [8]%s // most messages have fewer\nlist := buf[:0]\nfor range c.Dec.Elements() {\nvar x %s\nc.%s(&x)\nlist = append(list, x)\n}", name, name, method(name))
	g.printf("c.depth--\n*v = nil\nif len(list) > 0 {\n*v = slices.Clone(list)\n}\nreturn true\n}\n")
}

const lineCode = `// line encodes an event.
func (c *coder) line(ev *Event) {
	s := c.Root()
	c.event(ev)
	c.Take("kind")
	var kind Kind
	if ev.Body != nil {
		kind = ev.Body.Kind()
	}
	c.Dst = jsonio.AppendString(c.Dst, string(kind))
	c.encode(s, ev.Body)
}

// AppendJSON appends the event as a JSON object, one line of a trace file without its line feed.
// It allocates only to grow dst and for maps with more than eight entries. It does not retain ev.
//
// Members have a fixed order and are absent where they are empty. Durations are integers in
// nanoseconds. A string that is not UTF-8 is written as base64 under its name and "_b64". Names
// of options and of extra members must be UTF-8.
func (ev *Event) AppendJSON(dst []byte) []byte {
	c := coder{Coder: jsonio.Coder{Dst: dst}}
	c.line(ev)
	return c.Dst
}
`

// bodies writes the methods that code the bodies of events.
func (g *generator) bodies(of []string) {
	g.printf("%s", lineCode)
	g.printf("// encode encodes the members of a body and ends the event.\nfunc (c *coder) encode(s jsonio.Scope, body Body) {\nswitch b := body.(type) {")
	for _, one := range of {
		g.printf("case %s:\nc.%s(s, &b)", one, method(one))
	}
	g.printf("case Unknown:\nc.unknown(s, &b)\ndefault:\nc.unknown(s, &Unknown{})\n}\n}\n")
	g.printf("// decode decodes the members of a body. It returns nil for an unknown kind.\nfunc (c *coder) decode(s jsonio.Scope, kind Kind) Body {\nswitch kind {")
	for _, one := range of {
		g.printf("case %s:\nreturn decoded(c, s, (*coder).%s)", g.kinds[one], method(one))
	}
	g.printf("}\nreturn nil\n}\n")
	kinds := make([]string, 0, len(of))
	for _, one := range of {
		kinds = append(kinds, g.kinds[one])
	}
	g.printf("// kinds are the known kinds.\nvar kinds = [...]Kind{%s}\n", strings.Join(kinds, ", "))
}
