package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// schemaOf returns the schema of an output: of its value, or of each line. A strict schema accepts no
// member that this version does not have.
func schemaOf(f cli.JSONFormat, strict bool) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(f.Type, &jsonschema.ForOptions{TypeSchemas: typeSchemas()})
	if err != nil {
		return nil, err
	}
	if !strict {
		open(s)
	}
	head := map[string]*jsonschema.Schema{"format": {Const: ptr[any](f.Name)}, "version": {Const: ptr[any](f.Version)}}
	if f.Lines {
		first := &jsonschema.Schema{Type: "object", Properties: head, Required: []string{"format", "version"}}
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{first, s}}
	} else {
		order := []string{"format", "version"}
		for _, name := range s.PropertyOrder {
			if head[name] == nil {
				order = append(order, name)
			}
		}
		required := []string{"format", "version"}
		for _, name := range s.Required {
			if head[name] == nil {
				required = append(required, name)
			}
		}
		for name, of := range head {
			s.Properties[name] = of
		}
		s.PropertyOrder, s.Required = order, required
	}
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", fmt.Sprintf("%s, version %d", f.Name, f.Version)
	s.Description = "The output of looptape " + f.Command + "."
	return s, nil
}

func ptr[T any](v T) *T { return &v }

// open accepts members of later versions.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		open(p)
	}
	open(s.Items)
	open(s.AdditionalProperties)
	for _, list := range [][]*jsonschema.Schema{s.AnyOf, s.AllOf, s.OneOf} {
		for _, one := range list {
			open(one)
		}
	}
}

// typeSchemas are the schemas of types with a JSON form of their own.
func typeSchemas() map[reflect.Type]*jsonschema.Schema {
	of := func(value *jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", AdditionalProperties: value}
	}
	text, number := &jsonschema.Schema{Type: "string"}, &jsonschema.Schema{Type: "number"}
	object := func(t reflect.Type) *jsonschema.Schema {
		s, err := jsonschema.ForType(t, &jsonschema.ForOptions{})
		if err != nil {
			panic(err)
		}
		return s
	}
	list := &jsonschema.Schema{Type: "array", Items: text}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[evals.ByName[float64]]():       of(number),
		reflect.TypeFor[evals.ByName[string]]():        of(text),
		reflect.TypeFor[evals.ByName[[]string]]():      of(list),
		reflect.TypeFor[evals.ByName[evals.Calls]]():   of(object(reflect.TypeFor[evals.Calls]())),
		reflect.TypeFor[evals.ByName[evals.Grading]](): of(object(reflect.TypeFor[evals.Grading]())),
		reflect.TypeFor[time.Duration]():               {Type: "integer"},
		reflect.TypeFor[json.RawMessage]():             {},
		reflect.TypeFor[importer.Call]():               {},
		reflect.TypeFor[llm.Usage]():                   object(reflect.TypeFor[llm.Usage]()),
	}
}

// The published schemas are those of the types.
func TestSchemas(t *testing.T) {
	want := map[string]bool{}
	for _, f := range cli.JSONFormats() {
		s, err := schemaOf(f, false)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, '\n')
		name := filepath.Join("schema", fmt.Sprintf("%s-v%d.schema.json", f.Name, f.Version))
		want[name] = true
		if *update {
			if err := os.WriteFile(name, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s is not current: run go test ./cmd/looptape -run TestSchemas -update (%v)", name, err)
		}
	}
	files, err := filepath.Glob("schema/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if !want[name] {
			t.Errorf("%s: no output has this format", name)
		}
	}
}

// checkedCommand runs the command and fails if its JSON output does not match its schema.
func checkedCommand() {
	isJSON := false
	for i, arg := range os.Args[1:] {
		isJSON = isJSON || arg == "--format=json" || arg == "--format=jsonl" || arg == "--format" && strings.HasPrefix(strings.Join(os.Args[i+2:], " "), "json")
	}
	if !isJSON || slices.Contains([]string{"serve", "trace", "record", "replay"}, os.Args[1]) { // some of them wait for signals
		main()
		return
	}
	var out bytes.Buffer
	c := exec.CommandContext(context.Background(), "looptape-unchecked", os.Args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, &out, os.Stderr
	err := c.Run()
	_, _ = os.Stdout.Write(out.Bytes())
	if invalid := validOutput(out.Bytes()); invalid != nil {
		fmt.Fprintln(os.Stderr, "the output does not match its schema:", invalid)
		os.Exit(99)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(exit.ExitCode())
	}
}

// validOutput returns an error for JSON values that do not match the schema that the first one names.
func validOutput(text []byte) error {
	var current *jsonschema.Resolved
	var name string
	dec := json.NewDecoder(bytes.NewReader(text))
	for n := 0; ; n++ {
		var raw json.RawMessage
		if err := dec.Decode(&raw); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var head struct {
			Format  string
			Version int
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			return err
		}
		if head.Format != "" {
			i := slices.IndexFunc(cli.JSONFormats(), func(f cli.JSONFormat) bool { return f.Name == head.Format && f.Version == head.Version })
			if i < 0 {
				return fmt.Errorf("value %d has the unknown format %q, version %d", n, head.Format, head.Version)
			}
			s, err := schemaOf(cli.JSONFormats()[i], true)
			if err == nil {
				current, err = s.Resolve(nil)
			}
			if err != nil {
				return err
			}
			name = head.Format
		}
		if current == nil {
			return fmt.Errorf("value %d has no format: %.80s", n, raw)
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		if err := current.Validate(v); err != nil {
			return fmt.Errorf("value %d, %s: %w: %.300s", n, name, err, raw)
		}
	}
}

// schemaCommand is the command schema of scripts: the standard output before matches its schema.
func schemaCommand(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(validOutput([]byte(ts.ReadFile("stdout"))))
}
