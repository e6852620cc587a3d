package importer_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// talked are the conversations of a recording: messages, resources and ends.
func talked(t *testing.T, recording []byte) (got []string) {
	t.Helper()
	src, err := importer.Open("file", bytes.NewReader(recording))
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Conversations() {
		if err != nil {
			got = append(got, "! "+err.Error())
			continue
		}
		var said []string
		for _, m := range run.Messages {
			said = append(said, string(m.Role))
		}
		u := run.Resources().Usage
		got = append(got, fmt.Sprintf("%s: %s; %d/%d/%d %s", run.Name, strings.Join(said, " "), u.InputTokens, u.CacheReadInputTokens, u.OutputTokens, run.Meta["finish_reason"]))
	}
	return got
}

// The last request of each conversation has all of it, and all its responses count. Here the
// first conversation continues in another request after a truncated attempt, with another
// conversation between. The last two continue from it with other results; one response is
// truncated, and one request is rejected. A request that cannot be read is reported in place.
func TestConversations(t *testing.T) {
	const user, call = `{"role":"user","content":"How warm is it?"}`, `"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":%q}}]`
	asked := fmt.Sprintf(`{"role":"assistant","content":null,`+call+`}`, `{"in": "Bern"}`)
	said := fmt.Sprintf(`{"role":"assistant","content":"",`+call+`}`, `{"in":"Bern"}`)
	exchange := func(messages, answer, finish string, usage llm.Usage) *recording.Interaction {
		body := fmt.Sprintf(`{"id":"x","choices":[{"message":%s,"finish_reason":%q}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}}`, answer, finish, usage.InputTokens, usage.OutputTokens, usage.CacheReadInputTokens)
		if answer == "" {
			body = ""
		}
		return over("POST", chatURL, `{"model":"m","messages":[`+messages+`]}`, body)
	}
	result := func(text string) string { return `,{"role":"tool","tool_call_id":"c1","content":"` + text + `"}` }
	busy := exchange(user+","+said+result("busy"), "", "", llm.Usage{})
	busy.Response.Status = 503
	recording := cassettes.Encode(recording.Metadata{}, nil, []*recording.Interaction{
		exchange(user, asked, "tool_calls", llm.Usage{InputTokens: 100, OutputTokens: 10, CacheReadInputTokens: 5}),
		exchange(user+","+said+result("22"), "", "", llm.Usage{}),
		exchange(`{"role":"user","content":"Hello."}`, `{"role":"assistant","content":"Hi."}`, "stop", llm.Usage{InputTokens: 1, OutputTokens: 2}),
		over("POST", chatURL, `{"messages":7}`, "{}"),
		exchange(user+","+said+result("22"), `{"role":"assistant","content":"22 degrees."}`, "length", llm.Usage{InputTokens: 1000, OutputTokens: 20, CacheReadInputTokens: 50}),
		exchange(user+","+said+result("no"), "", "", llm.Usage{}),
		busy,
	})
	want := []string{
		`interaction-3: user assistant; 1/0/2 "stop"`,
		"! file:84: interaction 4: invalid Chat Completions request: expected an array at messages (byte 13)",
		`interaction-5: user assistant tool assistant; 1100/55/30 "length"`,
		"! file:134: interaction 6: the response cannot be read as a whole: openai-chat: status 200: the response is empty",
		"interaction-7: user assistant tool; 100/5/10 ",
	}
	if diff := cmp.Diff(want, talked(t, recording)); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
}

// In a file other than an HTTP recording each run is one, and no more than requested is read.
func TestConversationsOfOthers(t *testing.T) {
	const list = `{"messages":[{"role":"user","content":"hi"}]}` + "\n"
	if diff := cmp.Diff([]string{"run-1: user; 0/0/0 ", "run-2: user; 0/0/0 "}, talked(t, []byte(list+list))); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
	recording := cassettes.Encode(recording.Metadata{}, nil, []*recording.Interaction{
		over("POST", chatURL, `{"messages":[{"role":"user","content":"hi"}]}`, ""), over("POST", chatURL, `{"messages":[{"role":"user","content":"ho"}]}`, ""),
	})
	src, err := importer.Open("file", bytes.NewReader(recording))
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Conversations() {
		if !run.Partial || err == nil {
			t.Errorf("got %s, %v, want a run with an invalid response", run.Name, err)
		}
		break
	}
}

// The 350 cassettes of 14 endpoints contain 354 conversations.
func TestConversationsOfCassettes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sharedDir(t), "data", "fantasy-cassettes", "*", "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(sharedDir(t), "data", "fantasy-cassettes", "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, name := range append(files, more...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range talked(t, text) {
			switch {
			case strings.Contains(line, " assistant; ") && !strings.Contains(line, "; 0/0/0 "):
				whole++
			default:
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	if len(files)+len(more) != 350 || whole != 354 {
		t.Errorf("%d cassettes with %d conversations, want 350 with 354", len(files)+len(more), whole)
	}
}

// Of alternative responses and of several prompts the first is read, and the number is reported. The
// next call continues the first alternative.
func TestAlternatives(t *testing.T) {
	const (
		asked   = `[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`
		called  = `{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":{}}],"finish_reason":"tool_call"}`
		other   = `{"role":"assistant","parts":[{"type":"tool_call","id":"c2","name":"f","arguments":{"x":1}}],"finish_reason":"tool_call"}`
		next    = `[{"role":"user","parts":[{"type":"text","content":"hi"}]},` + called + `,{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":"r"}]}]`
		done    = `[{"role":"assistant","parts":[{"type":"text","content":"d"}],"finish_reason":"stop"}]`
		choices = `{"choices":[{"index":0,"message":{"role":"assistant","content":"A"}},{"index":1,"message":{"role":"assistant","content":"B"}}]}`
		human   = `{"messages":[[{"type":"human","content":"hi"}]]}`
	)
	langSmith := func(inputs, outputs string) string {
		return `{"id":"1","trace_id":"t","run_type":"llm","inputs":` + inputs + `,"outputs":` + outputs + `}`
	}
	generation := func(text string) string {
		return `{"text":"` + text + `","message":{"type":"ai","content":"` + text + `"}}`
	}
	for name, c := range map[string]struct {
		in, want string
		unknown  []string
	}{
		"OpenTelemetry": {
			otlp(span("t", 1, "gen_ai.input.messages", asked, "gen_ai.output.messages", "["+called+","+other+"]"), span("t", 2, "gen_ai.input.messages", next, "gen_ai.output.messages", done)),
			"t user:(hi) assistant:[c1 f{}] tool:[c1 =r] assistant:(d)",
			[]string{`file:1: span "": the gen_ai.output.messages of the model call: the response has 2 alternatives, and only the first is read (in t)`},
		},
		"OpenTelemetry, an agent": {
			otlp(span("t", 1, "gen_ai.operation.name", "invoke_agent", "gen_ai.input.messages", asked, "gen_ai.output.messages", "["+called+","+other+"]")),
			`t user:(hi) assistant:[c1 f{}] assistant:[c2 f{"x":1}]`, nil,
		},
		"LangSmith, choices": {
			langSmith(`{"messages":[{"role":"user","content":"hi"}]}`, choices), "t user:(hi) assistant:(A)",
			[]string{"file:1: outputs: the call of a model: the response has 2 alternatives, and only the first is read (in t)"},
		},
		"LangSmith, generations": {
			langSmith(human, `{"generations":[[`+generation("A")+`,`+generation("B")+`]]}`), "t user:(hi) assistant:(A)",
			[]string{"file:1: outputs: the call of a model: the response has 2 alternatives, and only the first is read (in t)"},
		},
		"LangSmith, generations in one list": {
			langSmith(human, `{"generations":[`+generation("A")+`,`+generation("B")+`]}`), "t user:(hi) assistant:(A)",
			[]string{"file:1: outputs: the call of a model: the response has 2 alternatives, and only the first is read (in t)"},
		},
		"LangSmith, two prompts": {
			langSmith(`{"messages":[[{"type":"human","content":"hi"}],[{"type":"human","content":"ho"}]]}`, `{"generations":[[`+generation("A")+`],[`+generation("B")+`]]}`), "t user:(hi) assistant:(A)",
			[]string{
				"file:1: inputs: the call of a model: the call has 2 prompts, and only the first is read (in t)",
				"file:1: outputs: the call of a model: the call has 2 prompts, and only the first is read (in t)",
			},
		},
		"Langfuse": {
			langfuseTrace(observation("GENERATION", "m", "", 1, `[{"role":"user","content":"hi"}]`, choices)), `t user:(hi) assistant:(A) {"input_tokens":10,"output_tokens":2,"reasoning_output_tokens":1}`,
			[]string{`file:1: observations[0].output: the model call "m": the response has 2 alternatives, and only the first is read (in t)`},
		},
		"Gemini": {
			langfuseTrace(observation("GENERATION", "m", "", 1, `[{"role":"user","content":"hi"}]`, `{"candidates":[{"content":{"parts":[{"text":"A"}]}},{"content":{"parts":[{"text":"B"}]}}]}`)), `t user:(hi) assistant:(A) {"input_tokens":10,"output_tokens":2,"reasoning_output_tokens":1}`,
			[]string{`file:1: observations[0].output: the model call "m": the response has 2 alternatives, and only the first is read (in t)`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			format, runs, failed, unknown := readAll(t, "file", []byte(c.in))
			if diff := cmp.Diff([]string{c.want}, outline(runs)); diff != "" || failed != nil {
				t.Errorf("errors %v, runs (-want +got):\n%s", failed, diff)
			}
			if diff := cmp.Diff(c.unknown, texts(unknown)); diff != "" {
				t.Errorf("unknown (-want +got):\n%s", diff)
			}
			if names := lostFrom(format, sourceLeaves(t, []byte(c.in)), contentOf(t, runs)); names != nil {
				t.Errorf("lost %s", strings.Join(names, "\n"))
			}
			if len(runs[0].Checkable()) == 0 {
				t.Error("the messages are not checked")
			}
		})
	}
}
