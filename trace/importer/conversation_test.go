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
		for _, e := range run.Unknown {
			got = append(got, "? "+e.Error())
		}
	}
	return got
}

// The last request of each conversation has all of it, and all its responses count. Here the
// first conversation continues in another request after a truncated attempt, with another
// conversation between. The last two continue from it with other results; one response is
// truncated, and one request is rejected. A request that cannot be read is reported in place. A
// run has the name of its first request, which no other run has.
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
		`interaction-1: user assistant tool assistant; 1100/55/30 "length"`,
		`interaction-3: user assistant; 1/0/2 "stop"`,
		"! file:84: interaction 4: invalid Chat Completions request: expected an array at messages (byte 13)",
		"! file:134: interaction 6: the response cannot be read as a whole: openai-chat: status 200: the response is empty",
		"interaction-7: user assistant tool; 100/5/10 ",
	}
	if diff := cmp.Diff(want, talked(t, recording)); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
}

// Requests belong to one conversation whatever the client does with the responses. The usage of all runs
// is that of all responses.
func TestConversationsAreJoined(t *testing.T) {
	const (
		asked  = `{"role":"user","content":"hi"}`
		called = `{"role":"assistant","content":%q,"tool_calls":[{"id":"c","type":"function","function":{"name":%q,"arguments":"{}"}}]}`
		result = `,{"role":"tool","tool_call_id":"c","content":"r"}`
		stored = "https://api.openai.com/v1/responses"
	)
	tokens := 0
	chat := func(messages, answer string) *recording.Interaction {
		tokens = 2*tokens + 1
		return over("POST", chatURL, `{"model":"m","messages":[`+messages+`]}`, fmt.Sprintf(`{"choices":[{"message":%s,"finish_reason":"stop"}],"usage":{"prompt_tokens":%d}}`, answer, tokens))
	}
	system := func(text string) string { return `{"role":"system","content":"` + text + `"},` }
	said := func(text string) string { return `{"role":"assistant","content":"` + text + `"}` }
	call, done := fmt.Sprintf(called, "", "f"), said("done")
	in := func(session string, x *recording.Interaction) *recording.Interaction {
		x.Session = session
		return x
	}
	responses := func(request, id, output string) *recording.Interaction {
		tokens = 2*tokens + 1
		return over("POST", stored, `{"model":"m",`+request+`}`, fmt.Sprintf(`{"id":%q,"object":"response","status":"completed","output":[%s],"usage":{"input_tokens":%d}}`, id, output, tokens))
	}
	const (
		functionCall = `{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":"{}"}`
		output       = `{"type":"function_call_output","call_id":"c","output":"r"}`
		text         = `{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"done"}]}`
	)
	for name, c := range map[string]struct {
		list func() []*recording.Interaction
		want []string
	}{
		"another text": {func() []*recording.Interaction {
			return []*recording.Interaction{chat(asked, fmt.Sprintf(called, " I look. ", "f")), chat(asked+","+fmt.Sprintf(called, "I see.", "f")+result, done)}
		}, []string{"interaction-1: user assistant tool assistant; 4/0/0 \"stop\""}},
		"space": {func() []*recording.Interaction {
			return []*recording.Interaction{chat(asked, said("ho \\n")), chat(asked+","+said("ho")+","+asked, done)}
		}, []string{"interaction-1: user assistant user assistant; 4/0/0 \"stop\""}},
		"another tool": {func() []*recording.Interaction {
			return []*recording.Interaction{chat(asked, call), chat(asked+","+fmt.Sprintf(called, "", "g")+result, done)}
		}, []string{"interaction-1: user assistant tool assistant; 4/0/0 \"stop\""}},
		"an epoch that is done": {func() []*recording.Interaction {
			return []*recording.Interaction{chat(asked, done), chat(asked, call), chat(asked+","+call+result, done)}
		}, []string{"interaction-1: user assistant; 1/0/0 \"stop\"", "interaction-2: user assistant tool assistant; 10/0/0 \"stop\""}},
		"equal epochs": {func() []*recording.Interaction {
			return []*recording.Interaction{chat(asked, call), chat(asked, call), chat(asked+","+call+result, done), chat(asked+","+call+result, done)}
		}, []string{"interaction-1: user assistant tool assistant; 8/0/0 \"stop\"", "interaction-2: user assistant tool assistant; 18/0/0 \"stop\""}},
		"an equal attempt": {func() []*recording.Interaction {
			return []*recording.Interaction{chat(asked, call), chat(asked, call), chat(asked+","+call+result, done)}
		}, []string{"interaction-1: user assistant tool assistant; 11/0/0 \"stop\""}},
		"another system prompt": {func() []*recording.Interaction {
			return []*recording.Interaction{chat(system("at 1")+asked, call), chat(system("at 2")+asked+","+call+result, done)}
		}, []string{"interaction-1: system user assistant tool assistant; 4/0/0 \"stop\""}},
		"another agent": {func() []*recording.Interaction {
			return []*recording.Interaction{chat(system("x")+asked, done), chat(system("y")+asked+","+said("old")+","+asked, done)}
		}, []string{"interaction-1: system user assistant; 1/0/0 \"stop\"", "interaction-2: system user assistant user assistant; 3/0/0 \"stop\""}},
		"a prefilled response": {func() []*recording.Interaction {
			return []*recording.Interaction{chat(asked, done), chat(asked+","+said("{"), done)}
		}, []string{"interaction-1: user assistant; 1/0/0 \"stop\"", "interaction-2: user assistant assistant; 3/0/0 \"stop\""}},
		"two clients": {func() []*recording.Interaction {
			return []*recording.Interaction{in("a", chat(asked, done)), in("b", chat(asked, done)), in("b", chat(asked+","+done+","+asked, done))}
		}, []string{"interaction-1: user assistant; 1/0/0 \"stop\"", "interaction-2: user assistant user assistant; 10/0/0 \"stop\""}},
		"a stored response": {func() []*recording.Interaction {
			return []*recording.Interaction{responses(`"input":"hi"`, "r1", functionCall), responses(`"previous_response_id":"r1","input":[`+output+`]`, "r2", text)}
		}, []string{"interaction-1: user assistant tool assistant; 4/0/0 \"stop\""}},
		"a stored item": {func() []*recording.Interaction {
			return []*recording.Interaction{responses(`"input":"hi"`, "r1", functionCall), responses(`"input":[{"role":"user","content":"hi"},{"type":"item_reference","id":"fc"},`+output+`]`, "r2", text)}
		}, []string{"interaction-1: user assistant tool assistant; 4/0/0 \"stop\""}},
		"an unknown response": {func() []*recording.Interaction {
			return []*recording.Interaction{responses(`"previous_response_id":"r0","input":[`+output+`]`, "r2", text)}
		}, []string{"interaction-1: tool assistant; 1/0/0 \"stop\"", `? file:5: interaction 1: the request continues the response "r0", which is not in the recording`}},
		"unknown parts": {func() []*recording.Interaction {
			return []*recording.Interaction{responses(`"input":"hi"`, "r1", `{"type":"hologram"},`+functionCall), responses(`"previous_response_id":"r1","input":[`+output+`]`, "r2", text)}
		}, []string{"interaction-1: user assistant tool assistant; 4/0/0 \"stop\"", `? file:5: the content has a part of the unknown kind "responses:hologram" (in message 1 of interaction-1)`}},
	} {
		t.Run(name, func(t *testing.T) {
			tokens = 0
			if diff := cmp.Diff(c.want, talked(t, cassettes.Encode(recording.Metadata{}, nil, c.list()))); diff != "" {
				t.Errorf("conversations (-want +got):\n%s", diff)
			}
		})
	}
}

// A run has the responses of the model, unless the client divided one into several messages.
func TestConversationsOfChangedResponses(t *testing.T) {
	const (
		user   = `{"role":"system","content":"be kind"},{"role":"user","content":"hi"}`
		call   = `{"id":%q,"type":"function","function":{"name":"f","arguments":"{}"}}`
		result = `,{"role":"tool","tool_call_id":"a","content":"r"}`
		text   = `{"role":"assistant","content":"I look."}`
	)
	a, b := fmt.Sprintf(call, "a"), fmt.Sprintf(call, "b")
	said := func(calls string) string { return `{"role":"assistant","content":null,"tool_calls":[` + calls + `]}` }
	for name, c := range map[string]struct{ response, sent, want string }{
		"a call less": {said(a + "," + b), said(a), "interaction-1 system:(be kind) user:(hi) assistant:[a f{}][b f{}] tool:[a f=r] assistant:(done)"},
		"divided":     {`{"role":"assistant","content":"I look.","tool_calls":[` + a + `]}`, text + "," + said(a), "interaction-1 system:(be kind) user:(hi) assistant:(I look.) assistant:[a f{}] tool:[a f=r] assistant:(done)"},
	} {
		t.Run(name, func(t *testing.T) {
			var list []*recording.Interaction
			for _, x := range [][2]string{{user, c.response}, {user + "," + c.sent + result, `{"role":"assistant","content":"done"}`}} {
				list = append(list, over("POST", chatURL, `{"messages":[`+x[0]+`]}`, `{"choices":[{"message":`+x[1]+`,"finish_reason":"stop"}]}`))
			}
			src, err := importer.Open("file", bytes.NewReader(cassettes.Encode(recording.Metadata{}, nil, list)))
			if err != nil {
				t.Fatal(err)
			}
			var runs []importer.Run
			for run, err := range src.Conversations() {
				if err != nil {
					t.Fatal(err)
				}
				runs = append(runs, run)
			}
			if diff := cmp.Diff([]string{c.want}, outline(runs)); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
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

// The 350 cassettes of 14 endpoints contain one conversation each. In four of them, the client changed a
// response.
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
	if len(files)+len(more) != 350 || whole != 350 {
		t.Errorf("%d cassettes with %d conversations, want one each in 350", len(files)+len(more), whole)
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
