package importer_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// aboutRun is the run of a trace with an event of the name and the data.
func aboutRun(t *testing.T, name, data string) importer.Run {
	t.Helper()
	var b bytes.Buffer
	w := trace.NewWriter(&b, trace.Header{})
	for i, body := range []trace.Body{trace.RunStart{}, trace.Custom{Name: name, Data: json.RawMessage(data)}, trace.RunEnd{}} {
		if err := w.Write(trace.Event{Run: "r", Seq: i, Step: trace.NoStep, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for run, err := range openTrace(t, b.Bytes()).Runs() {
		if err != nil {
			t.Fatal(err)
		}
		run.Events = nil
		return run
	}
	t.Fatal("got no run")
	return importer.Run{}
}

// A case event has the same data as the members of another run.
func TestAbout(t *testing.T) {
	plain := importer.Run{Name: "r", Line: 2, Epoch: importer.NoEpoch}
	whole := plain
	whole.Case, whole.Epoch, whole.Cluster = "a<b", 0, "c"
	whole.Expected = importer.Expected{
		Answers: []string{"x"}, Replies: []string{"", "y"},
		Calls: []importer.Call{{Name: "f", Arguments: json.RawMessage(`{"n":1.0}`), Turn: 0}, {Name: "g", Turn: importer.NoTurn}},
	}
	none := plain
	none.Expected.Calls = []importer.Call{}
	for data, want := range map[string]importer.Run{
		`{}`: plain,
		`{"case":"a\u003cb","epoch":0,"cluster":"c","want":{"answers":["x"],"replies":["","y"],"calls":[{"name":"f","args":{"n":1.0},"turn":0},{"name":"g"}]}}`: whole,
		`{"want":{"calls":[]}}`: none,
	} {
		got := aboutRun(t, importer.CaseEvent, data)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", data, diff)
		}
		if diff := cmp.Diff(data, string(got.About().Data)); diff != "" {
			t.Errorf("written again (-want +got):\n%s", diff)
		}
	}
	for _, odd := range [][2]string{{"other", `{"case":"a"}`}, {importer.CaseEvent, `7`}, {importer.CaseEvent, `{"case":7}`}, {importer.CaseEvent, `{"epoch":-2}`}} {
		if diff := cmp.Diff(plain, aboutRun(t, odd[0], odd[1])); diff != "" {
			t.Errorf("%v (-want +got):\n%s", odd, diff)
		}
	}
}
