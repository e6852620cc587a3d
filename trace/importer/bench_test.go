package importer_test

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// template is a generated recording. RUNS is the place of the runs in the file, STEPS that of the
// steps in a run, # the number of a step, and LONG a result of 4 kB. If SPANS is in the run, its
// spans follow each other there, and each has all steps so far.
type template struct {
	steps                 int // of a run; 0 means 8
	lines                 int // of a result; 0 means 140
	file, run, span, step string
}

const (
	benchArgs  = `{\"path\":\"a/b/c.go\"}`
	benchUsage = `"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":5}`
	chatStep   = `{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"c#","type":"function","function":{"name":"read","arguments":"` + benchArgs + `"}}]},{"role":"tool","tool_call_id":"c#","content":"LONG"}`
	quotedStep = `{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"id\":\"c#\",\"name\":\"read\",\"arguments\":{\"path\":\"a/b/c.go\"}}]},{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_call_response\",\"id\":\"c#\",\"response\":\"QUOTED\"}]}`
	geminiStep = `{"role":"model","parts":[{"functionCall":{"name":"read","args":{"path":"a/b/c.go"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"result":"LONG"}}}]}`
	adkInvoked = `{"invocation_id":"i#","user_content":{"parts":[{"text":"LONG"}],"role":"user"},"final_response":{"parts":[{"text":"LONG"}],"role":"model"},"intermediate_data":{"tool_uses":[{"args":{"path":"a/b/c.go"},"name":"read"}],"intermediate_responses":[]},"creation_timestamp":1.5}`
	// A response of Chat Completions, an event of a streaming one, and its end.
	benchResponse = `{\"id\":\"x\",\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Done.\"},\"finish_reason\":\"stop\"}]}`
	benchEvent    = `data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1773346158,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" words\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n`
	benchEnd      = `data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n`
	userLine      = `{"role":"user","content":"Please read the file."}`
)

// templates are the recordings of BenchmarkImport, by format.
var templates = map[string]template{
	"claude-code": {steps: 1000, file: "RUNS", run: "STEPS\n", step: `{"type":"assistant","uuid":"a#","parentUuid":"u#","sessionId":"s","isSidechain":false,"cwd":"/w","version":"2.0.1","gitBranch":"main","timestamp":"2026-01-01T00:00:00Z","message":{"id":"m#","role":"assistant","model":"c","content":[{"type":"tool_use","id":"t#","name":"Read","input":{"path":"a/b/c.go"}}],"stop_reason":"tool_use",` + benchUsage + `}}
{"type":"user","uuid":"r#","parentUuid":"a#","sessionId":"s","isSidechain":false,"cwd":"/w","version":"2.0.1","gitBranch":"main","timestamp":"2026-01-01T00:00:00Z","toolUseResult":{"stdout":"LONG"},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t#","content":"LONG"}]}}`},
	"codex": {steps: 1000, file: "RUNS", run: "STEPS\n", step: `{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"function_call","id":"f#","name":"shell","arguments":"{\"cmd\":\"ls\"}","call_id":"c#"}}
{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c#","output":"LONG"}}
{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":50,"output_tokens":9}}}}`},
	"managed-agents": {steps: 1000, file: "RUNS", run: "STEPS\n", step: `["client.beta.sessions.events.stream",{"id":"c#","type":"agent.tool_use","name":"read","input":{"path":"a/b/c.go"},"processed_at":"2026-01-01T00:00:00Z"}]
["client.beta.sessions.events.stream",{"id":"r#","type":"agent.tool_result","tool_use_id":"c#","content":[{"type":"text","text":"LONG"}],"processed_at":"2026-01-01T00:00:00Z"}]`},
	"langchain": {steps: 1000, file: "RUNS", run: "STEPS\n", step: `{"type":"ai","content":"","id":"a#","tool_calls":[{"name":"read","args":{"path":"a/b/c.go"},"id":"c#","type":"tool_call"}],"additional_kwargs":{},"response_metadata":{},"usage_metadata":{"input_tokens":48,"output_tokens":17}}
{"type":"tool","content":"LONG","name":"read","tool_call_id":"c#","status":"success"}`},
	"claude-agent-sdk": {steps: 1000, file: `{"type":"system","subtype":"init","session_id":"s1","tools":["Read"],"model":"c"}` + "\nRUNS", run: "STEPS\n", step: `{"type":"assistant","message":{"id":"m#","role":"assistant","content":[{"type":"tool_use","id":"t#","name":"Read","input":{"path":"a/b/c.go"}}],` + benchUsage + `},"parent_tool_use_id":null,"session_id":"s1","uuid":"a#"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t#","content":"LONG"}]},"parent_tool_use_id":null,"session_id":"s1","uuid":"u#"}`},
	"atif": {file: "RUNS", run: `{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"user","message":"Please read."},STEPS]}` + "\n",
		step: `{"step_id":2,"source":"agent","model_name":"m","message":"Let me look.","tool_calls":[{"tool_call_id":"c#","function_name":"read","arguments":{"path":"a/b/c.go"}}],"observation":{"results":[{"source_call_id":"c#","content":"LONG"}]},"metrics":{"prompt_tokens":10,"completion_tokens":4,"cached_tokens":6}}`},
	"langsmith": {file: "RUNS", run: "SPANS\n", span: `{"id":"s#","trace_id":"t#","dotted_order":"1Z","name":"ChatOpenAI","run_type":"llm","inputs":{"messages":[` + userLine + `,STEPS]},"outputs":{"generations":[[{"text":"Done.","message":{"role":"assistant","content":"Done."}}]]},"extra":{"metadata":{"a":"b"}}}`, step: chatStep},
	"inspect": {file: `{"version":2,"status":"success","eval":{"task":"t"},"results":{"scores":[]},"samples":[RUNS]}`, run: `{"id":#,"epoch":1,"input":"hi","target":"yo","messages":[` + userLine + `,STEPS],"output":{"choices":[{"message":{"role":"assistant","content":"yo"}}]},"scores":{"m":{"value":"C","explanation":"e"}},"attachments":{"k":"LONG"},"model_usage":{"m":{"input_tokens":3}}}`,
		step: `{"role":"assistant","content":[{"type":"text","text":"yo"}],"tool_calls":[{"id":"c#","function":"read","arguments":{"path":"a/b/c.go"},"type":"function"}]},{"role":"tool","content":"LONG","tool_call_id":"c#","function":"read"}`},
	"swe-agent": {file: "RUNS", run: `{"environment":"main","trajectory":[],"history":[` + userLine + `,STEPS],"info":{"model_stats":{"instance_cost":0.5}}}` + "\n", step: chatStep},
	"ai-sdk": {file: "RUNS", run: `{"text":"Done.","finishReason":"stop","steps":[STEPS],"totalUsage":{"inputTokens":5}}` + "\n",
		step: `{"content":[{"type":"text","text":"Let me look."},{"type":"tool-call","toolCallId":"c#","toolName":"read","input":{"path":"a/b/c.go"}},{"type":"tool-result","toolCallId":"c#","toolName":"read","input":{"path":"a/b/c.go"},"output":"LONG"}],"finishReason":"tool-calls","usage":{"inputTokens":5}}`},
	"promptfoo":   {file: `{"evalId":"e","results":{"version":3,"results":[RUNS]}}`, run: `{"id":"#","testIdx":0,"promptIdx":0,"prompt":{"raw":"LONG","label":"p"},"vars":{"a":"b"},"response":{"output":"LONG","tokenUsage":{"total":9}},"score":1,"success":true,"namedScores":{"q":1},"latencyMs":5,"x":[STEPS]}`, step: `"LONG"`},
	"adk-set":     {file: `{"eval_set_id":"s","name":"n","eval_cases":[RUNS]}`, run: `{"eval_id":"e#","conversation":[STEPS],"session_input":{"app_name":"a","user_id":"u","state":{}}}`, step: adkInvoked},
	"adk-result":  {file: `{"eval_set_result_id":"s","eval_set_id":"n","eval_case_results":[RUNS]}`, run: `{"eval_set_id":"s","eval_id":"e#","final_eval_status":1,"overall_eval_metric_results":[{"metric_name":"m","score":1.0}],"eval_metric_result_per_invocation":[STEPS]}`, step: `{"actual_invocation":` + adkInvoked + `,"expected_invocation":` + adkInvoked + `,"eval_metric_results":[{"metric_name":"m","score":1.0}]}`},
	"adk-session": {file: "RUNS", run: `{"id":"s#","app_name":"a","user_id":"u","state":{},"events":[{"author":"user","content":{"role":"user","parts":[{"text":"hi"}]}},STEPS]}` + "\n", step: `{"id":"a#","author":"a","content":{"role":"model","parts":[{"function_call":{"id":"c#","name":"read","args":{"path":"a/b/c.go"}}}]},"usage_metadata":{"prompt_token_count":9},"timestamp":1.5},{"id":"b#","author":"a","content":{"role":"user","parts":[{"function_response":{"id":"c#","name":"read","response":{"result":"LONG"}}}]},"timestamp":1.5}`},
	"langfuse":    {file: "RUNS", run: `{"trace":{"id":"t#","projectId":"p","name":"n","htmlPath":"/p","scores":[]},"observations":[SPANS]}` + "\n", span: `{"id":"o#","traceId":"t","projectId":"p","type":"GENERATION","name":"g","startTime":"2026-01-01T00:00:00Z","input":{"messages":[` + userLine + `,STEPS]},"output":{"role":"assistant","content":"Done."},"usageDetails":{"input":5,"output":2},"metadata":{"a":"b"}}`, step: chatStep},
	"otel": {file: "RUNS", run: `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},"scopeSpans":[{"scope":{"name":"i"},"spans":[SPANS]}]}]}` + "\n",
		span: `{"traceId":"tR","spanId":"s#","startTimeUnixNano":"10#","name":"chat m","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.usage.input_tokens","value":{"intValue":"7"}},{"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"Please read.\"}]},STEPS]"}},{"key":"gen_ai.output.messages","value":{"stringValue":"[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"Done.\"}],\"finish_reason\":\"stop\"}]"}}]}`, step: quotedStep},
	"openinference": {file: "RUNS", run: "SPANS\n", span: `{"name":"llm","context":{"trace_id":"tR","span_id":"s#"},"parent_id":null,"start_time":"2026-01-01T00:00:01Z","attributes":{"openinference.span.kind":"LLM","llm.model_name":"m","llm.input_messages":[{"message.role":"user","message.content":"hi"},STEPS],"llm.output_messages":[{"message.role":"assistant","message.content":"Done."}],"llm.token_count.prompt":7},"events":[]}`,
		step: `{"message.role":"assistant","message.content":"Let me look.","message.tool_calls":[{"tool_call.id":"c#","tool_call.function.name":"read","tool_call.function.arguments":"` + benchArgs + `"}]},{"message.role":"tool","message.content":"LONG","message.tool_call_id":"c#"}`},
	"stream":        {steps: 1000, file: `data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\nRUNS" + "data: [DONE]\n\n", run: "STEPS\n", step: `data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"LONG"}}]}` + "\n"},
	"tau2-bench":    {file: `{"timestamp":"t","info":{"num_trials":1},"tasks":[{"id":"7"}],"simulations":[RUNS]}`, run: `{"id":"s#","task_id":"7","trial":0,"termination_reason":"user_stop","reward_info":{"reward":1.0},"messages":[` + userLine + `,STEPS]}`, step: `{"role":"assistant","content":null,"tool_calls":[{"id":"c#","name":"read","arguments":{"path":"a/b/c.go"},"requestor":"assistant"}],"usage":{"prompt_tokens":7,"completion_tokens":2},"turn_idx":1},{"role":"tool","id":"c#","content":"LONG","requestor":"assistant","error":false}`},
	"bodies":        {file: "RUNS", run: `{"contents":[{"role":"user","parts":[{"text":"hi"}]},STEPS],"generationConfig":{"temperature":0}}` + "\n", step: geminiStep},
	"messages":      {file: "RUNS", run: `{"messages":[` + userLine + `,STEPS]}` + "\n", step: chatStep},
	"message-lines": {steps: 1000, file: userLine + "\nRUNS", run: "STEPS\n", step: strings.Replace(chatStep, "},{\"role", "}\n{\"role", 1)},
	"rows":          {file: "RUNS", run: `{"id":"#","question":"LONG","answer":"LONG","reward":1,"x":[STEPS]}` + "\n", step: `"LONG"`},
	"tau-bench":     {file: "[RUNS]", run: `{"task_id":#,"trial":0,"reward":1.0,"info":{"task":{"actions":[{"name":"read","kwargs":{"path":"a"}}]}},"traj":[` + userLine + `,STEPS]}`, step: chatStep},
	"har": {file: `{"log":{"version":"1.2","creator":{"name":"c","version":"1"},"entries":[RUNS]}}`, steps: 4, run: `{"startedDateTime":"2026-01-01T00:00:00Z","time":1,"request":{"method":"POST","url":"https://api.openai.com/v1/chat/completions","httpVersion":"HTTP/1.1","headers":[{"name":"Content-Type","value":"application/json"}],"queryString":[],"cookies":[],"headersSize":-1,"bodySize":-1,"postData":{"mimeType":"application/json","text":"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},STEPS]}"}},` +
		`"response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","headers":[{"name":"Content-Type","value":"application/json"}],"cookies":[],"redirectURL":"","headersSize":-1,"bodySize":-1,"content":{"size":1,"mimeType":"application/json","text":"` + benchResponse + `"}},"cache":{},"timings":{"send":0,"wait":1,"receive":0}}`,
		step: `{\"role\":\"assistant\",\"content\":\"Let me look.\",\"tool_calls\":[{\"id\":\"c#\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c#\",\"content\":\"QUOTED\"}`},
	"vcrpy": {file: `{"version":1,"interactions":[RUNS]}`, steps: 4, run: `{"request":{"method":"POST","uri":"https://api.openai.com/v1/chat/completions","headers":{"Content-Type":["application/json"]},"body":"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},STEPS]}"},"response":{"status":{"code":200,"message":"OK"},"headers":{"Content-Type":["application/json"]},"body":{"string":"` + benchResponse + `"}}}`,
		step: `{\"role\":\"assistant\",\"content\":\"Let me look.\",\"tool_calls\":[{\"id\":\"c#\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c#\",\"content\":\"QUOTED\"}`},
}

// streaming returns a recording of HTTP whose responses are streams of 200 events.
func (t template) streaming() template {
	request, response, _ := strings.Cut(t.run, `"response":`)
	response = strings.NewReplacer("application/json", "text/event-stream", benchResponse, strings.Repeat(benchEvent, 200)+benchEnd).Replace(response)
	t.run, t.steps = request+`"response":`+response, 1
	return t
}

// short returns a recording whose runs have few steps.
func (t template) short() template {
	const most = 100
	t.steps = min(t.steps, most)
	return t
}

// small returns a recording whose runs have about 5 kB.
func (t template) small() template {
	t.lines = 20
	return t
}

// cassette converts a recording of HTTP.
func cassette(tb testing.TB, file []byte) []byte {
	r, err := convert.Parse("file", file)
	if err != nil {
		tb.Fatal(err)
	}
	text, _, err := convert.Write(convert.Cassette, r.Metadata, r.Interactions)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// generate returns a recording of at least a size.
func (t template) generate(size int) []byte {
	long := strings.Repeat(`x = \"1\"; // line of a file\n`, cmp.Or(t.lines, 140))
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(long)
	steps := t.steps
	if steps == 0 {
		steps = 8
	}
	n := 0
	fill := func(text string) string {
		n++
		return strings.NewReplacer("LONG", long, "QUOTED", quoted, "#", strconv.Itoa(n)).Replace(text)
	}
	list := func(separator string, count int, item func(int) string) string {
		var items []string
		for i := range count {
			items = append(items, item(i))
		}
		return strings.Join(items, separator)
	}
	between := func(text, place string) string {
		if strings.Contains(text, "["+place+"]") || strings.Contains(text, ","+place+"]") {
			return ","
		}
		return strings.Repeat("\n", min(1, strings.Count(text, "\n")))
	}
	stepsOf := func(count int) string {
		return list(between(t.run+t.span, "STEPS"), count, func(int) string { return fill(t.step) })
	}
	run := func(i int) string {
		text := strings.ReplaceAll(t.run, "STEPS", stepsOf(steps))
		if t.span != "" {
			var spans []string
			history := ""
			for range 4 {
				history = strings.TrimPrefix(history+","+stepsOf(steps/4), ",")
				spans = append(spans, strings.ReplaceAll(fill(t.span), "STEPS", history))
			}
			text = strings.ReplaceAll(text, "SPANS", strings.Join(spans, between(t.run, "SPANS")))
			text = strings.ReplaceAll(text, `"tR"`, `"t`+strconv.Itoa(i)+`"`)
		}
		return fill(text)
	}
	length := len(run(0))
	n = 0
	runs := list(between(t.file, "RUNS")+"", max(1, size/length), run)
	return []byte(strings.ReplaceAll(t.file, "RUNS", runs))
}

// traceFile returns a trace of runs with 20 steps. Each result has a number of lines.
func traceFile(tb testing.TB, size, lines int) []byte {
	var file bytes.Buffer
	w := trace.NewWriter(&file, trace.Header{Writer: "bench"})
	long := strings.Repeat("x = \"1\"; // line of a file\n", lines)
	for n := 0; file.Len() < size; n++ {
		ev := trace.Event{Run: "run-" + strconv.Itoa(n), Step: trace.NoStep}
		add := func(attempt int, body trace.Body) {
			ev.Attempt, ev.Body = attempt, body
			if err := w.Write(ev); err != nil {
				tb.Fatal(err)
			}
			ev.Seq++
		}
		add(0, trace.RunStart{Clock: trace.ClockVirtual})
		messages, kept := []llm.Message{llm.User("Please read the files.")}, 0
		for step := range 20 {
			ev.Step = step
			add(0, trace.StepStart{})
			add(1, trace.ModelRequest{PrefixMessages: kept, NewMessages: messages})
			kept += len(messages)
			id := "call_" + strconv.Itoa(step)
			m := llm.Assistant(llm.Text{Text: "Let me look."}, llm.ToolCall{ID: id, Name: "read", Arguments: `{"path":"a/b/c.go"}`})
			result := llm.ToolResult{ID: id, Name: "read", Content: []llm.Part{llm.Text{Text: long}}}
			add(1, trace.ModelResponse{Message: m, FinishReason: llm.FinishToolCalls})
			add(0, trace.ToolStart{ToolCallID: id, Name: "read", Arguments: `{"path":"a/b/c.go"}`})
			add(0, trace.ToolEnd{ToolCallID: id, Outcome: trace.OutcomeOK, Result: result})
			add(0, trace.StepEnd{})
			messages = []llm.Message{m, llm.ToolResults(result)}
		}
		ev.Step = trace.NoStep
		add(0, trace.RunEnd{StopReason: trace.ReasonMaxSteps, Steps: 20, ModelCalls: 20})
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

// importAll reads a recording without checking it, and returns the number of runs.
func importAll(tb testing.TB, format string, file []byte) (runs int) {
	src, err := importer.Open("file", bytes.NewReader(file))
	if err != nil {
		tb.Fatal(err)
	}
	if src.Format.Name != format {
		tb.Fatalf("the format is %s", src.Format.Name)
	}
	for run, err := range src.Runs() {
		if err != nil {
			tb.Fatal(err)
		}
		for _, u := range run.Unknown {
			tb.Fatal(u)
		}
		if len(run.Messages)+len(run.Events) == 0 {
			tb.Fatalf("run %s is empty", run.Name)
		}
		runs++
	}
	return runs
}

// BenchmarkImport reads a recording in each format of JSON, without checking it. The goals on one
// core are 150 MB/s for traces and 100 MB/s for the other formats. The metric MB/cpu-s is for
// machines with other work.
func BenchmarkImport(b *testing.B) {
	const size = 4 << 20
	b.Run("trace", func(b *testing.B) { benchmarkImport(b, "trace", traceFile(b, size, 140)) })
	b.Run("trace-small", func(b *testing.B) { benchmarkImport(b, "trace", traceFile(b, size, 1)) })
	for _, format := range []string{"har", "vcrpy"} {
		b.Run(format+"-streaming", func(b *testing.B) { benchmarkImport(b, format, templates[format].streaming().generate(size)) })
	}
	b.Run("cassette", func(b *testing.B) { benchmarkImport(b, "cassette", cassette(b, templates["har"].generate(size))) })
	b.Run("cassette-streaming", func(b *testing.B) {
		benchmarkImport(b, "cassette", cassette(b, templates["har"].streaming().generate(size)))
	})
	for _, format := range []string{"har", "messages"} {
		b.Run(format+"-small", func(b *testing.B) { benchmarkImport(b, format, templates[format].small().generate(1)) })
	}
	for _, format := range slices.Sorted(maps.Keys(templates)) {
		b.Run(format, func(b *testing.B) { benchmarkImport(b, format, templates[format].generate(size)) })
	}
}

func benchmarkImport(b *testing.B, format string, file []byte) {
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	from := processorTime()
	for b.Loop() {
		importAll(b, format, file)
	}
	b.ReportMetric(float64(len(file))*float64(b.N)/1e6/(processorTime()-from).Seconds(), "MB/cpu-s")
}

// The recordings of BenchmarkImport are of their formats, and nothing in them is unknown.
func TestTemplates(t *testing.T) {
	t.Parallel()
	for format, file := range templates {
		t.Run(format, func(t *testing.T) {
			if n := importAll(t, format, file.short().generate(100_000)); n == 0 {
				t.Error("no runs")
			}
		})
	}
}
