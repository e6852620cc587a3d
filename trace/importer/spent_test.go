package importer_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

func TestResources(t *testing.T) {
	for name, c := range map[string]struct {
		meta string
		want importer.Resources
	}{
		"nothing":            {`{}`, importer.Resources{}},
		"Inspect":            {`{"model_usage":{"a":{"input_tokens":7,"output_tokens":2,"total_tokens":9},"b":{"input_tokens":1,"output_tokens":1}},"total_time":1.5}`, importer.Resources{Usage: llm.Usage{InputTokens: 8, OutputTokens: 3}, Latency: 1500 * time.Millisecond}},
		"promptfoo":          {`{"tokenUsage":{"total":9,"prompt":7,"completion":2},"latencyMs":250,"cost":0.01}`, importer.Resources{Usage: llm.Usage{InputTokens: 7, OutputTokens: 2}, Latency: 250 * time.Millisecond, Cost: 0.01}},
		"SWE-agent":          {`{"info":{"model_stats":{"instance_cost":0.5,"tokens_sent":700,"tokens_received":20,"api_calls":3}}}`, importer.Resources{Usage: llm.Usage{InputTokens: 700, OutputTokens: 20}, Cost: 0.5}},
		"AI SDK":             {`{"usage":{"inputTokens":4,"outputTokens":1},"totalUsage":{"inputTokens":7,"outputTokens":2}}`, importer.Resources{Usage: llm.Usage{InputTokens: 7, OutputTokens: 2}}},
		"version 4":          {`{"usage":{"promptTokens":4,"completionTokens":1},"steps":[{"usage":{"promptTokens":3}}]}`, importer.Resources{Usage: llm.Usage{InputTokens: 4, OutputTokens: 1}}},
		"steps":              {`{"steps":[{"usage":{"inputTokens":4,"outputTokens":1}},{},{"usage":{"inputTokens":3,"outputTokens":1}}]}`, importer.Resources{Usage: llm.Usage{InputTokens: 7, OutputTokens: 2}}},
		"OpenAI":             {`{"usage":{"prompt_tokens":7,"completion_tokens":2}}`, importer.Resources{Usage: llm.Usage{InputTokens: 7, OutputTokens: 2}}},
		"costs of models":    {`{"model_usage":{"a":{"input_tokens":7,"total_cost":0.5},"b":{"output_tokens":1,"total_cost":0.25}}}`, importer.Resources{Usage: llm.Usage{InputTokens: 7, OutputTokens: 1}, Cost: 0.75}},
		"OpenRouter":         {`{"usage":{"input_tokens":7},"provider_usage":{"prompt_tokens":7,"cost":0.5}}`, importer.Resources{Usage: llm.Usage{InputTokens: 7}, Cost: 0.5}},
		"many tokens":        {`{"usage":{"prompt_tokens":8000000000}}`, importer.Resources{Usage: llm.Usage{InputTokens: 8e9}}},
		"texts of CSV":       {`{"usage":{"prompt_tokens":"7"},"cost":"0.5","latencyMs":"250"}`, importer.Resources{Usage: llm.Usage{InputTokens: 7}, Cost: 0.5, Latency: 250 * time.Millisecond}},
		"a trace of the API": {`{"latency":1.5,"observations":[]}`, importer.Resources{Latency: 1500 * time.Millisecond}},
		"a latency":          {`{"latency":1.5}`, importer.Resources{}},
		"no amounts": {`{"usage":{"prompt_tokens":"many","completion_tokens":-2},"cost":"free","latencyMs":1e300,"total_time":null,"info":7}`,
			importer.Resources{}},
		"most": {`{"total_time":1e9,"latencyMs":1e9}`, importer.Resources{Latency: 1e9 * time.Second}},
		"zero": {`{"cost":0}`, importer.Resources{}},
	} {
		t.Run(name, func(t *testing.T) {
			run := importer.Run{Meta: members(t, c.meta)}
			if diff := cmp.Diff(c.want, run.Resources()); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
		})
	}
	run := importer.Run{Meta: map[string]json.RawMessage{"cost": json.RawMessage("NaN"), "total_time": json.RawMessage("Infinity")}}
	if diff := cmp.Diff(importer.Resources{}, run.Resources()); diff != "" {
		t.Errorf("resources, as Python writes NaN (-want +got):\n%s", diff)
	}
	run = importer.Run{Events: []trace.Event{
		{Body: trace.RunStart{}, At: time.Second},
		{Body: trace.ModelError{Usage: llm.Usage{InputTokens: 3}}, At: 2 * time.Second},
		{Body: trace.ModelResponse{Usage: llm.Usage{InputTokens: 4, OutputTokens: 5, CacheReadInputTokens: 1}}, At: 3 * time.Second},
		{Body: trace.RunEnd{Usage: llm.Usage{InputTokens: 100}}, At: 4 * time.Second},
	}}
	want := importer.Resources{Usage: llm.Usage{InputTokens: 7, OutputTokens: 5, CacheReadInputTokens: 1}, Latency: 4 * time.Second}
	if diff := cmp.Diff(want, run.Resources()); diff != "" {
		t.Errorf("resources of a trace (-want +got):\n%s", diff)
	}
}

// Costs of calls are those of their run. What is no number is reported.
func TestCosts(t *testing.T) {
	flat := func(attributes string) string { return strings.Replace(flatSpan, `{`, `{`+attributes+`,`, 1) }
	langfuse := func(cost string) string {
		return `{"id":"t","projectId":"p","observations":[{"id":"o","traceId":"t","type":"GENERATION","parentObservationId":null,"input":"q","output":"a","totalCost":0.25},{"id":"p","traceId":"t","type":"GENERATION","parentObservationId":null,"input":"q","output":"a",` + cost + `}]}`
	}
	langSmith := func(outputs, cost string) string {
		return `[{"id":"r","trace_id":"t","run_type":"llm","inputs":{"messages":[{"role":"user","content":"q"}]},"outputs":{"messages":[{"role":"assistant","content":"a"}]` + outputs + `},` + cost + `},` +
			`{"id":"c","trace_id":"t","run_type":"chain","inputs":{"q":"q"},"outputs":{"a":"a"},"total_cost":9}]`
	}
	agentSDK := func(members string) string {
		return `{"type":"user","session_id":"s","parent_tool_use_id":null,"message":{"role":"user","content":"q"}}
{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"id":"m","role":"assistant","content":[{"type":"text","text":"a"}]}}
{"type":"result","subtype":"success","session_id":"s","result":"a",` + members + `}
`
	}
	claude := func(cost string) string {
		return `{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"q"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","costUSD":0.25,"message":{"id":"m","role":"assistant","content":[{"type":"text","text":"a"}]}}
{"type":"user","uuid":"3","parentUuid":"2","sessionId":"s","message":{"role":"user","content":"q"}}
{"type":"assistant","uuid":"4","parentUuid":"3","sessionId":"s","costUSD":` + cost + `,"message":{"id":"n","role":"assistant","content":[{"type":"text","text":"a"}]}}
`
	}
	tau2 := func(members string) string {
		return `{"id":"s","task_id":"t","termination_reason":"user_stop","reward_info":{"reward":1},"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],` + members + `}`
	}
	span := func(name, value string) string {
		return otlp(span("t1", 1, "gen_ai.operation.name", "chat", "gen_ai.input.messages", asksHi, "gen_ai.output.messages", answers, name, value))
	}
	const number = ": expected a number"
	for name, c := range map[string]struct {
		file   string
		want   float64
		report string
	}{
		"OpenInference":              {flat(`"llm.cost.prompt":0.1,"llm.cost.completion":0.2,"llm.cost.total":0.5`), 0.5, ""},
		"OpenInference: no total":    {flat(`"llm.cost.prompt":0.25,"llm.cost.completion":0.5`), 0.75, ""},
		"OpenInference: a text":      {flat(`"llm.cost.total":"free"`), 0, "llm.cost.total" + number},
		"OpenTelemetry: Logfire":     {span("operation.cost", "0.5"), 0.5, ""},
		"OpenTelemetry: OpenLIT":     {span("gen_ai.usage.cost", "0.5"), 0.5, ""},
		"OpenTelemetry: a text":      {span("gen_ai.usage.cost", "free"), 0, "gen_ai.usage.cost" + number},
		"Langfuse: details":          {langfuse(`"costDetails":{"input":0.1,"output":0.4,"total":0.5}`), 0.75, ""},
		"Langfuse: before version 3": {langfuse(`"totalCost":null,"calculatedTotalCost":0.5`), 0.75, ""},
		"Langfuse: a text":           {langfuse(`"costDetails":{"total":"0.5"}`), 0.25, "observations[1].costDetails.total" + number},
		"LangSmith":                  {langSmith(``, `"total_cost":0.5`), 0.5, ""},
		"LangSmith: a decimal":       {langSmith(``, `"total_cost":"0.5","prompt_cost":"0.25"`), 0.5, ""},
		"LangSmith: of the usage":    {langSmith(`,"usage_metadata":{"input_tokens":1,"total_cost":0.5}`, `"total_cost":null`), 0.5, ""},
		"LangSmith: a text":          {langSmith(``, `"total_cost":"free"`), 0, "total_cost" + number},
		"agent SDK":                  {agentSDK(`"total_cost_usd":0.5`), 0.5, ""},
		"agent SDK: an object":       {agentSDK(`"total_cost_usd":{"usd":1}`), 0, "total_cost_usd" + number},
		"agent SDK: a latency":       {agentSDK(`"duration_ms":"fast"`), 0, "duration_ms" + number},
		"Claude Code":                {claude(`0.5`), 0.75, ""},
		"Claude Code: a text":        {claude(`"free"`), 0.25, "costUSD" + number},
		"tau2":                       {tau2(`"agent_cost":0.5,"user_cost":null,"duration":1.5`), 0.5, ""},
		"tau2: an object":            {tau2(`"agent_cost":{"usd":1},"duration":1`), 0, "agent_cost" + number},
		"tau2: of the user":          {tau2(`"user_cost":"free","duration":1`), 0, "user_cost" + number},
		"tau2: a duration":           {tau2(`"duration":"long"`), 0, "duration" + number},
		"OpenRouter":                 {typed(chatURL, chatSent, `{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"cost":0.5}}`), 0.5, ""},
		"OpenRouter, a bare body":    {`{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"cost":0.5}}`, 0.5, ""},
	} {
		if run := onlyRun(t, c.file); math.Abs(run.Resources().Cost-c.want) > 1e-9 {
			t.Errorf("%s: cost %v, want %v", name, run.Resources().Cost, c.want)
		}
		isReported(t, name, c.file, c.report)
	}
}

// The results that promptfoo writes have the usage as part of the response.
func TestUsageOfMiniSWEAgent(t *testing.T) {
	file := func(first, second string) string {
		return `{"info":{"model_stats":{"instance_cost":0.5,"api_calls":2},"exit_status":"Submitted","submission":"p"},"messages":[{"role":"user","content":"q"},
{"role":"assistant","content":"x","extra":{"actions":[],"response":{"id":"r","usage":` + first + `},"cost":0.25}},{"role":"user","content":"y","extra":{"returncode":0}},
{"role":"assistant","content":"z","extra":{"response":{"id":"s","usage":` + second + `}}},{"role":"exit","content":"p","extra":{"submission":"p"}}],"trajectory_format":"mini-swe-agent-1.1"}`
	}
	for name, c := range map[string]struct {
		file    string
		want    llm.Usage
		unknown string
	}{
		"Chat Completions": {
			file(`{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}`, `{"prompt_tokens":8,"completion_tokens":3}`),
			llm.Usage{InputTokens: 15, OutputTokens: 5, CacheReadInputTokens: 4, ReasoningOutputTokens: 1}, "",
		},
		"Responses": {file(`{"input_tokens":7,"output_tokens":2,"input_tokens_details":{"cached_tokens":4}}`, `null`), llm.Usage{InputTokens: 7, OutputTokens: 2, CacheReadInputTokens: 4}, ""},
		"none":      {file(`null`, `null`), llm.Usage{}, ""},
		"a text":    {file(`{"prompt_tokens":"many"}`, `{"prompt_tokens":8}`), llm.Usage{InputTokens: 8}, "messages[1].extra.response.usage.prompt_tokens is a string"},
	} {
		isReported(t, name, c.file, c.unknown)
		_, runs, _, _ := readAll(t, "file", []byte(c.file))
		want := importer.Resources{Usage: c.want, Cost: 0.5}
		if len(runs) != 1 || runs[0].Resources() != want {
			t.Errorf("%s: got %d runs, %+v; want %+v", name, len(runs), runs[0].Resources(), want)
		}
	}
}

func TestUsageOfPromptfoo(t *testing.T) {
	file := func(usage, response string) string {
		return `{"evalId":"e","results":{"version":3,"results":[{"testIdx":0,"promptIdx":0,"prompt":{"raw":"q"},"vars":{"a":"b"},"success":true,"score":1` + usage + `,"response":{"output":"a"` + response + `}}]}}`
	}
	const usage = `,"tokenUsage":{"total":9,"prompt":7,"completion":2}`
	for name, c := range map[string]struct {
		file    string
		want    llm.Usage
		unknown string
	}{
		"of the response": {file("", usage), llm.Usage{InputTokens: 7, OutputTokens: 2}, ""},
		"of the result":   {file(usage, ""), llm.Usage{InputTokens: 7, OutputTokens: 2}, ""},
		"of both":         {file(usage, `,"tokenUsage":{"prompt":5,"completion":1}`), llm.Usage{InputTokens: 7, OutputTokens: 2}, ""},
		"of a cache":      {file("", `,"tokenUsage":{"total":9,"cached":9,"numRequests":0,"completionDetails":{"reasoning":3,"acceptedPrediction":0}}`), llm.Usage{CacheReadInputTokens: 9}, ""},
		"as a text":       {file("", `,"tokenUsage":{"prompt":"many"}`), llm.Usage{}, "tokenUsage.prompt is a string"},
	} {
		isReported(t, name, c.file, c.unknown)
		src, err := importer.Open("file", strings.NewReader(c.file))
		if err != nil {
			t.Fatal(err)
		}
		for run, err := range src.Runs() {
			if err != nil {
				t.Fatal(err)
			}
			if got := run.Resources().Usage; got != c.want {
				t.Errorf("%s: usage %+v, want %+v", name, got, c.want)
			}
		}
	}
}

// members are those of an object.
func members(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestResourcesOfOneMember reads each member that has resources from a run without another member.
func TestResourcesOfOneMember(t *testing.T) {
	const usage = `{"prompt_tokens":3,"completion_tokens":4}`
	for name, value := range map[string]string{
		"model_usage": `{"m":{"input_tokens":3,"output_tokens":4}}`, "info": `{"model_stats":{"instance_cost":2}}`, "totalUsage": usage, "usage": usage, "tokenUsage": `{"prompt":3,"completion":4}`,
		"steps": `[{"usage":` + usage + `}]`, "cost": "2", "provider_usage": `{"cost":2}`, "trace": `{"latency":2}`, "latencyMs": "2", "total_time": "2",
	} {
		run := importer.Run{Meta: map[string]json.RawMessage{name: json.RawMessage(value)}}
		if run.Resources() == (importer.Resources{}) {
			t.Errorf("%s: %s has no resources", name, value)
		}
	}
}
