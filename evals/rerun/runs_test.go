package rerun_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/rerun"
	"github.com/looptape/looptape/trace/importer"
)

func input(name, text string) evals.Input {
	return evals.Input{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

// read returns the runs and the errors of inputs, one per line.
func read(ctx context.Context, o *evals.Options, inputs ...evals.Input) (lines []string) {
	for run, err := range rerun.Runs(ctx, inputs, o) {
		if err != nil {
			lines = append(lines, "! "+err.Error())
			continue
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprint(run.File, " ", run.Name, " ", len(run.Messages), " ", strings.TrimPrefix(run.Case, run.Name))))
	}
	return lines
}

func TestRuns(t *testing.T) {
	const hi = `{"id":"a","messages":[{"role":"user","content":"hi"}]}` + "\n"
	const start = `{"format":"looptape-trace","version":2}` + "\n" + `{"run":"r","kind":"run.start"}` + "\n"
	const end, sub = `{"seq":1,"run":"r","kind":"run.end"}` + "\n", `{"run":"s","kind":"run.start","parent":{"run":"r","call":"c"}}` + "\n" + `{"seq":1,"run":"s","kind":"run.end"}` + "\n"
	found := input("README", "words")
	found.Found = true
	missing := evals.Input{Name: "missing", Open: func() (io.ReadCloser, error) { return nil, errors.New("it is not there") }}
	var passed []string
	got := read(t.Context(), &evals.Options{Skipped: func(name string) { passed = append(passed, name) }},
		input("two", hi+hi), found, input("words", "words"), missing,
		input("trace", start+end), input("subs", start+sub+end), input("broken", start+"x\n"+end), input("partly", hi+`{"messages":[7]}`+"\n"+hi))
	want := []string{
		"two a 1", "two a 1", "! words: unknown format: the f", "! missing: it is not there", "trace r 0", "subs r 0",
		"! broken:3: ", `! broken:2: the run "r" may be incomplete (an event is missing) and is not rerun`, "partly a 1", "! partly:2: messages[0]: expected an object", "partly a 1",
	}
	for i := range min(len(got), len(want)) {
		got[i] = got[i][:min(len(got[i]), len(want[i]))]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"README"}, passed); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	rows := read(t.Context(), &evals.Options{Rows: &importer.Mapping{Case: "/c", Prompt: "/q"}}, input("rows", `{"c":"x","q":"y"}`+"\n"))
	if diff := cmp.Diff([]string{"rows run-1 1 x"}, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	named := read(t.Context(), &evals.Options{Names: &importer.Mapping{Case: "/task/name"}}, input("named", strings.Replace(hi, "{", `{"task":{"name":"x"},`, 1)+hi), input("subs", start+sub+end))
	if diff := cmp.Diff([]string{"named a 1 x", `! named:2: the run "a" has no case at /task/name`, `! subs:2: the run "r" has no case at /task/name: for a trace, begin the pointer with the name of a custom event`}, named); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	n := 0
	for _, err := range rerun.Runs(ctx, []evals.Input{input("two", hi+hi), input("two", hi)}, &evals.Options{}) {
		if n++; err != nil {
			t.Error(err)
		}
		stop()
	}
	if n != 1 {
		t.Errorf("got %d runs after the context had ended, want 1", n)
	}
	for _, err := range rerun.Runs(t.Context(), []evals.Input{missing, missing}, &evals.Options{}) {
		if err != nil {
			break // and there are no more requests
		}
	}
}

// In an HTTP recording the last request of each conversation is a run, with the model
// and the tools of the request.
func TestRunsOfHTTP(t *testing.T) {
	const user, call = `{"role":"user","content":"How warm is it?"}`, `"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":%q}}]`
	const tools = `,"tools":[{"type":"function","function":{"name":"weather","description":"Tells.","parameters":{"type":"object"}}}]`
	exchange := func(asked, answered string) *recording.Interaction {
		return &recording.Interaction{
			Request: recording.Request{
				Method: "POST", URL: "https://api.openai.com/v1/chat/completions", Header: http.Header{"Content-Type": {"application/json"}},
				Body: []byte(`{"model":"m","messages":[{"role":"system","content":"Be kind."},` + asked + `]` + tools + `}`),
			},
			Response: recording.Response{
				Status: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"application/json"}},
				Body: []byte(`{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":` + answered + `}]}`),
			},
		}
	}
	first := `{"role":"assistant","content":null,` + fmt.Sprintf(call, `{"in": "Bern"}`) + `}`
	again := `{"role":"assistant","content":"",` + fmt.Sprintf(call, `{"in":"Bern"}`) + `}`
	file := cassettes.Encode(recording.Metadata{}, nil, []*recording.Interaction{
		exchange(user, first),
		exchange(`{"role":"user","content":"Hello."}`, `{"role":"assistant","content":"Hi."}`),
		exchange(user+","+again+`,{"role":"tool","tool_call_id":"c1","content":"22"}`, `{"role":"assistant","content":"22 degrees."}`),
	})
	var got []string
	for run, err := range rerun.Runs(t.Context(), []evals.Input{input("x.tape", string(file))}, &evals.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		out, err := rerun.Model(t.Context(), &run.Run, replies(`weather{"in":"Bern"}`, "22 degrees."), nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, run.Name+": "+went(out))
	}
	want := []string{
		"interaction-1: 2 turns, 0 reworded",
		`interaction-2: 1 turns, 0 reworded; left at 0 for 0: the call of weather {"in":"Bern"} is not recorded here, or not that often: was "Hi.", is weather {"in":"Bern"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
}
