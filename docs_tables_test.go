package looptape_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/internal/cassettetest"
	"github.com/looptape/looptape/llm/llmtest"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace/check"
)

// generated matches a generated table in a page.
var generated = regexp.MustCompile(`(?s)<!-- table: ([^>]+?) -->\n.*?<!-- end -->`)

// tables returns the page with current generated tables.
func tables(t *testing.T, text string) string {
	t.Helper()
	return generated.ReplaceAllStringFunc(text, func(place string) string {
		name := generated.FindStringSubmatch(place)[1]
		return "<!-- table: " + name + " -->\n" + tableOf(t, name) + "<!-- end -->"
	})
}

func tableOf(t *testing.T, name string) string {
	t.Helper()
	what, arg, _ := strings.Cut(name, " ")
	switch what {
	case "invariants":
		var rows [][]string
		for _, i := range check.Catalog() {
			rows = append(rows, []string{i.ID, i.Name, i.What, i.Evidence, i.Hint})
		}
		return markdown([]string{"id", "name", "requirement", "evidence", "likely cause and fix"}, rows)
	case "faults":
		return faultTable()
	case "recordings":
		return recordingTable(t)
	case "properties":
		var rows [][]string
		for _, p := range llmtest.Properties() {
			rows = append(rows, []string{"`" + string(p) + "`", p.Description(), p.Hint(), p.Invariant()})
		}
		return markdown([]string{"property", "requirement", "likely cause and fix", "part of"}, rows)
	case "rules":
		checked := map[string]string{}
		for line := range strings.Lines(read(t, "cmd/looptape/internal/runs/testdata/rules.tsv")) {
			id, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			checked[id] = text
		}
		var rows [][]string
		for line := range strings.Lines(read(t, "fake/wire/testdata/rules.tsv")) {
			row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			rows = append(rows, append(row, checked[row[0]]))
		}
		return markdown([]string{"id", "rejected request", "status", "type", "param", "code", "`check` reports"}, rows)
	case "certificates":
		var rows [][]string
		for line := range strings.Lines(read(t, "loop/scenario/testdata/certificates.tsv")) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			rows = append(rows, append([]string{f[0] + " × " + f[1]}, f[2:]...))
		}
		return markdown([]string{"steps × calls", "faults", "orders", "runs", "different runs", "set"}, rows)
	case "mutants":
		var rows [][]string
		for line := range strings.Lines(read(t, "loop/testdata/mutants.tsv")) {
			rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
		return markdown([]string{"invariant", "change to the loop", "violated invariants, after which number of runs"}, rows)
	case "options":
		var rows [][]string
		for _, o := range loop.Options() {
			rows = append(rows, []string{"`" + strings.Replace(o.Name, ".", ": ", 1) + "`", optionValues(&o), o.Doc, "`Config." + o.Field + "`"})
		}
		return markdown([]string{"option", "value", "meaning", "Go field"}, rows)
	case "option-versions":
		var rows [][]string
		for _, o := range loop.Options() {
			var values []string
			for _, v := range o.Values {
				if v[0] != v[1] {
					values = append(values, "`"+v[1]+"` → `"+v[0]+"`")
				}
			}
			if name := strings.Replace(o.Name, "retry.", "retry_", 1); name != o.Declared || values != nil {
				rows = append(rows, []string{"`" + o.Declared + "`", "`" + o.Name + "`", strings.Join(values, ", ")})
			}
		}
		return markdown([]string{"version 1, and traces", "version 2", "values"}, rows)
	case "fields":
		return fields(t, arg)
	case "scenario":
		return keys(t, []byte(read(t, "fake/schema/scenario-v2.schema.json")), arg)
	case "trace":
		return keys(t, []byte(read(t, "trace/schema/trace-v2.schema.json")), arg)
	case "packages":
		return packageTable()
	case "large":
		return largeTable()
	case "contract":
		return contractRows(t, arg)
	case "matrix":
		return matrixRows(t)
	case "kinds":
		return kinds(t)
	case "json":
		return jsonTable(t)
	case "scorers":
		var rows [][]string
		for _, k := range scorers.Kinds() {
			rows = append(rows, []string{"`" + k.Name + "`", k.Description, settings(reflect.TypeOf(k.Settings))})
		}
		return markdown([]string{"scorer", "meaning of 1, or of the number", "settings"}, rows)
	}
	t.Errorf("unknown table %q", name)
	return ""
}

// jsonTable shows the schemas of the JSON outputs of commands.
func jsonTable(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob("cmd/looptape/schema/*.json")
	if err != nil || len(names) == 0 {
		t.Fatal("no schemas", err)
	}
	var rows [][]string
	for _, name := range names {
		var schema struct{ Title, Description string }
		if err := json.Unmarshal([]byte(read(t, name)), &schema); err != nil {
			t.Fatal(err)
		}
		format, version, _ := strings.Cut(schema.Title, ", version ")
		command := strings.TrimSuffix(strings.TrimPrefix(schema.Description, "The output of looptape "), ".")
		rows = append(rows, []string{"[`" + format + "`](../" + name + ")", version, "`" + command + "`"})
	}
	return markdown([]string{"format", "version", "output of"}, rows)
}

// recordingTable shows the folders of testdata/cassettes.
func recordingTable(t *testing.T) string {
	t.Helper()
	list, err := cassettetest.Table("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for _, r := range list {
		folder, name := path.Split(r.Name)
		if len(rows) > 0 && rows[len(rows)-1][0] == "`"+folder+"`" {
			rows[len(rows)-1][2] += ", " + name
			continue
		}
		rows = append(rows, []string{"`" + folder + "`", strings.Join(r.Shows, ", "), name})
	}
	return markdown([]string{"folder", "shows", "recordings"}, rows)
}

// faultTable shows which protocols reject a fault, by its rule.
func faultTable() string {
	var rows [][]string
	for _, i := range check.Catalog() {
		for _, f := range i.Faults {
			row := []string{i.ID, f.Description}
			for _, protocol := range []string{"", "openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse", "cohere-chat", "ollama-chat"} {
				rule := f.Rule(protocol)
				switch {
				case !f.IsReported(protocol):
					rule = ""
				case rule == "":
					rule = "note"
				case rule == "400":
					rule = "error"
				}
				row = append(row, rule)
			}
			rows = append(rows, row)
		}
	}
	return markdown([]string{"id", "fault", "list of messages", "Chat Completions", "Responses", "Anthropic", "Gemini", "Bedrock Converse", "Cohere", "Ollama"}, rows)
}

// optionValues describes the values of a loop option.
func optionValues(o *loop.Option) string {
	var values []string
	if o.Type != "word" && o.Type != "bool" && o.Type != "" {
		values = append(values, string(o.Type))
	}
	for _, v := range o.Values {
		values = append(values, "`"+v[0]+"`")
	}
	switch {
	case o.Type == "bool":
		return "boolean"
	case values == nil:
		return "see the meaning"
	}
	return strings.Join(values, ", ")
}

// settings returns the names of the settings of a scorer.
func settings(of reflect.Type) string {
	var names []string
	for _, f := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, "`"+name+"`")
		}
	}
	return strings.Join(names, ", ")
}

// schema is the part of a JSON Schema that the pages show.
type schema struct {
	Description string
	Type        any
	Pattern     string
	Enum        []string
	Const       any
	Ref         string `json:"$ref"`
	Required    []string
	Properties  map[string]*schema
	Items       *schema
	AnyOf       []*schema
	Values      json.RawMessage    `json:"additionalProperties"`
	Defs        map[string]*schema `json:"$defs"`
}

func parse(t *testing.T, src []byte) *schema {
	t.Helper()
	s := &schema{}
	if err := json.Unmarshal(src, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// keys returns the table of the members of an object. name is its definition, or file for the
// members of the schema.
func keys(t *testing.T, src []byte, name string) string {
	t.Helper()
	s := parse(t, src)
	def := s.Defs[name]
	if name == "file" {
		def = s
	}
	if def == nil {
		t.Errorf("missing definition %q in the schema", name)
		return ""
	}
	var rows [][]string
	for _, k := range sorted(def.Properties) {
		p := def.Properties[k]
		if strings.HasSuffix(k, "_b64") {
			continue // the pages describe them once
		}
		rows = append(rows, []string{"`" + k + "`", p.kind(), p.Description})
	}
	return markdown([]string{"key", "value", "meaning"}, rows)
}

// kind describes a value for people.
func (s *schema) kind() string {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		return "[" + strings.ReplaceAll(name, "_", " ") + "](#" + slug(name) + ")"
	case len(s.Enum) > 0:
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	case s.Const != nil:
		return fmt.Sprintf("`%v`", s.Const)
	case strings.Contains(s.Pattern, "ns|us"):
		return "duration"
	case s.Items != nil:
		return "list: " + s.Items.kind()
	case len(s.AnyOf) > 0:
		var list []string
		for _, a := range s.AnyOf {
			list = append(list, a.kind())
		}
		return strings.Join(list, ", or ")
	case s.Values != nil && len(s.Properties) == 0:
		v := &schema{}
		if json.Unmarshal(s.Values, v) == nil && (v.Ref != "" || v.Type != nil || v.Items != nil) {
			return "map: " + v.kind()
		}
		return "map"
	}
	switch v := s.Type.(type) {
	case string:
		return v
	case []any:
		var list []string
		for _, one := range v {
			list = append(list, fmt.Sprint(one))
		}
		return strings.Join(list, " or ")
	}
	return "any"
}

// TestDocMembers checks that the schema describes each member of the header and the envelope.
func TestDocMembers(t *testing.T) {
	defs := parse(t, []byte(read(t, "trace/schema/trace-v2.schema.json"))).Defs
	for _, name := range []string{"header", "event"} {
		for _, k := range sorted(defs[name].Properties) {
			if defs[name].Properties[k].Description == "" {
				t.Errorf("the schema of traces has no description of %s.%s", name, k)
			}
		}
	}
}

// kinds returns the table of the kinds of events.
func kinds(t *testing.T) string {
	t.Helper()
	defs := parse(t, []byte(read(t, "trace/schema/trace-v2.schema.json"))).Defs
	var rows [][]string
	for _, name := range sorted(defs) {
		kind, ok := strings.CutPrefix(name, "kind.")
		if !ok {
			continue
		}
		var members []string
		for _, k := range sorted(defs[name].Properties) {
			p := defs[name].Properties[k]
			text := "`" + k + "` (" + p.kind() + ")"
			if p.Description != "" {
				text += ": " + strings.TrimSuffix(p.Description, ".")
			}
			members = append(members, text)
		}
		rows = append(rows, []string{"`" + kind + "`", defs[name].Description, strings.Join(members, "; ")})
	}
	return markdown([]string{"kind", "event", "members"}, rows)
}

func sorted(m map[string]*schema) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

func markdown(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	line(header)
	b.WriteString(strings.Repeat("| --- ", len(header)) + "|\n")
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

// fields returns a table of the fields of an options struct, from its doc comments. The struct
// is given as loop/config.go Config.
func fields(t *testing.T, place string) string {
	t.Helper()
	name, typ, _ := strings.Cut(place, " ")
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	prefix := ""
	if typ != "Config" {
		prefix = typ + "."
	}
	var rows [][]string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.TypeSpec)
		if !is || spec.Name.Name != typ {
			return true
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			for _, id := range f.Names {
				rows = append(rows, []string{"`" + id.Name + "`", optionKey(prefix + id.Name), fieldDoc(f)})
			}
		}
		return false
	})
	return markdown([]string{"field", "key in a scenario", "meaning"}, rows)
}

// docLink matches a link in a doc comment.
var docLink = regexp.MustCompile(`\[([\w.*]+)\]`)

// fieldDoc returns the comment of a field as one line, without the name that it begins with.
func fieldDoc(f *ast.Field) string {
	text := cmp.Or(f.Doc.Text(), f.Comment.Text())
	text = docLink.ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1")
	for _, verb := range []string{" is ", " are ", " "} {
		if rest, begins := strings.CutPrefix(text, f.Names[0].Name+verb); begins {
			text = rest
			break
		}
	}
	return strings.TrimSuffix(text, ".")
}

// optionKey returns the keys that set a field of the Config in a scenario file.
func optionKey(field string) string {
	var list []string
	for _, o := range loop.Options() {
		if o.Field != field && !strings.HasPrefix(o.Field, field+".") {
			continue
		}
		key, _, nested := strings.Cut(o.Name, ".")
		if nested && strings.Contains(field, ".") {
			key = strings.Replace(o.Name, ".", ": ", 1)
		}
		if key = "`" + key + "`"; !slices.Contains(list, key) {
			list = append(list, key)
		}
	}
	return strings.Join(list, ", ")
}

// TestDocFields checks that the pages about the fields of a struct name each field.
func TestDocFields(t *testing.T) {
	for page, types := range map[string][]reflect.Type{
		"docs/loop.md":       {reflect.TypeFor[loop.Config](), reflect.TypeFor[loop.Retry]()},
		"docs/middleware.md": {reflect.TypeFor[loop.Hooks]()},
	} {
		text := read(t, page)
		for _, s := range types {
			for i := range s.NumField() {
				if name := s.Field(i).Name; !strings.Contains(text, "`"+name+"`") {
					t.Errorf("%s does not mention %s.%s", page, s, name)
				}
			}
		}
	}
}
