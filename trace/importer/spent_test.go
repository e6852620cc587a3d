package importer_test

import (
	"encoding/json"
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
		"nothing":   {`{}`, importer.Resources{}},
		"Inspect":   {`{"model_usage":{"a":{"input_tokens":7,"output_tokens":2,"total_tokens":9},"b":{"input_tokens":1,"output_tokens":1}},"total_time":1.5}`, importer.Resources{Usage: llm.Usage{InputTokens: 8, OutputTokens: 3}, Latency: 1500 * time.Millisecond}},
		"promptfoo": {`{"tokenUsage":{"total":9,"prompt":7,"completion":2},"latencyMs":250,"cost":0.01}`, importer.Resources{Usage: llm.Usage{InputTokens: 7, OutputTokens: 2}, Latency: 250 * time.Millisecond, Cost: 0.01}},
		"SWE-agent": {`{"info":{"model_stats":{"instance_cost":0.5,"tokens_sent":700,"tokens_received":20,"api_calls":3}}}`, importer.Resources{Usage: llm.Usage{InputTokens: 700, OutputTokens: 20}, Cost: 0.5}},
		"AI SDK":    {`{"usage":{"inputTokens":4,"outputTokens":1},"totalUsage":{"inputTokens":7,"outputTokens":2}}`, importer.Resources{Usage: llm.Usage{InputTokens: 7, OutputTokens: 2}}},
		"version 4": {`{"usage":{"promptTokens":4,"completionTokens":1},"steps":[{"usage":{"promptTokens":3}}]}`, importer.Resources{Usage: llm.Usage{InputTokens: 4, OutputTokens: 1}}},
		"steps":     {`{"steps":[{"usage":{"inputTokens":4,"outputTokens":1}},{},{"usage":{"inputTokens":3,"outputTokens":1}}]}`, importer.Resources{Usage: llm.Usage{InputTokens: 7, OutputTokens: 2}}},
		"OpenAI":    {`{"usage":{"prompt_tokens":7,"completion_tokens":2}}`, importer.Resources{Usage: llm.Usage{InputTokens: 7, OutputTokens: 2}}},
		"no amounts": {`{"usage":{"prompt_tokens":"7","completion_tokens":-2},"cost":"free","latencyMs":1e300,"total_time":null,"info":7}`,
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

// members are those of an object.
func members(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}
