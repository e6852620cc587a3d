package importer_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/internal/yamljson"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// leaves counts the strings and numbers of a value. Of a string that is a JSON object or array, such
// as the arguments of a call, it counts the leaves. Names of attributes and methods, directions,
// and names of types and roles, which the types of package llm show, do not count.
func leaves(count map[string]int, key string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			attributes, _ := value.(map[string]any)
			if noContent[name] || name == "resource" && attributes["attributes"] != nil {
				continue
			}
			leaves(count, name, value)
		}
	case []any:
		for _, value := range v {
			leaves(count, key, value)
		}
	case json.Number:
		if key == "type" || key == "role" {
			return
		}
		count[jsonval.CanonicalNumber(v).String()]++
	case string:
		if trimmed := strings.TrimSpace(v); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
			if inner, err := jsonval.Decode([]byte(v)); err == nil {
				leaves(count, key, inner)
				return
			}
		}
		isError := key == "status" && (v == "success" || v == "error") // as llm.ToolResult.IsError
		if v != "" && !isError && key != "type" && key != "role" && key != "key" && key != "direction" && !strings.HasPrefix(v, "client.beta.") {
			count[v]++
		}
	}
}

// noContent are members without content of a conversation: what spans say of programs.
var noContent = map[string]bool{"scope": true, "instrumentationLibrary": true, "process": true, "processes": true}

func leavesOf(t rapid.TB, count map[string]int, raw []byte) {
	t.Helper()
	v, err := jsonval.Decode(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	leaves(count, "", v)
}

// contentOf counts the leaves of the runs: messages, opaque data, Meta, Head, scores and expected
// values.
func contentOf(t rapid.TB, runs []importer.Run) map[string]int {
	t.Helper()
	count := map[string]int{}
	for _, run := range runs {
		for _, m := range run.Messages {
			leavesOf(t, count, m.AppendJSON(nil))
			countMedia(count, m.Parts)
			leaves(count, "", string(m.Role))
		}
		for _, raw := range run.Meta {
			leavesOf(t, count, raw)
		}
		for _, s := range run.Scores {
			leavesOf(t, count, s.Raw)
		}
		about := run.About()
		leavesOf(t, count, about.Data)
	}
	if n := len(runs); n > 0 {
		for _, raw := range runs[n-1].Head { // which also has what follows the runs
			leavesOf(t, count, raw)
		}
	}
	return count
}

// countMedia counts the media that are texts, which JSON has in base64.
func countMedia(count map[string]int, parts []llm.Part) {
	for _, part := range parts {
		switch p := part.(type) {
		case llm.Media:
			count[string(p.Data)]++
			count["data:"+p.MediaType+";base64,"+base64.StdEncoding.EncodeToString(p.Data)]++
		case llm.ToolResult:
			countMedia(count, p.Content)
		}
	}
}

// lost returns the leaves that the runs have fewer times than the source. At most once for each
// name: a recording may repeat itself.
func lost(source, content map[string]int) (names []string) {
	for _, leaf := range slices.Sorted(maps.Keys(source)) {
		if content[leaf] < source[leaf] {
			names = append(names, fmt.Sprintf("%q: %d of %d", leaf, content[leaf], source[leaf]))
		}
	}
	return names
}

// repeating are the formats and forms whose recordings repeat messages, texts or calls. Their
// runs have each leaf at least once.
var repeating = map[string]bool{"messages/ui-4": true, "tau2-bench": true, "adk-session": true, "inspect": true, "langfuse": true, "langfuse-rows": true, "openinference": true, "otel": true, "langchain": true, "langsmith": true}

// kindNames are roles and types, which attributes of spans have under names of their own. Names of
// attributes do not count either.
var kindNames = map[string]bool{
	"user": true, "assistant": true, "system": true, "tool": true, "model": true,
	"text": true, "reasoning": true, "tool_use": true, "image": true,
}

// lostFrom is lost for the runs of a recording in a format, or in a form of it.
func lostFrom(name string, source, content map[string]int) []string {
	format, _, _ := strings.Cut(name, "/")
	if repeating[format] || repeating[name] {
		source = maps.Clone(source)
		for leaf := range source {
			source[leaf] = 1
		}
		maps.DeleteFunc(source, func(leaf string, _ int) bool { return kindNames[leaf] || strings.HasPrefix(leaf, "gen_ai.") })
	}
	return lost(source, content)
}

// mappings are those of rows whose members have no usual names, by file.
var mappings = map[string]*importer.Mapping{
	"example_model_solutions.jsonl": {Prompt: "/question", Expected: "/ground_truth", Answer: "/175b_verification/solution", Scores: map[string]string{"correct": "/175b_verification/is_correct"}},
}

// readAll reads a recording, and returns its runs and all errors: those that Runs yields, and the
// parts that were not understood.
func readAll(t rapid.TB, name string, b []byte) (format string, runs []importer.Run, failed, unknown []error) {
	t.Helper()
	src, err := importer.OpenRows(name, bytes.NewReader(b), mappings[name])
	if err != nil {
		return "", nil, []error{err}, nil
	}
	for run, err := range src.Runs() {
		if err != nil {
			failed = append(failed, err)
		}
		if run.Name != "" {
			runs = append(runs, run)
		}
		for _, e := range run.Unknown {
			unknown = append(unknown, e)
		}
	}
	return src.Format.Name, runs, failed, unknown
}

// sourceLeaves counts the leaves of a recording in JSON or JSON Lines. Invalid lines are skipped.
func sourceLeaves(t rapid.TB, b []byte) map[string]int {
	t.Helper()
	count := map[string]int{}
	if archive, err := zip.NewReader(bytes.NewReader(b), int64(len(b))); err == nil {
		for _, entry := range archive.File {
			if strings.Contains(entry.Name, "summaries") { // they repeat the samples
				continue
			}
			r, err := entry.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			leavesOf(t, count, text)
		}
		return count
	}
	if text, err := yamljson.Document(b); !json.Valid(b) && err == nil && text[0] == '{' {
		b = text
	}
	if !json.Valid(b) { // Python writes NaN
		b = bytes.ReplaceAll(b, []byte(": NaN"), []byte(`: "NaN"`))
	}
	if json.Valid(b) {
		leavesOf(t, count, b)
		return count
	}
	for line := range bytes.Lines(b) {
		if json.Valid(line) {
			leavesOf(t, count, line)
		}
	}
	return count
}

// sharedFiles calls read with each file of a data set.
func sharedFiles(t *testing.T, set string, read func(name string, b []byte)) {
	t.Helper()
	dir := filepath.Join(sharedDir(t), "data", set)
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(file)
		if err != nil || d.IsDir() || d.Name() == "golden.json" || !slices.Contains([]string{".json", ".jsonl", ".yaml", ".gz", ".eval"}, ext) {
			return err
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if zipped, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
			if b, err = io.ReadAll(zipped); err != nil {
				return err
			}
		}
		name, err := filepath.Rel(dir, file)
		read(filepath.ToSlash(name), b)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the data set is not there: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sessionSets are the data sets of sessions, by the name of the format.
var sessionSets = map[string]string{
	"claude-code":      "claude-code",
	"codex":            "codex-rollouts",
	"claude-agent-sdk": "claude-agent-sdk",
	"atif":             "atif",
	"langchain":        "langchain-messages",
	"langsmith":        "langsmith",
	"adk-set":          "adk-eval",
	"agentevals":       "agentevals",
	"inspect":          "inspect",
	"tau-bench":        "tau-airline",
	"rows":             "gsm8k",
}

func TestConservedInSharedFiles(t *testing.T) {
	for format, set := range sessionSets {
		t.Run(format, func(t *testing.T) {
			sharedFiles(t, set, func(name string, b []byte) {
				got, runs, failed, unknown := readAll(t, name, b)
				if failed := append(failed, unknown...); got == "inspect" && failed != nil {
					t.Errorf("%s: errors %v", name, failed)
				}
				if got == "" {
					if !strings.HasSuffix(name, "test_config.json") { // the settings of an evaluation
						t.Errorf("%s: unknown format", name)
					}
					return
				}
				if names := lostFrom(got, sourceLeaves(t, b), contentOf(t, runs)); names != nil {
					t.Errorf("%s: lost %s", name, strings.Join(names, "\n"))
				}
			})
		})
	}
}

// mutate changes values of a recording at random places: it drops, renames, replaces and doubles.
func mutate(t *rapid.T, v any) any { return mutateMembers(t, v, true) }

// mutateMembers is mutate. It renames members, and makes lists and objects of values, only if rename
// is true: the codecs of package providers skip what no provider sends.
func mutateMembers(t *rapid.T, v any, rename bool) any {
	replacements := []any{nil, "new " + rapid.StringN(1, 3, 8).Draw(t, "text"), json.Number("17"), true, []any{}, []any{"x"}, map[string]any{}, map[string]any{"text": "inner"}}
	if !rename {
		replacements = replacements[:len(replacements)-3] // without values of another shape
	}
	change := rapid.IntRange(0, 29).Draw(t, "change")
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			change := rapid.IntRange(0, 59).Draw(t, "member")
			switch {
			case change == 0:
				continue
			case change == 1 && rename:
				out[key+"_x"] = v[key]
			default:
				out[key] = mutateMembers(t, v[key], rename)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, value := range v {
			switch rapid.IntRange(0, 29).Draw(t, "element") {
			case 0:
				continue
			case 1:
				out = append(out, value)
			}
			out = append(out, mutateMembers(t, value, rename))
		}
		return out
	}
	if change == 0 {
		return rapid.SampledFrom(replacements).Draw(t, "value")
	}
	return v
}

// examples are recordings, by the name of the format and, for one of several, of its form.
var examples = withBodies(map[string]string{
	"claude-code":      claudeExample,
	"codex":            codexExample,
	"codex-exec":       codexExecExample,
	"adk-session":      `{"id":"s","context":{"a":1},"events":[{"author":"user","content":{"role":"user","parts":[{"text":"hi"}]}},{"options":{"partial":true},"content":{"role":"model","parts":[{"text":"y"}]}},{"content":{"role":"model","parts":[{"function_call":{"name":"f","args":{"x":1}}}]}},{"content":{"role":"user","parts":[{"function_response":{"name":"f","response":{"r":2}}}]}}],"past_events":[],"pending_events":{}}`,
	"tau2-bench":       tau2Run,
	"inspect":          `{"eval":{"task":"t"},"results":{"scores":[]},"samples":[{"id":1,"epoch":1,"input":"hi","target":"yo","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"reasoning","reasoning":"hm","signature":"s"},{"type":"text","text":"yo"}],"tool_calls":[{"id":"c1","function":"f","arguments":{"x":1},"type":"function"}]},{"role":"tool","content":"fine","tool_call_id":"c1","function":"f","error":{"type":"timeout","message":"late"}}],"output":{"choices":[{"message":{"role":"assistant","content":"yo"}}],"usage":{"input_tokens":3}},"scores":{"m":{"value":"C","explanation":"e"}},"attachments":{"k":"yo"},"model_usage":{"m":{"input_tokens":3}}}]}`,
	"langfuse":         langfuseExample,
	"langfuse-rows":    langfuseRows,
	"claude-agent-sdk": sdkExample,
	"atif":             atifExample,
	"langchain":        langChainExample,
	"openinference":    oneLine(flatSpan, phoenixSpan, nestedSpan, columnSpan, chainSpan),
	"otel": oneLine(otlp(span("t1", 1, "gen_ai.operation.name", "chat", "gen_ai.system_instructions", `[{"type":"text","content":"be brief"}]`, "gen_ai.input.messages", asksHi, "gen_ai.output.messages", calls, "gen_ai.usage.input_tokens", "17"), span("t1", 2, "gen_ai.input.messages", asksOn, "gen_ai.output.messages", answers)),
		otlp(span("t2", 1, "gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", "hi", "gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.tool_calls.0.id", "c1", "gen_ai.completion.0.tool_calls.0.name", "f")),
		logs(`{"traceId":"t3","spanId":"s","severityNumber":9,"eventName":"gen_ai.user.message","body":{"kvlistValue":{"values":[{"key":"content","value":{"stringValue":"hi"}}]}}}`, `{"traceId":"t3","spanId":"s","eventName":"gen_ai.choice","attributes":[{"key":"gen_ai.system","value":{"stringValue":"openai"}}],"body":{"kvlistValue":{"values":[{"key":"finish_reason","value":{"stringValue":"stop"}},{"key":"message","value":{"kvlistValue":{"values":[{"key":"content","value":{"stringValue":"yo"}}]}}}]}}}`),
		logs(`{"traceId":"t4","eventName":"gen_ai.client.inference.operation.details","attributes":`+attributeList([]string{"gen_ai.input.messages", asksHi, "gen_ai.output.messages", answers, "gen_ai.usage.output_tokens", "5"})+`}`, `{"traceId":"t5","body":{"stringValue":"started"}}`)),
	"langsmith":          langSmithExample,
	"managed-agents":     managedExample,
	"tau-bench":          `[{"task_id":1,"trial":0,"reward":1,"info":{"task":{"instruction":"Help.","actions":[{"name":"f","kwargs":{"x":1}}],"outputs":["fine"]},"source":"user"},"traj":[{"role":"system","content":"Rules."},{"role":"user","content":"hi","name":"u"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},{"role":"tool","tool_call_id":"c1","name":"f","content":"fine"}]}]`,
	"promptfoo":          `{"evalId":"e","results":{"version":3,"timestamp":"t","prompts":[{"raw":"p","metrics":{"score":1,"tokenUsage":{"total":9}}}],"results":[` + promptfooResult + `,` + promptfooError + `],"stats":{"successes":1,"tokenUsage":{"total":12}}},"config":{"description":"d"},"shareableUrl":null}`,
	"swe-agent":          `{"environment":"e","trajectory":[{"action":"ls","observation":"x","thought":"look"}],"history":[{"role":"system","content":"Rules.","agent":"main"},{"role":"assistant","content":"so","thought":"so","action":"ls","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","content":[{"type":"text","text":"x"}],"tool_call_ids":["c1"]}],"info":{"submission":"the patch","model_stats":{"instance_cost":0.5,"tokens_sent":9}},"replay_config":"{\"problem_statement\":{\"id\":\"i-1\"}}"}`,
	"ai-sdk":             `{"prompt":"hi","text":"yo","steps":[{"content":[{"type":"reasoning","text":"hm","providerMetadata":{"a":{"signature":"s"}}},{"type":"tool-call","toolCallId":"c1","toolName":"f","input":{"x":1}},{"type":"tool-result","toolCallId":"c1","toolName":"f","output":"fine"}],"usage":{"inputTokens":7},"finishReason":"tool-calls"},{"reasoning":"so","text":"yo","toolCalls":[{"toolCallId":"c2","toolName":"g","args":{"y":2}}],"toolResults":[{"toolCallId":"c2","result":{"r":3}}]}],"totalUsage":{"inputTokens":9},"warnings":["w"]}`,
	"rows":               `{"id":"a","prompt":"1+1","answer":"two","target":["2","two"],"score":0.5,"usage":{"prompt_tokens":3}}` + "\n" + `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yo"}],"output":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}],"expected":"yo","note":"n"}` + "\n",
	"adk-set":            `{"eval_set_id":"s","name":"n","eval_cases":[{"eval_id":"a","conversation":[{"user_content":{"role":"user","parts":[{"text":"hi"}]},"intermediate_data":{"tool_uses":[{"id":"c1","name":"f","args":{"x":1}}],"tool_responses":[{"id":"c1","name":"f","response":{"r":2}}],"intermediate_responses":[["agent",[{"text":"so"}]]]},"final_response":{"role":"model","parts":[{"text":"yo"}]},"creation_timestamp":7.5}],"session_input":{"app_name":"app","state":{"k":"v"}}}],"creation_timestamp":17.5}`,
	"adk-set/old":        `[{"query":"hi","expected_tool_use":[{"tool_name":"f","tool_input":{"x":1},"mock_tool_output":"fine"}],"expected_intermediate_agent_responses":[{"author":"agent","text":"so"}],"reference":"yo"},{"query":"go","reference":"gone"}]`,
	"adk-set/data":       `[{"name":"n","data":[{"query":"hi","expected_tool_use":[{"tool_name":"f","tool_input":{"x":1}}],"reference":"yo"}],"initial_session":{"state":{"k":"v"},"app_name":"app"}}]`,
	"adk-result":         `{"eval_set_result_id":"r","eval_set_id":"s","eval_case_results":[{"eval_id":"a","final_eval_status":1,"overall_eval_metric_results":[{"metric_name":"m","score":0.5,"threshold":0.8}],"eval_metric_result_per_invocation":[{"actual_invocation":{"user_content":{"parts":[{"text":"hi"}]},"final_response":{"role":"model","parts":[{"text":"yo"}]}},"expected_invocation":{"user_content":{"parts":[{"text":"hi"}]},"final_response":{"role":"model","parts":[{"text":"ho"}]}},"eval_metric_results":[{"metric_name":"m","score":0.25}]}],"session_id":"x"}],"creation_timestamp":17.5}`,
	"tau2-bench/results": `{"timestamp":"t","info":{"num_trials":1,"agent_info":{"llm":"m"}},"tasks":[{"id":"1","evaluation_criteria":{"actions":[{"name":"f","arguments":{"x":1}}]}}],"simulations":[` + tau2Run + `],"summary":{"reward":0.5,"text":"late"}}`,
	"messages":           `[{"role":"developer","content":"Rules."},{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"https://a.b/c.png","detail":"low"}}]},{"role":"assistant","content":"so","refusal":"no","reasoning_content":"hm","audio":{"id":"au"},"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"c2","type":"custom","custom":{"name":"g","input":"free"}}]},{"role":"tool","tool_call_id":"c1","content":"fine"},{"role":"assistant","function_call":{"name":"h","arguments":"{}"}},{"role":"function","name":"h","content":"x"}]`,
	"messages/anthropic": `{"id":"a","score":0.5,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"ok","citations":[{"cited_text":"ct"}]},{"type":"tool_use","id":"c1","name":"f","input":{"x":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":[{"type":"text","text":"bad"}]},{"type":"text","text":"go"}]}]}`,
	"messages/responses": `[{"role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_image","image_url":"https://a.b/c.png"}]},{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"c2VjcmV0"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"x\":1}"},{"type":"function_call_output","call_id":"c1","output":"fine"},{"type":"custom_tool_call","call_id":"c2","name":"g","input":"free"},{"type":"custom_tool_call_output","call_id":"c2","output":"so"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yo","annotations":[]}]}]`,
	"messages/items":     clientItems,
	"messages/gemini":    `[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"name":"f","args":{"x":1}},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"result":2}}}]},{"role":"model","parts":[{"executableCode":{"code":"1+1"}},{"text":"yo"}]}]`,
	"messages/converse":  `[{"role":"user","content":[{"text":"hi"},{"cachePoint":{"type":"default"}}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"c2ln"}}},{"text":"ok"},{"toolUse":{"toolUseId":"c1","name":"f","input":{"x":1}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"fine"},{"json":{"r":2}}],"status":"success"}}]}]`,
	"messages/cohere":    `[{"role":"user","content":"hi"},{"role":"assistant","tool_plan":"both","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":[{"type":"document","document":{"data":"fine","id":"d"}}]}]`,
	"messages/ollama":    `[{"role":"user","content":"hi","images":["AAAA"]},{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]},{"role":"tool","tool_name":"f","content":"fine"}]`,
	"messages/ui":        `{"messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"}]},{"id":"m2","role":"assistant","metadata":{"x":1},"parts":[{"type":"step-start"},{"type":"reasoning","text":"hm"},{"type":"tool-f","toolCallId":"c1","state":"output-available","input":{"x":1},"output":{"r":2}},{"type":"dynamic-tool","toolName":"g","toolCallId":"c2","state":"output-error","rawInput":"{","errorText":"bad"},{"type":"text","text":"yo","state":"done"},{"type":"source-url","url":"u"},{"type":"data-x","data":7}]}]}`,
	"messages/ui-4":      `{"messages":[{"id":"m1","role":"assistant","content":"so","reasoning":"hm","parts":[{"type":"reasoning","reasoning":"hm","details":[]},{"type":"text","text":"so"},{"type":"tool-invocation","toolInvocation":{"state":"result","step":0,"toolCallId":"c1","toolName":"f","args":{"x":1},"result":"r"}}],"toolInvocations":[{"state":"result","step":0,"toolCallId":"c1","toolName":"f","args":{"x":1},"result":"r"}]}]}`,
	"messages/sdk":       `[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"file","data":"AAAA","mediaType":"image/png"}]},{"role":"assistant","content":[{"type":"reasoning","text":"hm"},{"type":"tool-call","toolCallId":"c1","toolName":"f","input":{"x":1}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","toolName":"f","output":{"type":"json","value":{"r":2}}}]}]`,
	"message-lines":      hi + "\n" + `{"role":"assistant","content":"so","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}` + "\n" + `{"role":"tool","tool_call_id":"c1","content":"fine"}` + "\n",
})

// withBodies adds the bodies of each protocol to examples.
func withBodies(examples map[string]string) map[string]string {
	for name, c := range bodies {
		examples["bodies/"+name+" request"] = c.request
		examples["bodies/"+name+" response"] = c.response
	}
	return examples
}

// Whatever is in a recording is in the runs, or there is an error.
func TestConservedInGeneratedFiles(t *testing.T) {
	for name, text := range examples {
		t.Run(name, func(t *testing.T) {
			format, _, _ := strings.Cut(name, "/")
			rapid.Check(t, func(t *rapid.T) {
				isLines := !json.Valid([]byte(text))
				var values []any
				for line := range strings.Lines(text) {
					if !isLines {
						line = text
					}
					if strings.TrimSpace(line) == "" {
						continue
					}
					v, err := jsonval.Decode([]byte(line))
					if err != nil {
						t.Fatal(err)
					}
					values = append(values, v)
					if !isLines {
						break
					}
				}
				if isLines {
					values, _ = mutate(t, values).([]any)
				} else {
					values[0] = mutate(t, values[0])
				}
				var b []byte
				for _, v := range values {
					line, err := jsonval.Line(v)
					if err != nil {
						t.Fatal(err)
					}
					b = append(append(b, bytes.TrimSpace(line)...), '\n')
				}
				got, runs, failed, _ := readAll(t, "file", b)
				if got != format || len(failed) > 0 || len(runs) == 0 {
					return // another format, refused with an error, or without runs
				}
				count := map[string]int{}
				for _, v := range values {
					leaves(count, "", v)
				}
				if names := lostFrom(name, count, contentOf(t, runs)); names != nil {
					t.Fatalf("lost %s in\n%s", strings.Join(names, "\n"), b)
				}
			})
		})
	}
}
