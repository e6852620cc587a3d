package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// types are all types of Body but Unknown.
var types = []trace.Body{
	trace.RunStart{}, trace.StepStart{}, trace.ModelConfig{}, trace.ModelRequest{}, trace.ModelDelta{}, trace.ModelResponse{}, trace.ModelError{}, trace.ModelRetry{},
	trace.Decision{}, trace.ToolArguments{}, trace.ToolStart{}, trace.ToolEnd{}, trace.ToolSkip{}, trace.StepEnd{}, trace.HistoryRewrite{}, trace.Canceled{},
	trace.Abandoned{}, trace.Suspended{}, trace.Resumed{}, trace.Warning{}, trace.Custom{}, trace.RunEnd{},
}

// fill sets every field of v, of whatever it refers to too.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte(`{"any":1}`))
		return
	case llm.ToolChoice:
		v.Set(reflect.ValueOf(llm.ToolChoice{Mode: llm.ChooseTool, Name: "x"}))
		return
	case []llm.Part:
		var parts []llm.Part
		for _, p := range []llm.Part{&llm.Text{}, &llm.Reasoning{}, &llm.Media{}, &llm.ToolCall{}} {
			fill(reflect.ValueOf(p).Elem())
			parts = append(parts, reflect.ValueOf(p).Elem().Interface().(llm.Part))
		}
		result := llm.ToolResult{ID: "x", Name: "x", Content: []llm.Part{llm.Text{Text: "x"}}, IsError: true, Opaque: json.RawMessage(`1`)}
		v.Set(reflect.ValueOf(append(parts, result, llm.Unknown{Kind: "new", Raw: json.RawMessage(`{"type":"new","x":1}`)})))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	default:
		panic("fill " + v.Type().String())
	}
}

// full returns one event of each kind with every field set.
func full() []trace.Event {
	var evs []trace.Event
	for _, b := range types {
		v := reflect.New(reflect.TypeOf(b)).Elem()
		fill(v)
		body := v.Interface().(trace.Body)
		if r, ok := body.(trace.ModelRequest); ok {
			// The first request keeps none, so that there is a hash; the second some.
			evs = append(evs, trace.Event{Run: "r", Attempt: 1, Purpose: "p", Body: trace.ModelRequest{NewMessages: r.NewMessages}})
		}
		evs = append(evs, trace.Event{Seq: 1, Run: "r", Step: 1, Attempt: 1, Purpose: "p", At: 1, Body: body})
	}
	return evs
}

func schemaFile(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("schema/trace-v2.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func schemas(t *testing.T) (*jsonschema.Schema, *jsonschema.Resolved) {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(schemaFile(t), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &s, resolved
}

// lines returns the lines of a file that has everything.
func lines(t *testing.T) (header []byte, evs [][]byte) {
	t.Helper()
	var h trace.Header
	fill(reflect.ValueOf(&h).Elem())
	h.Format, h.Version = "", 0
	all := bytes.Split(bytes.TrimSpace(write(t, h, full())), []byte("\n"))
	return all[0], all[1:]
}

// Every field of a body is written and read, so a new one that the
// codec does not handle fails here.
func TestEveryFieldBothWays(t *testing.T) {
	kinds := map[trace.Kind]bool{}
	for _, ev := range full() {
		kinds[ev.Body.Kind()] = true
		got, err := unmarshal(ev.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ev, got); diff != "" {
			t.Errorf("%s read back (-want +got):\n%s", ev.Body.Kind(), diff)
		}
	}
	for kind := range bodies {
		if kind != "unknown" && !kinds[kind] {
			t.Errorf("no example of %s", kind)
		}
	}
	if len(types) != len(bodies)-1 {
		t.Errorf("%d types and %d generators", len(types), len(bodies)-1)
	}
}

func TestSchemaAcceptsWhatIsWritten(t *testing.T) {
	_, resolved := schemas(t)
	header, evs := lines(t)
	for _, line := range append(evs, header) {
		if err := validate(resolved, line); err != nil {
			t.Errorf("%v\n%s", err, line)
		}
	}
}

// TestSchemaAcceptsRecordings validates the events of all trace files in the repository, in the
// current version of the format.
func TestSchemaAcceptsRecordings(t *testing.T) {
	_, resolved := schemas(t)
	files, events := 0, 0
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".jsonl" {
			return err
		}
		file, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		r, err := trace.NewReader(bytes.NewReader(file))
		if errors.Is(err, trace.ErrNotTrace) || errors.Is(err, trace.ErrVersion) {
			return nil
		}
		if err != nil {
			return err
		}
		files++
		for ev, err := range r.Events() {
			if err != nil {
				continue // some files have lines that are invalid on purpose
			}
			events++
			if err := validate(resolved, ev.AppendJSON(nil)); err != nil {
				t.Errorf("%s:%d: %v", name, r.Line(), err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 || events < 1000 {
		t.Errorf("found %d events in %d traces, want more", events, files)
	}
}

func validate(s *jsonschema.Resolved, line []byte) error {
	var v any
	if err := json.Unmarshal(line, &v); err != nil {
		return err
	}
	return s.Validate(v)
}

func TestSchemaRefuses(t *testing.T) {
	_, resolved := schemas(t)
	for _, line := range []string{
		`{}`, `[]`, `{"format":"x","version":1}`, `{"format":"looptape-trace","version":3}`, `{"kind":"step.end"}`, `{"kind":"step.end","seq":"1"}`,
		`{"seq":1,"kind":"tool.start","tool_call_id":5}`, `{"seq":1,"kind":"tool.end"}`, `{"seq":1,"kind":"model.request","hash":"12"}`,
		`{"seq":1,"kind":"model.response","message":{"role":"user","parts":[{"type":"text","text":1}]}}`, `{"seq":1,"kind":"run.start","options":{"a":[]}}`,
	} {
		if validate(resolved, []byte(line)) == nil {
			t.Errorf("accepted: %s", line)
		}
	}
	for _, line := range []string{`{"seq":1,"kind":"new","tool_call_id":5}`, `{"seq":1,"kind":"step.end","new":[]}`, `{"seq":1,"kind":"model.request","new_messages":[{"role":"user","parts":[{"type":"new","text":1}]}]}`} {
		if err := validate(resolved, []byte(line)); err != nil {
			t.Errorf("%v: %s", err, line)
		}
	}
}

// The schema names exactly the members that are written, at every depth.
func TestSchemaHasEveryMember(t *testing.T) {
	s, _ := schemas(t)
	w := walker{schema: s}
	header, evs := lines(t)
	w.line(t, "header", header)
	for _, line := range evs {
		w.line(t, "event", line)
	}
	var want, got []string
	for name := range s.Defs {
		if name != "options" && name != "suppress" && name != "names" { // have no fixed members
			want = append(want, name)
		}
	}
	for name, found := range w.seen {
		got = append(got, name)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(s.Defs[name].Properties)), slices.Sorted(maps.Keys(found))); diff != "" {
			t.Errorf("%s: members (-schema +written):\n%s", name, diff)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("definitions (-schema +written):\n%s", diff)
	}
}

// walker notes for each definition the members that were seen.
type walker struct {
	schema *jsonschema.Schema
	seen   map[string]map[string]bool
}

func (w *walker) line(t *testing.T, def string, line []byte) {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(line, &v); err != nil {
		t.Fatal(err)
	}
	if def == "event" {
		own := map[string]any{}
		for name := range w.schema.Defs["event"].Properties {
			if _, ok := v[name]; ok {
				own[name] = v[name]
				delete(v, name)
			}
		}
		w.object("event", own)
		def = "kind." + fmt.Sprint(own["kind"])
	}
	w.object(def, v)
}

func (w *walker) object(def string, v map[string]any) {
	if w.seen == nil {
		w.seen = map[string]map[string]bool{}
	}
	if w.seen[def] == nil {
		w.seen[def] = map[string]bool{}
	}
	for name, value := range v {
		w.seen[def][name] = true
		if s := w.schema.Defs[def].Properties[name]; s != nil {
			w.value(s, value)
		}
	}
}

func (w *walker) value(s *jsonschema.Schema, v any) {
	def := strings.TrimPrefix(s.Ref, "#/$defs/")
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if s.Items != nil {
				w.value(s.Items, e)
			}
		}
	case map[string]any:
		switch {
		case def == "part" && v["type"] == "new":
			w.object("part", map[string]any{"type": ""})
		case def == "part":
			w.object("part."+fmt.Sprint(v["type"]), v)
		case w.schema.Defs[def] != nil && w.schema.Defs[def].Properties != nil:
			w.object(def, v)
		case s.AdditionalProperties != nil:
			for _, e := range v {
				w.value(s.AdditionalProperties, e)
			}
		}
	}
}
