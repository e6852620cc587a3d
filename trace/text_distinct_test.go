package trace_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// checkDistinct checks that the canonical forms of two traces have the same text
// only if they have the same lines in a file, which [trace.Event.UnmarshalJSON] reads
// back without loss.
func checkDistinct(t *rapid.T, a, b []trace.Event) {
	t.Helper()
	a, b = trace.Canonical(a), trace.Canonical(b)
	textA, textB := trace.FormatText(a), trace.FormatText(b)
	if same := fileLines(a) == fileLines(b); same != (textA == textB) {
		t.Fatalf("equal lines: %v, equal text: %v\nlines:\n%s\n%s\ntext:\n%s\n%s", same, textA == textB, fileLines(a), fileLines(b), textA, textB)
	}
}

func fileLines(events []trace.Event) string {
	var b []byte
	for i := range events {
		b = append(events[i].AppendJSON(b), '\n')
	}
	return string(b)
}

func TestFormatTextDistinguishesTraces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkDistinct(t, events().Draw(t, "a"), events().Draw(t, "b"))
	})
}

// Traces that differ in one place, which a text form could confuse.
func TestFormatTextDistinguishesMutations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := events().Draw(t, "events")
		if len(a) == 0 {
			return
		}
		b := append([]trace.Event(nil), a...)
		i := rapid.IntRange(0, len(b)-1).Draw(t, "event")
		b[i] = mutated(t, reflect.ValueOf(b[i])).Interface().(trace.Event)
		checkDistinct(t, a, b)
	})
}

// mutated returns a copy of v with one change at a place that t draws.
func mutated(t *rapid.T, v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Interface().(type) {
	case json.RawMessage:
		out.SetBytes(raw().Draw(t, "raw"))
		return out
	case llm.ToolChoice:
		out.Set(reflect.ValueOf(rapid.SampledFrom([]llm.ToolChoice{{}, {Mode: llm.ChooseNone}, {Mode: llm.ChooseTool, Name: "none"}, {Mode: llm.ChooseTool}}).Draw(t, "choice")))
		return out
	case llm.Unknown, trace.Unknown:
		return out
	}
	switch v.Kind() {
	case reflect.Struct:
		if n := v.NumField(); n > 0 {
			i := rapid.IntRange(0, n-1).Draw(t, v.Type().Name())
			out.Field(i).Set(mutated(t, v.Field(i)))
		}
	case reflect.Interface:
		mutateInterface(t, v, out)
	case reflect.Pointer:
		mutatePointer(t, v, out)
	case reflect.Slice:
		mutateSlice(t, v, out)
	case reflect.Map:
		mutateMap(t, v, out)
	case reflect.String:
		out.SetString(text().Draw(t, "text"))
	case reflect.Bool:
		out.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		out.SetInt(count().Draw(t, "number"))
	case reflect.Uint8:
		out.SetUint(uint64(rapid.Byte().Draw(t, "byte")))
	case reflect.Float64:
		out.SetFloat(rapid.Float64Range(-2, 2).Draw(t, "number"))
	default:
		panic("mutated: " + v.Type().String())
	}
	return out
}

func mutateInterface(t *rapid.T, v, out reflect.Value) {
	replace := rapid.IntRange(0, 3).Draw(t, "replace") == 0
	switch {
	case v.Type() == reflect.TypeFor[trace.Body]() && (replace || v.IsNil()):
		out.Set(reflect.ValueOf(event().Draw(t, "event").Body))
	case v.Type() == reflect.TypeFor[llm.Part]() && replace:
		out.Set(reflect.ValueOf(part().Draw(t, "part")))
	default:
		out.Set(mutated(t, v.Elem()))
	}
}

func mutatePointer(t *rapid.T, v, out reflect.Value) {
	if !v.IsNil() && rapid.Bool().Draw(t, "nil") {
		out.SetZero()
		return
	}
	out.Set(reflect.New(v.Type().Elem()))
	if !v.IsNil() {
		out.Elem().Set(mutated(t, v.Elem()))
	}
}

func mutateSlice(t *rapid.T, v, out reflect.Value) {
	n := v.Len()
	out.Set(reflect.MakeSlice(v.Type(), 0, n+1))
	at := rapid.IntRange(0, n).Draw(t, "index")
	for i := range n {
		switch {
		case i != at:
			out.Set(reflect.Append(out, v.Index(i)))
		case rapid.Bool().Draw(t, "keep"):
			out.Set(reflect.Append(out, mutated(t, v.Index(i))))
		}
	}
	elem := v.Type().Elem()
	if at == n && elem.Kind() != reflect.Interface {
		out.Set(reflect.Append(out, reflect.Zero(elem)))
	}
}

func mutateMap(t *rapid.T, v, out reflect.Value) {
	out.Set(reflect.MakeMap(v.Type()))
	for _, k := range v.MapKeys() {
		out.SetMapIndex(k, v.MapIndex(k))
	}
	key := reflect.ValueOf(name().Draw(t, "key")).Convert(v.Type().Key())
	value := reflect.Zero(v.Type().Elem())
	if was := v.MapIndex(key); was.IsValid() {
		value = was
	}
	out.SetMapIndex(key, mutated(t, value))
}
