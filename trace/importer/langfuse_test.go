package importer_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/importer"
)

// observation is one of Langfuse with these JSON values. Its id is its name, and it starts in this
// second.
func observation(kind, name, parent string, second int, input, output string) string {
	return fmt.Sprintf(`{"id":%q,"traceId":"t","type":%q,"name":%q,"parentObservationId":%q,"startTime":"2026-01-01T00:00:%02d.5Z","input":%s,"output":%s,"usageDetails":{"input":10,"output":2,"output_reasoning":1}}`,
		name, kind, name, parent, second, input, output)
}

func langfuseTrace(observations ...string) string {
	return `{"trace":{"id":"t","projectId":"p","input":"\"hi\"","output":"\"yo\"","scores":[]},"observations":[` + strings.Join(observations, ",\n") + `]}`
}

func TestLangfuse(t *testing.T) {
	const (
		openAICall = `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}`
		results    = `[{"role":"user","content":"hi"},` + openAICall + `,{"role":"tool","tool_call_id":"c1","content":"fine"}]`
	)
	first := observation("GENERATION", "first", "", 1, "["+hi+"]", openAICall)
	last := observation("GENERATION", "last", "", 3, results, `"yo"`)
	tool := observation("TOOL", "f", "", 2, `{"x":1}`, `"fine"`)
	const whole = `t case="" epoch=-1 answer="yo"`
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"a conversation":         {langfuseTrace(last, tool, first), []string{whole}},
		"two conversations":      {langfuseTrace(first, observation("GENERATION", "judge", "", 2, `"rate it"`, `"good"`)), []string{`t case="" epoch=-1`, `t/conversation-2 case="" epoch=-1 answer="good"`}},
		"the history is stored":  {langfuseTrace(first, observation("GENERATION", "last", "", 3, `[{"role":"tool","tool_call_id":"c1","content":"fine"}]`, yo)), []string{whole}},
		"the call is repeated":   {langfuseTrace(first, observation("GENERATION", "last", "", 3, `[`+openAICall+`,{"role":"tool","tool_call_id":"c1","content":"fine"}]`, yo)), []string{whole}},
		"two layers":             {langfuseTrace(observation("GENERATION", "outer", "", 0, `{"prompt":"hi"}`, `"done"`), observation("SPAN", "s", "outer", 1, "null", "null"), observation("GENERATION", "inner", "s", 2, `"hi"`, `"yo"`)), []string{whole}},
		"an agent above":         {langfuseTrace(observation("AGENT", "a", "", 0, `"hi"`, `"done"`), observation("GENERATION", "g", "a", 1, `"hi"`, `"yo"`)), []string{whole}},
		"an agent alone":         {langfuseTrace(observation("AGENT", "a", "", 0, `"hi"`, `"yo"`)), []string{whole}},
		"a cycle":                {langfuseTrace(observation("GENERATION", "a", "b", 0, `"hi"`, `"yo"`), observation("GENERATION", "b", "a", 0, `"hi"`, `"yo"`)), []string{whole}},
		"other answers":          {langfuseTrace(observation("GENERATION", "a", "", 0, `"hi"`, `"yo"`), observation("GENERATION", "b", "", 1, `"hi"`, `"other"`)), []string{whole, `t/conversation-2 case="" epoch=-1 answer="other"`}},
		"other results":          {langfuseTrace(first, last, observation("GENERATION", "cut", "", 4, strings.Replace(results, "fine", "omitted", 1), `"so"`)), []string{whole, `t/conversation-2 case="" epoch=-1 answer="so"`}},
		"a retry":                {langfuseTrace(observation("GENERATION", "a", "", 0, `"hi"`, `null`), observation("GENERATION", "b", "", 1, `"hi"`, `"yo"`)), []string{whole}},
		"no model call":          {langfuseTrace(tool), []string{whole}},
		"a list":                 {"[" + langfuseTrace(tool) + ",\n7,\n" + langfuseTrace(first, last) + "]", []string{whole, "! file:2: [1]: expected an object", whole}},
		"lines":                  {langfuseTrace(last) + "\n{\n" + strings.ReplaceAll(langfuseTrace(last), "\n", "") + "\n", []string{whole, "! file:2: the line ends within a value", whole}},
		"of the API":             {`{"id":"t","projectId":"p","name":"n","input":"hi","output":"yo","observations":[` + first + "," + last + `],"scores":[{"name":"m","value":0.5}]}`, []string{whole + " m=0.5"}},
		"nested observations":    {`{"trace":{"id":"t","projectId":"p","observations":[` + last + `]}}`, []string{whole}},
		"without an id":          {`{"trace":{"projectId":"p"},"observations":[` + last + `]}`, []string{`run-1 case="" epoch=-1 answer="yo"`}},
		"scores":                 {strings.Replace(langfuseTrace(first, observation("GENERATION", "judge", "", 2, `"rate it"`, `"good"`)), `"scores":[]`, `"scores":[{"name":"a","value":1,"observationId":"judge"},{"name":"b","value":true},{"name":"c","value":null,"stringValue":"x"},{"name":"d","value":2,"observationId":"gone"}]`, 1), []string{`t case="" epoch=-1 b=1 d=2`, `t/conversation-2 case="" epoch=-1 answer="good" a=1`}},
		"a broken value":         {langfuseTrace(first, `{"id":}`), []string{"! file:2: observations[1].id: expected a value"}},
		"a broken observation":   {langfuseTrace(first, `7`), []string{"! file:2: observations[1]: expected an observation, which is an object"}},
		"broken nested":          {`{"trace":{"projectId":"p","observations":[7]}}`, []string{"! file:1: trace.observations is not a list of objects"}},
		"a broken trace":         {`{"trace":"projectId","observations":[{"projectId":"p"}]}`, []string{"! file:1: the member trace is not an object"}},
		"missing observations":   {`{"trace":{"id":"t","projectId":"observations","x":"\"observations\""}}`, []string{"! file:1: the trace has no observations"}},
		"truncated observations": {`{"trace":{"projectId":"p"},"observations":[` + first, []string{"! file:1: the file ends within a value"}},
	} {
		t.Run(name, func(t *testing.T) {
			for way, in := range map[string]io.Reader{"plain": strings.NewReader(c.in), "gzip": zipped(t, c.in)} {
				src, err := importer.Open("file", in)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, describeRuns(src, nil)); diff != "" || src.Format.Name != "langfuse" {
					t.Errorf("%s: format %s, runs (-want +got):\n%s", way, src.Format.Name, diff)
				}
			}
		})
	}
}

// The input and the output of a model call have the form of the framework.
func TestLangfuseForms(t *testing.T) {
	const user, assistant = `{"role":"user","parts":[{"type":"text","text":"hi"}]}`, `{"role":"assistant","parts":[{"type":"text","text":"yo"}]}`
	const call = `{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":"{\"x\":1}"}]}`
	const result = `{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","content":[{"type":"text","text":"fine"}]}]}`
	for name, c := range map[string]struct {
		input, output string
		want          []string
	}{
		"strings":                      {`"hi"`, `"yo"`, []string{user, assistant}},
		"strings in JSON":              {`"\"hi\""`, `"[{\"role\":\"assistant\",\"content\":\"yo\"}]"`, []string{user, assistant}},
		"a prompt":                     {`{"prompt":"hi","temperature":0}`, `{"text":"yo","finishReason":"stop"}`, []string{user, assistant}},
		"a request":                    {`{"model":"m","messages":[` + hi + `]}`, `{"choices":[{"message":` + yo + `,"finish_reason":"stop"}],"model":"m","object":"chat.completion"}`, []string{user, assistant}},
		"a system prompt":              {`{"system":"be brief","messages":[` + hi + `]}`, yo, []string{`{"role":"system","parts":[{"type":"text","text":"be brief"}]}`, user, assistant}},
		"OpenTelemetry":                {asksHi, calls, []string{user, `{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":"{\"x\":1}"}],"opaque":{"finish_reason":"tool_call"}}`}},
		"calls of the AI SDK":          {`"hi"`, `"[{\"toolCallId\":\"c1\",\"toolName\":\"f\",\"input\":\"{\\\"x\\\":1}\"}]"`, []string{user, call}},
		"a result of the AI SDK":       {`"hi"`, `{"text":"","toolCalls":[{"toolCallId":"c1","toolName":"f","input":{"x":1}}]}`, []string{user, call}},
		"contents of Gemini":           {`{"model":"m","contents":"hi","config":{"system_instruction":"be brief"}}`, `{"candidates":[{"content":{"parts":[{"text":"yo"}]}}]}`, []string{`{"role":"system","parts":[{"type":"text","text":"be brief"}]}`, user, assistant}},
		"a list of contents":           {`{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, `{"candidates":[{"content":{"role":"model","parts":[{"function_call":{"id":"c1","name":"f","args":{"x":1}}}]}}]}`, []string{user, call}},
		"LangChain's additional calls": {`"hi"`, `{"role":"assistant","content":"","additional_kwargs":{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{\"x\":1}"},"type":"function"}]}}`, []string{user, call}},
		"LangChain's custom calls":     {`"hi"`, `{"role":"assistant","content":"","tool_calls":[],"additional_kwargs":{"tool_calls":[{"id":"c1","type":"custom","custom":{"name":"f","input":"x"}}]}}`, []string{user, `{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":"x","opaque":{"type":"custom"}}]}`}},
		"LangChain's invalid calls":    {`"hi"`, `{"role":"assistant","content":"","tool_calls":[],"invalid_tool_calls":[{"name":"f","args":"{","id":"c1","error":"no JSON"}]}`, []string{user, `{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":"{","opaque":{"error":"no JSON"}}]}`}},
		"LangChain's blocks":           {`"hi"`, `{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}],"tool_calls":[{"name":"f","args":{"x":1},"id":"c1"}]}`, []string{user, call}},
		"serialized messages":          {`[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"hi","additional_kwargs":{}}}]`, `{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessageChunk"],"kwargs":{"content":"","tool_calls":[{"name":"f","args":{"x":1},"id":"c1"}],"additional_kwargs":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}}}`, []string{`{"role":"user","parts":[{"type":"text","text":"hi"}],"opaque":{"additional_kwargs":{}}}`, `{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":"{\"x\":1}"}],"opaque":{"additional_kwargs":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}}}`}},
		"a serialized message":         {`{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"hi","additional_kwargs":{}}}`, `{"generations":[[{"lc":1,"type":"constructor","id":["langchain","schema","output","ChatGeneration"],"kwargs":{"text":"","message":{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessageChunk"],"kwargs":{"content":"","tool_calls":[{"name":"f","args":{"x":1},"id":"c1"}],"additional_kwargs":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}}}}}]],"llm_output":{"x":1}}`, []string{`{"role":"user","parts":[{"type":"text","text":"hi"}],"opaque":{"additional_kwargs":{}}}`, `{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":"{\"x\":1}"}],"opaque":{"additional_kwargs":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}}}`}},
		"a serialized prompt":          {`{"lc":1,"type":"constructor","id":["langchain","prompts","chat","ChatPromptValue"],"kwargs":{"messages":[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"hi","additional_kwargs":{}}}]}}`, `"yo"`, []string{`{"role":"user","parts":[{"type":"text","text":"hi"}],"opaque":{"additional_kwargs":{}}}`, assistant}},
		"reasoning":                    {`"hi"`, `[{"type":"reasoning","text":"hm"},{"type":"text","text":"yo"}]`, []string{user, `{"role":"assistant","parts":[{"type":"reasoning","text":"hm"},{"type":"text","text":"yo"}]}`}},
		"LangChain's calls":            {`[[{"type":"human","content":"hi"}]]`, `{"type":"ai","content":"","tool_calls":[{"name":"f","args":{"x":1},"id":"c1","type":"tool_call"}]}`, []string{user, call}},
		"tools as messages":            {`[` + hi + `,{"role":"tool","content":{"type":"function","function":{"name":"f","parameters":{}}}}]`, yo, []string{user, assistant}},
		"a tool as the role":           {`[` + hi + `,{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},{"role":"f","content":"fine"}]`, yo, []string{user, call, result, assistant}},
		"a result that is JSON":        {`[{"role":"tool","tool_call_id":"c1","content":[{"url":"u"}]}]`, yo, []string{`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","content":[{"type":"text","text":"[{\"url\":\"u\"}]"}]}]}`, assistant}},
		"parts":                        {`[{"type":"text","text":"hi"}]`, `[{"type":"text","text":"yo"}]`, []string{user, assistant}},
		"an answer in JSON":            {`"hi"`, `{"joke":"yo"}`, []string{user, `{"role":"assistant","parts":[{"type":"text","text":"{\"joke\":\"yo\"}"}]}`}},
		"an answer in a string":        {`"hi"`, `"{\"joke\":1}"`, []string{user, `{"role":"assistant","parts":[{"type":"text","text":"{\"joke\":1}"}]}`}},
		"an id that is a list":         {`"hi"`, `[{"role":"assistant","parts":[{"type":"tool_call","id":["r", "c1"],"name":"f","arguments":{"x":1}}]}]`, []string{user, `{"role":"assistant","parts":[{"type":"tool_call","id":"[\"r\",\"c1\"]","name":"f","arguments":"{\"x\":1}"}]}`}},
		"items of Responses":           {`{"model":"m","input":[{"role":"user","content":"hi"}]}`, `[{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"x\":1}"}]`, []string{user, call}},
		"a message of Anthropic":       {`{"model":"m","max_tokens":1,"messages":[` + hi + `]}`, `{"id":"m","type":"message","role":"assistant","stop_reason":"tool_use","content":[{"type":"tool_use","id":"c1","name":"f","input":{"x":1}}]}`, []string{user, call}},
		"a number":                     {`"hi"`, `7`, []string{user, `{"role":"assistant","parts":[{"type":"text","text":"7"}]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			in := langfuseTrace(observation("GENERATION", "g", "", 1, c.input, c.output))
			if diff := cmp.Diff(c.want, ownJSON(t, strings.NewReader(in))); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			checkConserved(t, in)
		})
	}
}

// Each part that is not understood is listed with its place, and Meta has it.
func TestLangfuseUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		observation string
		want        []string
	}{
		"an unknown type":   {observation("LLAMA", "x", "", 1, "null", "null"), []string{`file:1: observations[1]: the observation "x" has the unknown type "LLAMA" (in t)`}},
		"no messages":       {observation("GENERATION", "x", "", 1, "null", "null"), []string{`file:1: observations[1]: the model call "x" has no messages: let the program send its input and output to Langfuse (in t)`}},
		"an unknown input":  {observation("GENERATION", "x", "", 1, `{"a":1,"b":2}`, yo), []string{`file:1: observations[1].input: the messages of the model call "x" cannot be read: the messages are in an unknown form: its members are "a", "b" (in t)`}},
		"an unknown output": {observation("GENERATION", "x", "", 1, `"hi"`, `{"toolRequests":[]}`), []string{`file:1: observations[1].output: the messages of the model call "x" cannot be read: the messages are in an unknown form: its members are "toolRequests" (in t)`}},
		"an unknown role":   {observation("GENERATION", "x", "", 1, `[{"role":"robot","content":"hi"}]`, yo), []string{`file:1: the message has the unknown role "robot" (in message 0 of t/conversation-2)`}},
		"an invalid message": {observation("GENERATION", "x", "", 1, `[{"role":"user","content":7}]`, yo), []string{
			`file:1: observations[1].input: the messages of the model call "x" cannot be read: the content is neither a string nor a list of parts at [0].content (byte 27) (in t)`,
		}},
		"another kind of span": {observation("RETRIEVER", "x", "", 1, `{"q":1}`, `["doc"]`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := langfuseTrace(observation("GENERATION", "g", "", 1, `"hello"`, `"yo"`), c.observation)
			src, err := importer.Open("file", strings.NewReader(in))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for run, err := range src.Runs() {
				if err != nil {
					t.Error(err)
				}
				for _, u := range run.Unknown {
					got = append(got, u.Error())
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("unknown (-want +got):\n%s", diff)
			}
			checkConserved(t, in)
		})
	}
}

var langfuseExample = oneLine(

	langfuseTrace(observation("GENERATION", "a", "", 1, asksHi, calls), observation("TOOL", "f", "", 2, `{"x":1}`, `"fine"`), observation("GENERATION", "b", "", 3, asksOn, answers)),
	langfuseTrace(observation("AGENT", "a", "", 1, `{"messages":[`+hi+`]}`, yo), observation("GENERATION", "b", "a", 3, `[`+hi+`]`, `{"role":"assistant","content":"","additional_kwargs":{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{\"x\":1}"},"type":"function"}]}}`)),
	langfuseTrace(observation("GENERATION", "b", "", 3, `{"model":"m","contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, `{"candidates":[{"content":{"role":"model","parts":[{"function_call":{"id":"c1","name":"f","args":{"x":1}}}]}}]}`)),
)

// oneLine returns recordings, each as one line.
func oneLine(recordings ...string) (lines string) {
	for _, r := range recordings {
		lines += strings.ReplaceAll(r, "\n", "") + "\n"
	}
	return lines
}

// checkConserved checks that the runs of a recording have all of its texts and numbers.
func checkConserved(t *testing.T, in string) {
	t.Helper()
	got, runs, _, _ := readAll(t, "file", []byte(in))
	if names := lostFrom(got, sourceLeaves(t, []byte(in)), contentOf(t, runs)); names != nil {
		t.Errorf("lost %s", strings.Join(names, "\n"))
	}
}

// An observation above others repeats their usage and cost, and counts only if these have none.
func TestLangfuseCountsOnce(t *testing.T) {
	used := func(kind, id, parent, input, cost string) string {
		o := observation(kind, id, parent, len(id), `"hi"`, `"yo"`)
		return strings.Replace(o, `{"input":10,"output":2,"output_reasoning":1}`, `{"input":`+input+`},"totalCost":`+cost, 1)
	}
	for name, c := range map[string]struct {
		in    []string
		input int64
		cost  float64
	}{
		"agent":                 {[]string{used("AGENT", "a", "", "7", "3"), used("GENERATION", "bb", "a", "5", "1"), used("GENERATION", "ccc", "a", "2", "2")}, 7, 3},
		"chain above an agent":  {[]string{used("CHAIN", "x", "", "7", "3"), used("AGENT", "a", "x", "7", "3"), used("SPAN", "s", "a", "7", "3"), used("GENERATION", "bb", "s", "7", "3")}, 7, 3},
		"last call in agent":    {[]string{used("AGENT", "a", "", "2", "0"), used("GENERATION", "bb", "a", "5", "1"), used("GENERATION", "ccc", "a", "2", "2")}, 7, 3},
		"only the agent":        {[]string{used("AGENT", "a", "", "7", "3"), used("GENERATION", "bb", "a", "0", "0")}, 7, 3},
		"cost only of agent":    {[]string{used("AGENT", "a", "", "9", "3"), used("GENERATION", "bb", "a", "7", "0")}, 7, 3},
		"outer call":            {[]string{used("GENERATION", "a", "", "7", "3"), used("GENERATION", "bb", "a", "7", "3")}, 7, 3},
		"call in a tool":        {[]string{used("GENERATION", "a", "", "4", "1"), used("TOOL", "f", "a", "0", "0"), used("GENERATION", "bb", "f", "3", "2")}, 7, 3},
		"embedding in an agent": {[]string{used("AGENT", "a", "", "4", "1"), used("EMBEDDING", "bb", "a", "3", "2")}, 7, 3},
		"embedding in another":  {[]string{used("EMBEDDING", "a", "", "7", "3"), used("EMBEDDING", "bb", "a", "7", "3")}, 7, 3},
		"cycle":                 {[]string{used("GENERATION", "a", "bb", "4", "1"), used("GENERATION", "bb", "a", "3", "2")}, 7, 3},
		"own parent":            {[]string{used("GENERATION", "a", "a", "7", "3")}, 7, 3},
	} {
		src, err := importer.Open("file", strings.NewReader(langfuseTrace(c.in...)))
		if err != nil {
			t.Fatal(err)
		}
		var input int64
		cost := 0.0
		for run, err := range src.Runs() {
			if err != nil {
				t.Fatal(name, err)
			}
			input, cost = input+run.Resources().Usage.InputTokens, cost+run.Resources().Cost
		}
		if input != c.input || cost != c.cost {
			t.Errorf("%s: %d input tokens and cost %v, want %d and %v", name, input, cost, c.input, c.cost)
		}
	}
}
