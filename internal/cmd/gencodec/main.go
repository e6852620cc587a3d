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
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
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
	g := &generator{
		types: map[string]*structType{}, words: map[string]bool{},
		unions: map[string][]string{}, kinds: map[string]string{},
		values: map[string]string{}, enums: map[string][]string{},
	}
	own := g.parse(".")
	if own == "trace" {
		g.prefix = "llm."
		g.parse("../llm")
	}
	code, err := format.Source(g.code(own))
	check(err)
	check(os.WriteFile("codec_gen.go", code, 0o644))
	file := filepath.Join("schema", own+"-v2.schema.json")
	check(os.WriteFile(file, g.schema(own), 0o644))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// generator contains the types of the packages. The names of llm's have the prefix "llm." in
// another package.
type generator struct {
	out    bytes.Buffer
	prefix string // of the package that is parsed
	types  map[string]*structType
	words  map[string]bool     // named string types
	unions map[string][]string // the types of an interface
	kinds  map[string]string   // the constants of the kinds of event, by type
	values map[string]string   // of string constants
	enums  map[string][]string // the values of the constants of a named type
	root   *schema             // has the definitions

	renames []string // the declarations of the names in version 1
}

type structType struct {
	name    string // without its prefix
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

// parse reads the package in dir and returns its name.
func (g *generator) parse(dir string) (name string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	check(err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "_gen.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		check(err)
		name = f.Name.Name
		for _, decl := range f.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					g.declare(spec, d.Doc)
				}
			case *ast.FuncDecl:
				g.method(d)
			}
		}
	}
	return name
}

// declare notes a constant or a type.
func (g *generator) declare(spec ast.Spec, doc *ast.CommentGroup) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for i, v := range s.Values {
			lit, ok := v.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				continue
			}
			value := strings.Trim(lit.Value, `"`)
			g.values[s.Names[i].Name] = value
			if typ, ok := s.Type.(*ast.Ident); ok && value != "" {
				name := g.prefix + typ.Name
				g.enums[name] = append(g.enums[name], value)
			}
		}
	case *ast.TypeSpec:
		name := g.prefix + s.Name.Name
		switch t := s.Type.(type) {
		case *ast.StructType:
			g.types[name] = g.newStruct(s.Name.Name, cmp.Or(s.Doc, doc), t)
		case *ast.Ident:
			g.words[name] = t.Name == "string"
		}
	}
}

// method notes the type of a union: a method part, event or Kind without code but its constant.
func (g *generator) method(d *ast.FuncDecl) {
	union := map[string]string{"part": "Part", "event": "Event", "Kind": "Body"}[d.Name.Name]
	if d.Recv == nil || union == "" {
		return
	}
	recv, ok := d.Recv.List[0].Type.(*ast.Ident)
	if !ok || recv.Name == "Unknown" {
		return
	}
	if union == "Body" {
		result := d.Body.List[0].(*ast.ReturnStmt).Results[0]
		g.kinds[recv.Name] = result.(*ast.Ident).Name
	}
	g.unions[g.prefix+union] = append(g.unions[g.prefix+union], g.prefix+recv.Name)
}

func (g *generator) newStruct(name string, doc *ast.CommentGroup, t *ast.StructType) *structType {
	s := &structType{name: name, kind: snake(name), doc: describe(name, doc)}
	if doc == nil {
		doc = &ast.CommentGroup{}
	}
	for _, c := range doc.List {
		directive, arguments, _ := strings.Cut(strings.TrimPrefix(c.Text, "//gencodec:"), " ")
		switch {
		case directive == c.Text: // a comment
		case directive == "type":
			s.kind = arguments
		case directive == "members":
			s.members = true
		case directive == "inline":
			s.inline = true
		case directive == "member":
			words := strings.SplitN(arguments, " ", 3)
			tag := reflect.StructTag(`schema:"pattern=` + words[1] + `"`)
			s.extra = append(s.extra, field{name: words[0], typ: "string", doc: words[2], tag: tag, optional: true})
		}
	}
	for _, f := range t.Fields.List {
		if f.Tag == nil {
			continue
		}
		goName := f.Names[0].Name
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
		name, options, _ := strings.Cut(tag.Get("json"), ",")
		s.fields = append(s.fields, field{
			goName: goName, name: name, typ: g.typeName(f.Type), tag: tag,
			doc:      describe(goName, cmp.Or(f.Doc, f.Comment)),
			optional: options != "", orNil: options == "omitzero",
		})
	}
	return s
}

// describe returns a comment for readers who do not know Go's names: without the name that it
// begins with, and without links.
func describe(name string, doc *ast.CommentGroup) string {
	text := strings.Join(strings.Fields(doc.Text()), " ")
	if rest, ok := strings.CutPrefix(text, name+" "); ok {
		text = strings.TrimPrefix(strings.TrimPrefix(rest, "is "), "are ")
	}
	text = regexp.MustCompile(`\[([A-Za-z.]+)\]`).ReplaceAllString(text, "$1")
	if text != "" && !strings.HasSuffix(text, ".") {
		text += "."
	}
	word, _, _ := strings.Cut(text, " ")
	if text == "" || strings.ContainsAny(word, "_,") { // a name of the format
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

var exported = regexp.MustCompile(`(^|[]*])([A-Z])`)

// typeName returns the source of a type, with the prefix for types of the package.
func (g *generator) typeName(e ast.Expr) string {
	return exported.ReplaceAllString(types.ExprString(e), "${1}"+g.prefix+"$2")
}

var upper = regexp.MustCompile(`([a-z0-9])([A-Z])`)

func snake(name string) string { return strings.ToLower(upper.ReplaceAllString(name, "${1}_$2")) }

// shortName returns a type without its package.
func shortName(typ string) string { return typ[strings.LastIndex(typ, ".")+1:] }

// method is the name of the coder's method for a type.
func method(typ string) string {
	name := shortName(typ)
	return strings.ToLower(name[:1]) + name[1:]
}

func (g *generator) printf(format string, args ...any) { fmt.Fprintf(&g.out, format+"\n", args...) }

// code returns the source of the codec.
func (g *generator) code(own string) []byte {
	for _, name := range slices.Sorted(maps.Keys(g.unions)) {
		switch {
		case strings.Contains(name, "."): // of another package
		case name == "Body":
			g.bodies(g.unions[name])
		default:
			g.union(name, g.unions[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.types)) {
		s := g.types[name]
		if name == s.name && (len(s.fields) > 0 || g.kinds[name] != "") {
			g.visit(s)
		}
	}
	g.printf("// The names of members in version 1.\nvar (\n%s\n)", strings.Join(g.renames, "\n"))
	imports := `"github.com/looptape/looptape/internal/jsonio"`
	if own != "llm" {
		imports += "\n" + `"github.com/looptape/looptape/llm"`
	}
	const file = "// Code generated by gencodec; DO NOT EDIT.\n\npackage %s\n\nimport (\n%s\n)\n\n%s"
	return fmt.Appendf(nil, file, own, imports, g.out.Bytes())
}

// visit writes the method that codes a struct.
func (g *generator) visit(s *structType) {
	if s.members {
		g.printf("func (c coder) %s(v *%s) {", method(s.name), s.name)
		for i := range s.fields {
			g.field(&s.fields[i])
		}
		g.printf("}\n")
		return
	}
	renames, required := "nil", ""
	var list []string
	for _, f := range s.fields {
		if was := f.tag.Get("v1"); was != "" {
			list = append(list, fmt.Sprintf("%q: %q", was, f.name))
		}
		required += f.tag.Get("required")
	}
	if list != nil {
		renames = "v1" + s.name
		g.renames = append(g.renames, renames+" = jsonio.Renames{"+strings.Join(list, ", ")+"}")
	}
	g.printf("func (c coder) %s(s scope, v *%s) {", method(s.name), s.name)
	if required != "" {
		g.printf("found := !c.Decoding || s.Absent()")
	}
	g.printf("for c.Next(&s, %s) {", renames)
	for i := range s.fields {
		g.field(&s.fields[i])
	}
	g.printf("}")
	if required != "" {
		g.printf("if !found {\nc.Dec.Fail(%q)\n}", required)
	}
	g.printf("}\n")
}

// simple maps types to methods of jsonio.Coder: for members that are always present, and for
// members that may be absent.
var simple = map[string][2]string{
	"string": {"Text", "OptionalText"}, "int": {"Int", "OptionalInt"},
	"int64": {"Int64", "OptionalInt64"}, "bool": {"", "OptionalBool"},
	"*bool": {"", "BoolPointer"}, "*int64": {"", "IntPointer"}, "*float64": {"", "FloatPointer"},
	"json.RawMessage": {"", "Raw"}, "[]byte": {"", "Bytes"}, "[]string": {"", "OptionalTexts"},
	"map[string]string":          {"", "OptionalTextMap"},
	"map[string]json.RawMessage": {"", "OptionalRawMap"},
}

// field writes the call that codes a field.
func (g *generator) field(f *field) {
	at, optional := "v."+f.goName, 0
	if f.optional {
		optional = 1
	}
	codec, elem := f.tag.Get("codec"), strings.TrimLeft(f.typ, "[]*")
	absent, isUnless := strings.CutPrefix(codec, "unless=")
	required := f.tag.Get("required") != ""
	isWord, isUnion, of := codec == "word" || g.words[f.typ], g.unions[elem] != nil, g.types[elem]
	call := func(method, pointer string) { g.printf("c.%s(%q, %s)", method, f.name, pointer) }
	switch {
	case f.name == "-":
	case isUnless:
		g.printf("if c.Decoding || %s != %s {", at, absent)
		call(simple[f.typ][0], "&"+at)
		g.printf("}")
	case isWord && f.typ == "string":
		call([...]string{"Word", "OptionalWord"}[optional], "&"+at)
	case isWord:
		call([...]string{"Word", "OptionalWord"}[optional], "(*string)(&"+at+")")
	case codec != "":
		call(codec, "&"+at)
	case f.typ == "[]string" && f.orNil:
		call("TextsOrNil", "&"+at)
	case simple[f.typ][1] != "":
		call(simple[f.typ][optional], "&"+at)
	case f.typ == "time.Duration":
		call("OptionalInt64", "(*int64)(&"+at+")")
	case isUnion && f.typ == elem:
		g.printf("if c.Take(%q) {\nc.%s(&%s)\nfound = true\n}", f.name, method(elem), at)
	case isUnion && required:
		g.printf("found = c.%ss(%q, &%s) || found", method(elem), f.name, at)
	case isUnion && f.optional:
		g.printf("if c.Decoding || len(%s) > 0 {", at)
		call(method(elem)+"s", "&"+at)
		g.printf("}")
	case isUnion:
		call(method(elem)+"s", "&"+at)
	case f.typ[0] == '[':
		list := [...]string{"List", "OptionalList"}[optional]
		if f.orNil {
			list = "ListOrNil"
		}
		g.printf("jsonio.%s(c.Coder, %q, &%s, c.%s)", list, f.name, at, method(elem))
	case f.typ[0] == '*':
		g.printf("if c.Coming(%q, %s != nil) {\nif c.Decoding {\n%s = new(%s)\n}", f.name, at, at, elem)
		g.printf("c.%s(c.Object(%q), %s)\n}", method(elem), f.name, at)
	case of == nil || of.fields == nil:
		call(method(f.typ), "&"+at)
	case !f.optional:
		g.printf("c.%s(c.Object(%q), &%s)", method(f.typ), f.name, at)
	case !slices.ContainsFunc(of.fields, func(f field) bool { return !f.optional }):
		g.printf("c.%s(c.Optional(%q), &%s)", method(f.typ), f.name, at)
	default:
		g.printf("if c.Decoding || %s != (%s{}) {", at, f.typ)
		g.printf("c.%s(c.Object(%q), &%s)\n}", method(f.typ), f.name, at)
	}
}

// union writes the method that codes values of a union whose member type names the type.
func (g *generator) union(name string, of []string) {
	g.printf("func (c coder) %s(v *%s) {\nif !c.Decoding {\nswitch x := (*v).(type) {", method(name), name)
	for _, one := range of {
		g.printf("case %s:\nc.%s(c.Typed(%q), &x)", one, method(one), g.types[one].kind)
	}
	g.printf("case Unknown:\nc.Dst = jsonio.AppendRaw(c.Dst, x.Raw)\n}\nreturn\n}")
	g.printf("switch kind, s := c.Type(); kind {")
	for _, one := range of {
		g.printf("case %q:\n*v = decoded(c, s, coder.%s)", g.types[one].kind, method(one))
	}
	g.printf("default:\n*v = Unknown{Kind: kind, Raw: c.Rest(s)}\n}\n}\n")
}

// bodies writes the method that codes the bodies of events.
func (g *generator) bodies(of []string) {
	g.printf("// body codes the members of a body. It reports whether the kind is known.")
	g.printf("func (c coder) body(s scope, kind Kind, v *Body) bool {\nswitch kind {")
	for _, one := range of {
		g.printf("case %s:\ncode(c, s, v, coder.%s)", g.kinds[one], method(one))
	}
	g.printf("default:\nreturn false\n}\nreturn true\n}\n")
}
