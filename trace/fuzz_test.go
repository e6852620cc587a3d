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
	f.Add([]byte(header + `{"run":"r","step":0,"kind":"model.request","new_messages":[{"role":"user","parts":[{"type":"text","text":"a"}]}],"hash":"0000000000000000"}` + "\n{\n\n"))
	f.Add([]byte(header + `{"run":"r","kind":"run.end","usage_by":{"a":{"input_tokens":1}},"pending":["a",{"_b64":"/w=="}],"error":{"retry_after_ns":5}}`))
	f.Add([]byte(`{"format":"looptape-trace","version":9}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := trace.NewReader(bytes.NewReader(file))
		if err != nil {
			if !errors.Is(err, trace.ErrVersion) && !errors.Is(err, trace.ErrNotTrace) {
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
			b := ev.AppendJSON(nil)
			again, err := unmarshal(b)
			if err != nil {
				t.Fatalf("%v: %s", err, b)
			}
			if diff := cmp.Diff(string(b), string(again.AppendJSON(nil))); diff != "" {
				t.Fatalf("written again (-first +again):\n%s", diff)
			}
		}
		trace.FormatText(evs)
		trace.Project(evs)
	})
}
