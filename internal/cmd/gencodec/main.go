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
//	//gencodec:codec NAME METHOD   the method of the coder that codes a member
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
	methods := map[string]string{}
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
		case directive == "codec":
			member, method, _ := strings.Cut(arguments, " ")
			methods[member] = method
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
		if method := methods[name]; method != "" {
			tag += reflect.StructTag(fmt.Sprintf(" codec:%q", method))
		}
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

// visit writes the method that codes the members of a struct.
func (g *generator) visit(s *structType) {
	g.printf("func (c coder) %s(dst jsonio.Out, v *%s) jsonio.Out {", method(s.name), s.name)
	if s.members {
		for i := range s.fields {
			g.field(&s.fields[i])
		}
		g.printf("return dst\n}\n")
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
	if required != "" {
		g.printf("found := c.Encoding")
	}
	g.printf("for again := true; again; again = c.Next(%s) {", renames)
	for i := range s.fields {
		g.field(&s.fields[i])
	}
	g.printf("}")
	if required != "" {
		g.printf("if !found {\nc.Dec.Fail(%q)\n}", required)
	}
	g.printf("return dst\n}\n")
}

// simple maps types to methods of jsonio.Coder: for members that are always present, and for
// members that may be absent.
var simple = map[string][2]string{
	"string": {"Text", "OptionalText"}, "bool": {"", "OptionalBool"},
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
	isWord, isUnion, of := codec == "word" || g.words[f.typ], g.unions[elem] != nil, g.types[elem]
	call := func(method, pointer string) { g.printf("dst = c.%s(dst, %q, %s)", method, f.name, pointer) }
	object := func(method string) string {
		return fmt.Sprintf("%s.%s(c.Coder, dst, %q, &%s)", codecName(elem), method, f.name, at)
	}
	switch {
	case f.name == "-":
	case isUnless:
		g.printf("if !c.Encoding || %s != %s {", at, absent)
		g.printf("dst = jsonio.Int(c.Coder, dst, %q, &%s)\n}", f.name, at)
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
	case f.typ == "int" || f.typ == "int64" || f.typ == "time.Duration":
		name := [...]string{"Int", "OptionalInt"}[optional]
		g.printf("dst = jsonio.%s(c.Coder, dst, %q, &%s)", name, f.name, at)
	case isUnion && f.typ == elem:
		call(method(elem)+"Member", "&"+at)
		g.printf("found = found || %s != nil", at)
	case isUnion && f.tag.Get("required") != "":
		g.printf("found = found || c.Take(%q)", f.name)
		call(method(elem)+"s", "&"+at)
	case isUnion && f.optional:
		g.printf("if !c.Encoding || len(%s) > 0 {", at)
		call(method(elem)+"s", "&"+at)
		g.printf("}")
	case isUnion:
		call(method(elem)+"s", "&"+at)
	case f.typ[0] == '[' && f.orNil:
		g.printf("dst = %s", object("ListOrNil"))
	case f.typ[0] == '[':
		g.printf("dst = %s", object([...]string{"List", "OptionalList"}[optional]))
	case f.typ[0] == '*':
		g.printf("dst = %s", object("Pointer"))
	case of == nil || of.fields == nil:
		call(method(f.typ), "&"+at)
	case !f.optional:
		g.printf("dst = %s", object("Code"))
	case !slices.ContainsFunc(of.fields, func(f field) bool { return !f.optional }):
		g.printf("dst = dst.Unless(%s)", object("Code"))
	default:
		g.printf("if !c.Encoding || %s != (%s{}) {\ndst = %s\n}", at, f.typ, object("Code"))
	}
}

// codecName is the name of the jsonio.Codec for a type.
func codecName(typ string) string { return method(typ) + "Codec" }

// union writes the functions for values of a union whose member type names the type.
func (g *generator) union(name string, of []string) {
	var kinds []string
	g.printf("func append%s(dst jsonio.Out, v %s) jsonio.Out {\nswitch v := v.(type) {", name, name)
	for _, one := range of {
		kinds = append(kinds, fmt.Sprintf("%q", g.types[one].kind))
		g.printf("case %s:\nreturn append(encoder.%s(append(dst, `{\"type\":%q`...), &v), '}')", one, method(one), g.types[one].kind)
	}
	g.printf("case Unknown:\nreturn appendUnknown(dst, v, %s)\n}\nreturn dst\n}\n", strings.Join(kinds, ", "))
	g.printf("func read%s(c *jsonio.Coder) %s {\nswitch kind, from := c.Type(); kind {", name, name)
	for _, one := range of {
		g.printf("case %q:\nreturn decoded(c, coder.%s)", g.types[one].kind, method(one))
	}
	g.printf("default:\nreturn readUnknown(kind, c.Rest(from))\n}\n}\n")
}

// bodies writes the methods for the bodies of events.
func (g *generator) bodies(of []string) {
	g.printf("// appendBody encodes the kind and the members of a body.")
	g.printf("func (c coder) appendBody(dst jsonio.Out, body Body) jsonio.Out {\nswitch v := body.(type) {")
	for _, one := range of {
		g.printf("case %s:\nreturn c.%s(append(dst, `,\"kind\":%q`...), &v)", one, method(one), g.values[g.kinds[one]])
	}
	g.printf("default:\nreturn appendUnknown(dst, body)\n}\n}\n")
	g.printf("// readBody decodes the members of a body. It returns nil if the kind is unknown.")
	g.printf("func (c coder) readBody(kind Kind) Body {\nswitch kind {")
	for _, one := range of {
		g.printf("case %s:\nreturn decoded(c, coder.%s)", g.kinds[one], method(one))
	}
	g.printf("default:\nreturn nil\n}\n}\n")
}
