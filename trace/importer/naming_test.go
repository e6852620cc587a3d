package importer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// Of a trace, pointers lead into the custom events of the run, into the last of a name.
func TestNamingTraces(t *testing.T) {
	task := func(data string) trace.Event {
		return trace.Event{Body: trace.Custom{Name: "my/task", Data: json.RawMessage(data)}}
	}
	run := importer.Run{Name: "r", Events: []trace.Event{task(`{"id":"a"}`), task(`{"id":"b","try":2}`), {Body: trace.RunEnd{}}}}
	if err := (&importer.Mapping{Case: "/my~1task/id", Epoch: "/my~1task/try"}).Name(&run); err != nil || run.Case != "b" || run.Epoch != 2 {
		t.Errorf("case %q, epoch %d, %v", run.Case, run.Epoch, err)
	}
	const want = `the run "r" has no cluster at /id: for a trace, begin the pointer with the name of a custom event`
	if err := (&importer.Mapping{Cluster: "/id"}).Name(&run); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNaming(t *testing.T) {
	for name, c := range map[string]struct {
		naming importer.Mapping
		want   string // case, epoch and cluster, or words of the error
	}{
		"nothing":        {importer.Mapping{}, "old 7 all"},
		"case":           {importer.Mapping{Case: "/info/task/0"}, "book 7 all"},
		"all":            {importer.Mapping{Case: "/a~1b", Epoch: "/n", Cluster: "/info/on"}, `{"x":1} 3 true`},
		"no such case":   {importer.Mapping{Case: "/info/none"}, `the run "r" has no case at /info/none`},
		"null":           {importer.Mapping{Cluster: "/null"}, `the run "r" has no cluster at /null`},
		"no such epoch":  {importer.Mapping{Epoch: "/none"}, `the run "r" has no epoch at /none`},
		"no epoch":       {importer.Mapping{Epoch: "/info/on"}, "invalid epoch at /info/on: want an integer of 0 or more"},
		"no pointer":     {importer.Mapping{Case: "info"}, `"info" to the case: missing / at the beginning`},
		"no end pointer": {importer.Mapping{Epoch: "/~"}, "invalid escape: write ~0 for ~"},
	} {
		t.Run(name, func(t *testing.T) {
			run := importer.Run{Name: "r", Case: "old", Epoch: 7, Cluster: "all", Meta: map[string]json.RawMessage{
				"info": json.RawMessage(`{"task":["book"],"on":true}`), "a/b": json.RawMessage(`{"x":1}`), "n": json.RawMessage("3"), "null": json.RawMessage("null"),
			}}
			if err := c.naming.Name(&run); err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				return
			}
			if diff := cmp.Diff(c.want, strings.Join([]string{run.Case, string(rune('0' + run.Epoch)), run.Cluster}, " ")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
