package trace_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace"
)

// FuzzReader reads any bytes: no line stops it but the file's end, and what it
// reads can be written, read again as the same, and shown as text.
func FuzzReader(f *testing.F) {
	f.Add([]byte(header + `{"seq":0,"run":"r","kind":"run.start","options":{"a":1},"tools":[{"name":"t"}]}` + "\n" + `{"kind":"new","x":[1]}`))
	f.Add([]byte(header + `{"run":"r","step":0,"kind":"model.request","new":[{"role":"user","parts":[{"type":"text","text":"a"}]}],"hash":"0000000000000000"}` + "\n{\n\n"))
	f.Add([]byte(header + `{"run":"r","kind":"run.end","usage_by":{"a":{"input":1}},"pending":["a",{"_b64":"/w=="}],"error":{"retry_after_ns":5}}`))
	f.Add([]byte(`{"format":"looptape-trace","version":9}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := trace.NewReader(bytes.NewReader(file))
		if err != nil {
			if _, ok := errors.AsType[*trace.VersionError](err); !ok && !errors.Is(err, trace.ErrNotTrace) {
				t.Fatalf("an error of another type: %v", err)
			}
			return
		}
		var evs []trace.Event
		line := 1
		for ev, err := range r.Events() {
			if err == nil {
				evs = append(evs, ev)
				continue
			}
			broken, ok := errors.AsType[*trace.LineError](err)
			if !ok || broken.Line <= line {
				t.Fatalf("after line %d: %v", line, err)
			}
			line = broken.Line
		}
		for _, ev := range evs {
			b := trace.AppendEvent(nil, &ev)
			again, err := trace.UnmarshalEvent(b)
			if err != nil {
				t.Fatalf("%v: %s", err, b)
			}
			if diff := cmp.Diff(string(b), string(trace.AppendEvent(nil, &again))); diff != "" {
				t.Fatalf("written again (-first +again):\n%s", diff)
			}
		}
		text := trace.FormatText(evs)
		back, err := trace.ParseText(text)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		if diff := cmp.Diff(text, trace.FormatText(back)); diff != "" {
			t.Fatalf("shown again (-first +again):\n%s", diff)
		}
		trace.Project(evs)
	})
}

// FuzzParseText parses any text: what is accepted is written and parsed as the
// same.
func FuzzParseText(f *testing.F) {
	f.Add(trace.FormatText(every()))
	f.Add("run.start r1 a=\"b\"\ntool.end r1:0.1/x @5s c1 ok (text \"a\"; media m data=b64\"eA==\") error name=n")
	f.Fuzz(func(t *testing.T, text string) {
		evs, err := trace.ParseText(text)
		if err != nil {
			if _, ok := errors.AsType[*trace.TextError](err); !ok {
				t.Fatalf("an error of another type: %v", err)
			}
		}
		once := trace.FormatText(evs)
		again, err := trace.ParseText(once)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, once)
		}
		if diff := cmp.Diff(once, trace.FormatText(again)); diff != "" {
			t.Fatalf("shown again (-first +again):\n%s", diff)
		}
	})
}
