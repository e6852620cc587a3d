package importer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// anyOf returns JSON as an AnyValue of OTLP.
func anyOf(value any) string {
	var list []string
	switch v := value.(type) {
	case string:
		return fmt.Sprintf(`{"stringValue":%q}`, v)
	case float64:
		return fmt.Sprintf(`{"intValue":"%d"}`, int(v))
	case []any:
		for _, e := range v {
			list = append(list, anyOf(e))
		}
		return `{"arrayValue":{"values":[` + strings.Join(list, ",") + `]}}`
	case map[string]any:
		for key, e := range v {
			list = append(list, fmt.Sprintf(`{"key":%q,"value":%s}`, key, anyOf(e)))
		}
		return `{"kvlistValue":{"values":[` + strings.Join(list, ",") + `]}}`
	}
	return "{}"
}

// logged is a log record of the span s with a body.
func logged(t *testing.T, time int, name, body string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"traceId":"t","spanId":"s","timeUnixNano":"%d","eventName":%q,"body":%s}`, time, name, anyOf(value))
}

func logs(records ...string) string {
	return `{"resourceLogs":[{"resource":{"a":1},"scopeLogs":[{"scope":{},"logRecords":[` + strings.Join(records, ",") + `]}]}]}`
}

func TestTelemetryLogs(t *testing.T) {
	t.Parallel()
	const called = `{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}}`
	asked, choice := logged(t, 1, "gen_ai.user.message", `{"content":"hi"}`), logged(t, 2, "gen_ai.choice", called)
	again := []string{
		logged(t, 3, "gen_ai.user.message", `{"content":"hi"}`),
		logged(t, 4, "gen_ai.assistant.message", `{"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`),
		logged(t, 5, "gen_ai.tool.message", `{"id":"c1","content":"fine"}`),
		logged(t, 6, "gen_ai.choice", `{"index":0,"message":{"role":"assistant","content":"yo"}}`),
	}
	details := func(span, output string) string {
		return `{"traceId":"t","spanId":"` + span + `","eventName":"gen_ai.client.inference.operation.details","attributes":` +
			attributeList([]string{"gen_ai.operation.name", "chat", "gen_ai.input.messages", asksHi, "gen_ai.output.messages", output, "gen_ai.usage.input_tokens", "7"}) + `}`
	}
	silent := strings.Replace(span("t", 1, "gen_ai.operation.name", "chat", "gen_ai.usage.input_tokens", "7"), "{", `{"spanId":"s",`, 1)
	const whole = "t user:(hi) assistant:[c1 f{}] tool:[c1 =fine] assistant:(yo)"
	for name, c := range map[string]struct {
		in      string
		want    []string
		unknown []string
	}{
		"calls of one span":       {in: logs(append([]string{asked, choice}, again...)...), want: []string{whole}},
		"in another order":        {in: logs(again[3], again[2], choice, again[1], again[0], asked), want: []string{whole}},
		"one per line":            {in: logs(asked, choice) + "\n" + logs(again...) + "\n", want: []string{whole}},
		"compressed":              {in: string(zstandard(t, logs(append([]string{asked, choice}, again...)...))), want: []string{whole}},
		"details":                 {in: logs(details("s", answers)), want: []string{"t user:(hi) assistant:(yo) {\"input_tokens\":7,\"output_tokens\":0}"}},
		"a span without messages": {in: otlp(silent) + "\n" + logs(details("s", answers)), want: []string{"t user:(hi) assistant:(yo) {\"input_tokens\":7,\"output_tokens\":0}"}},
		"events and their span":   {in: logs(asked, logged(t, 2, "gen_ai.choice", `{"message":{"content":"yo"}}`)) + "\n" + otlp(silent), want: []string{"t user:(hi) assistant:(yo) {\"input_tokens\":7,\"output_tokens\":0}"}},
		"a span with messages":    {in: otlp(strings.Replace(span("t", 1, "gen_ai.input.messages", asksHi, "gen_ai.output.messages", answers), "{", `{"spanId":"s",`, 1)) + "\n" + logs(asked, choice), want: []string{"t user:(hi) assistant:(yo)"}},
		"calls at the same time":  {in: logs(details("a", answers), details("b", strings.Replace(answers, "yo", "ho", 1))), want: []string{"t user:(hi) assistant:(yo) {\"input_tokens\":7,\"output_tokens\":0}", "t/conversation-2 user:(hi) assistant:(ho) {\"input_tokens\":7,\"output_tokens\":0}"}},
		"event.name":              {in: logs(strings.Replace(asked, `"eventName":"gen_ai.user.message"`, `"attributes":[{"key":"event.name","value":{"stringValue":"gen_ai.user.message"}}]`, 1)), want: []string{"t user:(hi)"}},
		"content of Gemini":       {in: logs(logged(t, 1, "gen_ai.user.message", `{"content":{"parts":[{"text":"hi"}],"role":"user"}}`), logged(t, 2, "gen_ai.choice", `{"index":0,"content":{"parts":[{"functionCall":{"name":"f","args":{"x":"y"}}}]}}`)), want: []string{"t user:(hi) assistant:[function_call_1 f{\"x\":\"y\"}]"}},
		"content of Bedrock": {
			in: logs(logged(t, 1, "gen_ai.user.message", `{"content":[{"text":"hi"}]}`), logged(t, 2, "gen_ai.assistant.message", `{"content":[{"text":"So"},{"toolUse":{"toolUseId":"c1","name":"f","input":"x"}}],"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"x"}}]}`),
				logged(t, 3, "gen_ai.tool.message", `{"id":"c1","content":[{"json":"fine"}]}`), logged(t, 4, "gen_ai.tool.message", `{"content":"[{\"toolResult\":{\"toolUseId\":\"c2\",\"content\":[{\"text\":\"r\"}]}}]"}`)),
			want: []string{`t user:(hi) assistant:(So)[c1 fx] tool:[c1 =[{"json":"fine"}]] tool:[c2 =r]`},
		},
		"text and calls":     {in: logs(logged(t, 1, "gen_ai.assistant.message", `{"content":[{"type":"text","text":"So"}],"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"x"}}]}`)), want: []string{"t assistant:(So)[c1 fx]"}},
		"alternatives":       {in: logs(asked, logged(t, 2, "gen_ai.choice", `{"index":1,"message":{"content":"ho"}}`), logged(t, 2, "gen_ai.choice", `{"index":0,"message":{"content":"yo"}}`)), want: []string{"t user:(hi) assistant:(yo)"}, unknown: []string{`file:1: span "s": the gen_ai.choice of the model call: the response has 2 alternatives, and only the first is read (in t)`}},
		"an unknown event":   {in: logs(asked, logged(t, 2, "gen_ai.dream", `{}`)), want: []string{"t user:(hi)"}, unknown: []string{`file:1: log record "gen_ai.dream": the event is unknown (in t)`}},
		"other logs":         {in: logs(asked, logged(t, 2, "http", `{}`)), want: []string{"t user:(hi)"}},
		"an unknown member":  {in: logs(asked, logged(t, 2, "gen_ai.choice", `{"message":{"function_call":{"name":"f"}}}`)), want: []string{"t user:(hi)"}, unknown: []string{`file:1: span "s": the gen_ai.choice of the model call: the message has the unknown member "function_call" (in t)`}},
		"no content":         {in: logs(logged(t, 1, "gen_ai.user.message", `{}`), choice), unknown: []string{`file:1: span "s": the model call has no messages, as gen_ai.input.messages: let the recorder capture message content`}},
		"content of no form": {in: logs(asked, logged(t, 2, "gen_ai.choice", `{"message":{"content":{"x":"y"}}}`)), want: []string{"t user:(hi)"}, unknown: []string{`file:1: span "s": the gen_ai.choice of the model call: content: the content is neither a string nor a list of parts (in t)`}},
		"no trace":           {in: logs(strings.Replace(asked, `"traceId":"t",`, "", 1)), unknown: []string{`file:1: log record "gen_ai.user.message": the record has no traceId, which shows its model call (in span-1)`}, want: []string{"span-1 user:(hi)"}},
		"broken":             {in: logs(asked)[:200], unknown: []string{"file:1: the file ends within a value"}},
	} {
		format, runs, failed, unknown := readAll(t, "file", []byte(c.in))
		if diff := cmp.Diff(c.want, outline(runs)); diff != "" || format != "otel" {
			t.Errorf("%s: format %s, runs (-want +got):\n%s", name, format, diff)
		}
		if diff := cmp.Diff(c.unknown, texts(append(failed, unknown...))); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", name, diff)
		}
	}
}

// A score in a log is one of its run, and the records stay in the metadata.
func TestTelemetryLogData(t *testing.T) {
	t.Parallel()
	score := `{"traceId":"t","spanId":"s","eventName":"gen_ai.evaluation.result","attributes":[{"key":"gen_ai.evaluation.name","value":{"stringValue":"m"}},{"key":"gen_ai.evaluation.score.value","value":{"doubleValue":0.5}}]}`
	_, runs, failed, unknown := readAll(t, "file", []byte(logs(logged(t, 1, "gen_ai.user.message", `{"content":"hi"}`), score, logged(t, 2, "other", `{"x":"kept"}`))))
	if len(runs) != 1 || failed != nil || unknown != nil {
		t.Fatalf("%d runs, errors %v, unknown %v", len(runs), failed, unknown)
	}
	if s := runs[0].Scores; len(s) != 1 || s[0].Name != "m" || s[0].Value != 0.5 {
		t.Errorf("scores %v", s)
	}
	for _, want := range []string{`"kept"`, `"spanId":"s"`, `0.5`} {
		if !strings.Contains(string(runs[0].Meta["spans"]), want) {
			t.Errorf("the metadata %s lacks %s", runs[0].Meta["spans"], want)
		}
	}
}
