package importer_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

const (
	tau2Head = `{"timestamp":"2026","info":{"num_trials":1,"user_info":{},"agent_info":{}},"tasks":[{"id":"7","evaluation_criteria":{"actions":[{"action_id":"a","requestor":"assistant","name":"f","arguments":{"x":1}},{"requestor":"user","name":"u","arguments":{}}]}},{"id":"8","evaluation_criteria":{"actions":null}}],"simulations":[`
	tau2Run  = `{"id":"s1","task_id":"7","trial":0,"duration":2.5,"termination_reason":"user_stop","agent_cost":0.5,"reward_info":{"reward":1.0,"reward_breakdown":{"DB":1.0}},"messages":[` +
		`{"role":"assistant","content":"hello","tool_calls":null,"turn_idx":0,"usage":null},` +
		`{"role":"user","content":"hi","tool_calls":[{"id":"u1","name":"u","arguments":{},"requestor":"user"}],"usage":{"prompt_tokens":99,"completion_tokens":9}},` +
		`{"role":"tool","id":"u1","content":"done","requestor":"user","error":false},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","name":"f","arguments":{"x": 1},"requestor":"assistant"},{"id":"c2","name":"g","arguments":{}}],"usage":{"prompt_tokens":7,"completion_tokens":2},"is_audio":false},` +
		`{"role":"tool","tool_messages":[{"role":"tool","id":"c1","content":"fine","requestor":"assistant","error":false},{"role":"tool","id":"c2","content":"no such g","error":true}]},` +
		`{"role":"assistant","content":"yo","usage":{"prompt_tokens":9,"completion_tokens":1}}]}`
	tau2Voice = `{"id":"s2","task_id":"8","termination_reason":"user_stop","trial":0,"mode":"full_duplex","ticks":[{"tick_id":0}]}`
)

func TestTau2Runs(t *testing.T) {
	const (
		one     = `task-7/trial-0 case="7" epoch=0 answer="yo" calls=[-1:f{"x":1} ] reward=1 reward/DB=1`
		alone   = `task-7/trial-0 case="7" epoch=0 answer="yo" reward=1 reward/DB=1`
		refused = "the run is a voice run of tau2-bench: it has ticks and no messages, and is not read"
	)
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"results":          {tau2Head + tau2Run + ",\n" + tau2Voice + ",\n" + tau2Run + `]}`, []string{one, "! file:2: simulations[1]: " + refused, one}},
		"a simulation":     {tau2Run, []string{alone}},
		"a voice run":      {tau2Voice, []string{"! file:1: " + refused}},
		"lines":            {tau2Run + "\n" + tau2Run + "\n", []string{alone, alone}},
		"no messages":      {`{"task_id":"7","termination_reason":"x","messages":7}`, []string{"! file:1: the run has no list of messages"}},
		"no simulations":   {strings.TrimSuffix(tau2Head, `,"simulations":[`) + "}", []string{"! file:1: the array of runs at simulations is missing"}},
		"a broken message": {tau2Head + `{"id":"s","messages":[{"role":}]}]}`, []string{"! file:1: simulations[0].messages[0].role: expected a value"}},
	} {
		t.Run(name, func(t *testing.T) {
			for way, in := range map[string]io.Reader{"plain": strings.NewReader(c.in), "gzip": zipped(t, c.in)} {
				src, err := importer.Open("file", in)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, describeRuns(src, nil)); diff != "" || src.Format.Name != "tau2-bench" {
					t.Errorf("%s: format %s, runs (-want +got):\n%s", way, src.Format.Name, diff)
				}
			}
		})
	}
}

func TestTau2Messages(t *testing.T) {
	want := []string{
		`{"role":"assistant","parts":[{"type":"text","text":"hello"}],"opaque":{"turn_idx":0}}`,
		`{"role":"user","parts":[{"type":"text","text":"hi"},{"type":"tau2.user_tool_call","value":{"id":"u1","name":"u","arguments":{},"requestor":"user"}}],"opaque":{"usage":{"prompt_tokens":99,"completion_tokens":9}}}`,
		`{"role":"user","parts":[{"type":"tau2.user_tool_result","value":{"role":"tool","id":"u1","content":"done","requestor":"user","error":false}}]}`,
		`{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":"{\"x\": 1}","opaque":{"requestor":"assistant"}},{"type":"tool_call","id":"c2","name":"g","arguments":"{}"}],"opaque":{"usage":{"prompt_tokens":7,"completion_tokens":2},"is_audio":false}}`,
		`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","content":[{"type":"text","text":"fine"}],"opaque":{"requestor":"assistant","error":false}}]}`,
		`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c2","content":[{"type":"text","text":"no such g"}],"is_error":true,"opaque":{"error":true}}]}`,
		`{"role":"assistant","parts":[{"type":"text","text":"yo"}],"opaque":{"usage":{"prompt_tokens":9,"completion_tokens":1}}}`,
	}
	if diff := cmp.Diff(want, ownJSON(t, strings.NewReader(tau2Run))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	_, runs, failed, unknown := readAll(t, "file", []byte(tau2Head+tau2Run+"]}"))
	if len(runs) != 1 || failed != nil || unknown != nil {
		t.Fatalf("%d runs, errors %v, unknown %v", len(runs), failed, unknown)
	}
	if got, want := runs[0].Resources(), (importer.Resources{Usage: llm.Usage{InputTokens: 16, OutputTokens: 3}, Cost: 0.5, Latency: 2500 * time.Millisecond}); got != want {
		t.Errorf("resources %+v, want %+v", got, want)
	}
	if v := check.Messages("run", runs[0].Messages); v != nil {
		t.Errorf("violations %v", v)
	}
}

func TestTau2Unknown(t *testing.T) {
	in := `{"task_id":"7","termination_reason":"x","messages":[7,{"role":"user","content":"hi","tool_calls":"u"},{"role":"assistant","content":"AAAA","is_audio":true},{"role":"robot","content":"x"}]}`
	_, _, _, unknown := readAll(t, "file", []byte(in))
	var got []string
	for _, err := range unknown {
		got = append(got, err.Error())
	}
	want := []string{
		`file:1: the message has the unknown role "" (in message 0 of task-7)`,
		`file:1: the message has the unknown role "robot" (in message 3 of task-7)`,
		`file:1: messages[0]: the message is not an object, or its calls are not a list of objects (in task-7)`,
		`file:1: messages[1]: the message is not an object, or its calls are not a list of objects (in task-7)`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
}

// Voice runs and the index of their folder are refused, each for its reason.
func TestTau2Voice(t *testing.T) {
	golden := goldenFiles(t, "tau2-voice")
	for name := range golden {
		b := readShared(t, "tau2-voice", name)
		format, runs, failed, _ := readAll(t, name, b)
		if format != "tau2-bench" || runs != nil || len(failed) != 1 || !strings.Contains(failed[0].Error(), "the run is a voice run of tau2-bench") {
			t.Errorf("%s: format %q, %d runs, errors %v", name, format, len(runs), failed)
		}
	}
	format, _, failed, _ := readAll(t, "results.json", readShared(t, "tau2-voice", "results.json"))
	if format != "tau2-bench" || len(failed) != 1 || !strings.HasSuffix(failed[0].Error(), "the array of runs at simulations is missing") {
		t.Errorf("format %q, errors %v", format, failed)
	}
}
