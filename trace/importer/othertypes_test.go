package importer_test

import (
	"strings"
	"testing"

	"github.com/looptape/looptape/trace/importer"
)

// Values of another type than the format has in a list, and members of another type, are reported.
func TestValuesOfOtherTypesAreReported(t *testing.T) {
	adk := func(events string) string {
		return `{"id":"s","app_name":"a","user_id":"u","events":` + events + `}`
	}
	adkResult := func(metrics string) string {
		return `{"eval_set_result_id":"r","eval_case_results":[{"eval_id":"e","eval_metric_result_per_invocation":[{"actual_invocation":{"user_content":{"parts":[{"text":"q"}]},"final_response":{"role":"model","parts":[{"text":"a"}]}}}],"overall_eval_metric_results":` + metrics + `}]}`
	}
	adkPair := func(pair string) string {
		return `{"eval_set_result_id":"r","eval_case_results":[{"eval_id":"e","eval_metric_result_per_invocation":[{"actual_invocation":{"user_content":{"parts":[{"text":"q"}]},"final_response":{"role":"model","parts":[{"text":"a"}]}}},` + pair + `]}]}`
	}
	adkCase := func(members string) string {
		return `{"eval_set_id":"s","eval_cases":[{"eval_id":"e","conversation":[{"user_content":{"parts":[{"text":"q"}]},` + members + `}]}]}`
	}
	const pair = "eval_metric_result_per_invocation[1]."
	const event = `{"author":"user","content":{"role":"user","parts":[{"text":"q"}]}}`
	atif := func(observation string) string {
		return `{"schema_version":"ATIF-v1.5","session_id":"s","agent":{"name":"a"},"steps":[{"step_id":1,"source":"user","message":"q"},{"step_id":2,"source":"agent","message":"a","tool_calls":[{"tool_call_id":"i","function_name":"f","arguments":{}}],"observation":` + observation + `}]}`
	}
	atifStep := func(members string) string {
		return `{"schema_version":"ATIF-v1.5","session_id":"s","agent":{"name":"a"},"steps":[{"step_id":1,"source":"user","message":"q"},{"step_id":2,"source":"agent","message":"a",` + members + `}]}`
	}
	atifFinal := func(metrics string) string {
		return `{"schema_version":"ATIF-v1.5","session_id":"s","agent":{"name":"a"},"steps":[{"step_id":1,"source":"user","message":"q"},{"step_id":2,"source":"agent","message":"a","metrics":{"prompt_tokens":3}}],"final_metrics":` + metrics + `}`
	}
	promptfoo := func(members string) string {
		return `{"evalId":"e","results":{"version":3,"results":[{"success":true,"score":1,"vars":{"q":"x"},"testIdx":0,"promptIdx":0,"prompt":{"raw":"x"},"response":{"output":"a"},` + members + `}]}}`
	}
	const notATIF, number = "a step of ATIF has no such member, and it is not read", "expected a number"
	const result = `{"source_call_id":"i","content":"r"}`
	sample := func(scores string) string {
		return inspectLog(`{"id":1,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],` + scores + `}`)
	}
	tau2 := func(reward string) string {
		return `{"id":"s","task_id":"t","termination_reason":"user_stop","duration":1,"reward_info":` + reward + `,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`
	}
	langfuse := func(scores string) string {
		return `{"id":"t","projectId":"p","scores":` + scores + `,"observations":[{"id":"o","traceId":"t","type":"GENERATION","parentObservationId":null,"startTime":"2026-01-01T00:00:00Z","input":[{"role":"user","content":"q"}],"output":{"role":"assistant","content":"a"}}]}`
	}
	const score = `{"name":"s","value":0.5}`
	const noScore = `good: the column is not one of Langfuse and not a list of numbers`
	ui := func(members string) string {
		return `[{"id":"1","role":"user","content":"q","parts":[{"type":"text","text":"q"}]},{"id":"2","role":"assistant","content":"a",` + members + `}]`
	}
	swe := func(info string) string {
		return `{"trajectory":[],"history":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"info":` + info + `}`
	}
	rows := func(members string) string {
		return `[{"id":"o","traceId":"t","type":"GENERATION","parentObservationId":null,"startTime":"2026-01-01T00:00:00Z","input":"q","output":"a",` + members + `}]`
	}
	const uiCall = `"parts":[{"type":"text","text":"a"},{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"c","toolName":"f","args":{},"result":{"r":1}}}]`
	const noPart = `the message has calls or results that are not among its parts, as "toolInvocations"`
	step := func(members string) string {
		return `{"finishReason":"stop","text":"k","steps":[{"finishReason":"stop","text":"k","content":[{"type":"text","text":"k"},{"type":"reasoning","text":"h"},{"type":"tool-call","toolCallId":"a","toolName":"f","input":{"x":1}},` +
			`{"type":"tool-result","toolCallId":"a","toolName":"f","input":{"x":1},"output":{"r":1}},{"type":"tool-call","toolCallId":"p","toolName":"s","input":{},"providerExecuted":true},{"type":"tool-result","toolCallId":"p","toolName":"s","output":1,"providerExecuted":true}],` + members + `}]}`
	}
	sent := func(parts string) string { return step(`"response":{"id":"r","messages":[` + parts + `]}`) }
	const unlisted = "the member has a text, a call or a result that is not among the content"
	const object, list = "expected an object", "expected a list"
	for file, want := range map[string]string{
		adk(`[` + event + `,"lost"]`):                                                                           "events[1]: " + object,
		adk(`[` + event + `,[{"author":"x"}]]`):                                                                 "events[1]: " + object,
		adk(`[` + event + `,{"role":"user","lost":1}]`):                                                         `events[1]: the event has no author, no content and no actions; it has the members "role", "lost"`,
		adk(`{"0":` + event + `}`):                                                                              "events: " + list,
		adk(`[` + event + `,{"author":"a","error_code":"X"}]`):                                                  "",
		adk(`[` + event + `,{"actions":{"state_delta":{}}}]`):                                                   "",
		adkResult(`[{"metric_name":"m","score":1},"lost"]`):                                                     "overall_eval_metric_results[1]: " + object,
		adkResult(`{"m":1}`):                                                                                    "overall_eval_metric_results: " + list,
		adkResult(`[{"metric_name":"m","score":1}]`):                                                            "",
		adkPair(`{"actual_invocation":["lost"]}`):                                                               pair + "actual_invocation: " + object,
		adkPair(`{"actual_invocation":{"user_content":"lost"}}`):                                                pair + "actual_invocation.user_content: the content has no list of parts",
		adkPair(`{"actual_invocation":{"final_response":{"parts":{"0":{"text":"lost"}}}}}`):                     pair + "actual_invocation.final_response: the content has no list of parts",
		adkPair(`{"expected_invocation":{"final_response":{"parts":[{"text":7}]}}}`):                            pair + "expected_invocation.final_response: the content has a part that is not read",
		adkPair(`{"actual_invocation":{"user_content":{"parts":[{"text":"q"}]},"intermediate_data":["lost"]}}`): pair + "actual_invocation.intermediate_data: " + object,
		adkPair(`{"actual_invocation":{"user_content":{"parts":[{"text":"q"}]},"final_response":null},"expected_invocation":null}`):          "",
		adkCase(`"intermediate_data":{"tool_uses":["lost"]}`):                                                                                "conversation[0].intermediate_data.tool_uses[0]: " + object,
		adkCase(`"final_response":"lost"`):                                                                                                   "conversation[0].final_response: the content has no list of parts",
		adkCase(`"final_response":{"role":"model","parts":[{"text":"a"}]},"intermediate_data":{"tool_uses":[],"intermediate_responses":[]}`): "",
		`[{"query":"q","reference":["lost"]}]`:                                                                                               "reference: expected a string",
		`[{"query":"q","reference":"a","expected_tool_use":["lost"]}]`:                                                                       "expected_tool_use[0]: " + object,
		adkPair(`{"expected_invocation":{"final_response":{"role":"wizard","parts":[{"text":"lost"}]}}}`):                                    pair + `expected_invocation.final_response.role: the content has the role "wizard": want "model"`,
		adkPair(`{"actual_invocation":{"user_content":{"role":"model","parts":[{"text":"q"}]}}}`):                                            pair + `actual_invocation.user_content.role: the content has the role "model": want "user"`,
		adkPair(`{"actual_invocation":{"final_response":{"parts":[{"text":"b"}]}}}`):                                                         "",
		adkCase(`"final_response":{"role":"user","parts":[{"text":"lost"}]}`):                                                                `conversation[0].final_response.role: the content has the role "user": want "model"`,
		adkCase(`"final_response":{"role":["model"],"parts":[{"text":"lost"}]}`):                                                             `conversation[0].final_response.role: the content has the role "[\"model\"]": want "model"`,
		adkCase(`"final_response":{"role":null,"parts":[{"text":"a"}]}`):                                                                     "",
		atifStep(`"metrics":{"cost_usd":{"usd":1}}`):                                                                                         "steps[1].metrics.cost_usd: " + number,
		atifStep(`"metrics":{"cost_usd":"0.5"}`):                                                                                             "steps[1].metrics.cost_usd: " + number,
		atifStep(`"metrics":{"cost_usd":null}`):                                                                                              "",
		atifStep(`"metrics":{"cost_usd":5e-7}`):                                                                                              "",
		atifFinal(`{"total_cost_usd":[0.5]}`):                                                                                                "final_metrics.total_cost_usd: " + number,
		atifFinal(`{"total_cost_usd":0.5}`):                                                                                                  "",
		atifStep(`"thoughts":"lost"`):                                                                                                        "steps[1].thoughts: " + notATIF,
		atifStep(`"reasoning":"lost"`):                                                                                                       "steps[1].reasoning: " + notATIF,
		atifStep(`"reasoning":{"text":"lost"}`):                                                                                              `text that is not read, as "reasoning"`,
		atifStep(`"observations":[{"results":[]}]`):                                                                                          "steps[1].observations: " + notATIF,
		atifStep(`"thoughts":"","reasoning":null,"reasoning_effort":"high","extra":{"thoughts":"x"}`):                                        "",
		promptfoo(`"cost":"0.5"`):                                                                                                            "cost: " + number,
		promptfoo(`"cost":{"usd":0.5}`):                                                                                                      "cost: " + number,
		promptfoo(`"latencyMs":[5]`):                                                                                                         "latencyMs: " + number,
		promptfoo(`"failureReason":"2"`):                                                                                                     "failureReason: " + number,
		promptfoo(`"namedScores":"lost"`):                                                                                                    "namedScores: " + object,
		promptfoo(`"testCase":{"assert":["lost"]}`):                                                                                          "testCase.assert[0]: " + object,
		promptfoo(`"cost":0.5,"latencyMs":7,"failureReason":0,"namedScores":{"a":1},"testCase":{"vars":{},"assert":[{"type":"equals","value":"a"}]}`): "",
		promptfoo(`"cost":null,"namedScores":{},"testCase":null`):                                                                                     "",
		atif(`{"results":[` + result + `,"lost"]}`):                                                                                                   "observation.results[1]: " + object,
		atif(`{"results":[[` + result + `]]}`):                                                                                                        "observation.results[0]: " + object,
		atif(`{"results":{"0":` + result + `}}`):                                                                                                      "observation.results: " + list,
		atif(`"lost"`):                                                                                                                                "observation: " + object,
		atif(`{"output":"lost"}`):                                                                                                                     "the observation has no results",
		atif(`{"results":[` + result + `]}`):                                                                                                          "",
		atif(`{"results":[` + result + `],"extra":{"a":1}}`):                                                                                          "",
		sample(`"output":{"choices":[{"message":{"role":"assistant","content":"a"}},{"message":{"role":"assistant","content":[{"type":"text","text":"lost"}]}}]}`):           "output.choices[1]: the message is not one of the run, and it is not read",
		sample(`"output":{"choices":[{"message":{"role":"assistant","content":"b"}},{"message":{"role":"assistant","content":"a"},"stop_reason":"stop"}],"completion":"b"}`): "",
		sample(`"output":{"choices":[{"message":{"role":"assistant","content":"a","tool_calls":[{"id":"c","function":"f","arguments":{},"type":"function"}]}}]}`):            "output.choices[0]: the message is not one of the run, and it is not read",
		sample(`"output":{"choices":["lost"]}`):                 "output.choices[0]: " + object,
		sample(`"output":{"choices":[]}`):                       "",
		sample(`"scores":"C"`):                                  "scores: " + object,
		sample(`"scores":[{"name":"m","value":"C"}]`):           "scores: " + object,
		sample(`"scores":{"m":"C"}`):                            "scores.m: " + object,
		sample(`"scores":{"m":{"score":"C"}}`):                  `scores.m: the score has no value; it has the members "score"`,
		sample(`"score":0.5`):                                   "score: " + object,
		sample(`"score":{"value":"C"}`):                         "",
		sample(`"scores":{"m":{"value":null},"n":{"value":1}}`): "",
		sample(`"scores":null,"score":null`):                    "",
		tau2(`[{"reward":0.5}]`):                                "reward_info: " + object,
		tau2(`"0.5"`):                                           "reward_info: " + object,
		tau2(`{"reward":0.5,"reward_breakdown":[0.5]}`):         "reward_info.reward_breakdown: " + object,
		tau2(`{"reward":0.5,"reward_breakdown":{"DB":0.5}}`):    "",
		tau2(`{"reward":0.5,"reward_breakdown":null}`):          "",
		tau2(`null`):                         "",
		langfuse(`"0.5"`):                    "scores: " + list,
		langfuse(`[` + score + `,["lost"]]`): "scores[1]: " + object,
		langfuse(`[` + score + `,{"name":"s","score":1}]`):                         `scores[1]: the score has no value; it has the members "name", "score"`,
		langfuse(`[` + score + `,{"name":"s","value":null,"stringValue":"good"}]`): "",
		langfuse(`[]`): "", langfuse(`{}`): "", tau2(`[]`): "", atif(`[]`): "", sample(`"scores":[]`): "", // nothing is lost
		swe(`"lost"`):                  "info: " + object,
		swe(`[{"submission":"lost"}]`): "info: " + object,
		swe(`{"submission":"a","model_stats":{"instance_cost":0.5}}`): "",
		swe(`null`): "",
		swe(`{"model_stats":{"instance_cost":{"usd":1}}}`): "info.model_stats.instance_cost: expected a number",
		rows(`"good":"0.5"`):           noScore,
		rows(`"good":0.5`):             noScore,
		rows(`"good":{"value":0.5}`):   noScore,
		rows(`"good":[0.5,"lost"]`):    noScore,
		rows(`"good":[[0.5]]`):         noScore,
		rows(`"good":[{"value":0.5}]`): noScore,
		rows(`"scores":{"good":0.5}`):  "scores: the column is not",
		rows(`"good":[0.5],"label":["x"],"none":[],"scores":[],"note":"text","extra":null,"empty":{}`):                                               "",
		rows(`"latency":1.5,"promptVersion":3,"version":"2","costDetails":{"total":0.5},"model_parameters":{"a":1},"metadata":{"a":1},"userId":"7"`): "",
		rows(`"totalCost":"0.5"`):       "totalCost: expected a number",
		rows(`"totalCost":{"usd":0.5}`): "totalCost: expected a number",
		rows(`"totalCost":[0.5]`):       "totalCost: expected a number",
		rows(`"totalCost":0.5`):         "",
		rows(`"totalCost":null`):        "",
		strings.Replace(langfuse(`[]`), `"type":`, `"calculatedTotalCost":"0.5","type":`, 1):                                "observations[0].calculatedTotalCost: expected a number",
		ui(`"parts":"[{\"type\":\"tool-invocation\"}]"`):                                                                    `text that is not read, as "parts"`,
		ui(`"parts":{"0":{"type":"text","text":"a"}}`):                                                                      `text that is not read, as "parts"`,
		ui(`"toolInvocations":"[{}]"`):                                                                                      `text that is not read, as "toolInvocations"`,
		ui(`"parts":[{"type":"text","text":"a"},"lost"]`):                                                                   "a part that is not an object",
		ui(uiCall + `,"toolInvocations":[{"state":"result","toolCallId":"c","toolName":"f","args":{ },"result":{"r": 1}}]`): "",
		ui(uiCall + `,"toolInvocations":[{"state":"call","toolCallId":"c","toolName":"f","args":{}}]`):                      noPart,
		ui(uiCall + `,"toolInvocations":[{"state":"call","toolCallId":"d","toolName":"f","args":{}}]`):                      noPart,
		ui(uiCall + `,"toolInvocations":[{"state":"call","toolCallId":"c","toolName":"g","args":{}}]`):                      noPart,
		ui(uiCall + `,"toolInvocations":[{"state":"call","toolCallId":"c","toolName":"f","args":{"x":1}}]`):                 noPart,
		ui(uiCall + `,"toolInvocations":[{"state":"result","toolCallId":"c","toolName":"f","args":{},"result":2}]`):         noPart,
		step(`"reasoning":[{"type":"reasoning","text":"h"}],"reasoningText":"h","toolCalls":[{"type":"tool-call","toolCallId":"a","toolName":"f","input":{ "x": 1}}],"toolResults":[{"type":"tool-result","toolCallId":"a","toolName":"f","output":{"r": 1}},{"type":"tool-result","toolCallId":"p","toolName":"s","output":1,"providerExecuted":true}]`): "",
		step(`"toolCalls":[{"type":"tool-call","toolCallId":"b","toolName":"f","input":{"x":1}}]`):                        "steps[0].toolCalls[0]: " + unlisted,
		step(`"toolCalls":[{"toolCallId":"b","toolName":"f","input":{"x":1}}]`):                                           "steps[0].toolCalls[0]: " + unlisted,
		step(`"toolCalls":[{"type":"tool-call","toolCallId":"a","toolName":"f","input":{"x":2}}]`):                        "steps[0].toolCalls[0]: " + unlisted,
		step(`"dynamicToolCalls":["lost"]`):                                                                               "steps[0].dynamicToolCalls[0]: " + object,
		step(`"toolResults":[{"type":"tool-result","toolCallId":"a","toolName":"f","output":{"r":2}}]`):                   "steps[0].toolResults[0]: " + unlisted,
		step(`"toolResults":[{"type":"tool-result","toolCallId":"s","toolName":"s","output":1,"providerExecuted":true}]`): "steps[0].toolResults[0]: " + unlisted,
		step(`"reasoningText":"lost"`):                           "steps[0].reasoningText: " + unlisted,
		step(`"reasoning":[{"type":"reasoning","text":"lost"}]`): "steps[0].reasoning[0]: " + unlisted,
		sent(`{"role":"assistant","content":"k"},{"role":"assistant","content":[{"type":"text","text":"k"},{"type":"reasoning","text":"h"},{"type":"file","data":"AA==","mediaType":"image/png"},{"type":"tool-call","toolCallId":"a","toolName":"f","input":{"x":1}},{"type":"tool-approval-request","approvalId":"i","toolCallId":"a"}]},` +
			`{"role":"tool","content":[{"type":"tool-result","toolCallId":"a","toolName":"f","output":{"type":"text","value":"for the model"}},{"type":"tool-result","toolCallId":"p","toolName":"s","output":{"type":"json","value":1}}]}`): "",
		sent(`{"role":"assistant","content":"lost"}`):                                                                                   "steps[0].response.messages[0].content: " + unlisted,
		sent(`{"role":"assistant","content":[{"type":"tool-call","toolCallId":"b","toolName":"f","input":{"x":1}}]}`):                   "steps[0].response.messages[0].content[0]: " + unlisted,
		sent(`{"role":"tool","content":[{"type":"tool-result","toolCallId":"b","toolName":"f","output":{"type":"text","value":"x"}}]}`): "steps[0].response.messages[0].content[0]: " + unlisted,
		step(`"tool_calls":[{"name":"g","args":{}}]`):                                                                                   "steps[0].tool_calls: ",
		adk(`[` + event + `,{"author":"a","content":{"role":"model","parts":[{"text":"a"}],"tool_calls":[{"name":"f","args":{}}]}}]`):   "events[1].content.tool_calls: ",
		adkCase(`"final_response":{"role":"model","parts":[{"text":"a"}],"text":"b"}`):                                                  "conversation[0].final_response.text: ",
		adkCase(`"final_response":{"role":"model","parts":[{"text":"a"}],"id":"b"}`):                                                    "",
		`{"trace":{"id":"t","projectId":"p"},"observations":[{"id":"o","traceId":"t","type":"GENERATION","parentObservationId":null,"input":[{"role":"user","parts":[{"text":"q"}],"tool_calls":[{"name":"f","args":{}}]}],"output":"a"}]}`: `a message has parts and the member "tool_calls"`,
		`{"id":"s","task_id":"t","termination_reason":"user_stop","duration":1,"reward_info":null,"messages":[{"role":"user","content":"q"},{"role":"tool","tool_messages":[{"role":"tool","id":"i","content":"r"}],"content":"lost"}]}`:    "messages[1].content: the message has several results",
		sent(`"lost"`): "steps[0].response.messages[0]: " + object,
		`{"finishReason":"stop","text":"k","steps":[{"text":"k","finishReason":"stop"}],"toolCalls":[{"type":"tool-call","toolCallId":"a","toolName":"f","args":{}}]}`:                                                                                                         "toolCalls[0]: " + unlisted,
		`{"finishReason":"stop","text":"k","toolCalls":[{"type":"tool-call","toolCallId":"a","toolName":"f","args":{}}],"response":{"messages":[{"role":"assistant","content":[{"type":"text","text":"k"},{"type":"tool-call","toolCallId":"a","toolName":"f","args":{}}]}]}}`: "",
		`{"finishReason":"stop","text":"k","steps":[{"text":"k","finishReason":"stop"},"lost"]}`:                                                                                                                                                                               "steps[1]: " + object,
		ui(uiCall + `,"toolInvocations":["lost"]`): noPart,
		ui(`"parts":[{"type":"text","text":"a"}],"toolInvocations":[{"state":"result","toolCallId":"c","toolName":"f","args":{},"result":2}]`): noPart,
		ui(`"parts":[]`):                        "",
		ui(`"parts":null,"toolInvocations":[]`): "",
		ui(`"parts":[{"type":"step-start"},{"type":"text","text":"a"}],"annotations":[]`): "",
	} {
		isReported(t, file, file, want)
	}
}

// A method of HTTP in lower case is read. A request with a body and without a method is reported.
func TestMethodsOfRequests(t *testing.T) {
	file := typed(chatURL, chatSent, `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_uses":[{"id":"a"}]},"finish_reason":"stop"}]}`)
	if !strings.Contains(file, `"method":"POST"`) {
		t.Fatal(file)
	}
	for method, want := range map[string]string{"POST": "tool_uses", "post": "tool_uses", "Post": "tool_uses"} {
		isReported(t, method, strings.Replace(file, `"method":"POST"`, `"method":"`+method+`"`, 1), want)
	}
	_, err := importer.Open("file", strings.NewReader(strings.Replace(file, `"method":"POST"`, `"method":""`, 1)))
	if err == nil || !strings.Contains(err.Error(), "interaction 1: the request has a body and no method") {
		t.Errorf("no method: %v", err)
	}
}

// A span, an attribute and a value of OpenTelemetry or OpenInference in another form than theirs is reported.
func TestSpansOfOtherTypesAreReported(t *testing.T) {
	const key = `{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},`
	const text = `{"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"q\"}]}]"}}`
	otlp := func(spans string) string {
		return `{"resourceSpans":[{"scopeSpans":[{"spans":` + spans + `}]}]}`
	}
	span := func(members string) string { return `{"traceId":"1","spanId":"1","name":"chat m",` + members + `}` }
	valid := span(`"attributes":[` + key + text + `]`)
	array := func(value string) string {
		return otlp(`[` + span(`"attributes":[`+key+text+`,{"key":"gen_ai.output.messages","value":`+value+`}]`) + `]`)
	}
	openInference := func(spans string) string {
		return `[{"context":{"trace_id":"1","span_id":"1"},"attributes":{"openinference.span.kind":"LLM","llm.input_messages.0.message.role":"user","llm.input_messages.0.message.content":"q"}}` + spans + `]`
	}
	const message = `{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"role","value":{"stringValue":"assistant"}},{"key":"parts","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"type","value":{"stringValue":"text"}},{"key":"content","value":{"stringValue":"a"}}]}}]}}}]}}]}}`
	const named = `the attribute "gen_ai.output.messages": the `
	for file, want := range map[string]string{
		otlp(`[` + valid + `,"lost"]`):                                                                    "spans[1]: expected an object",
		otlp(`{"0":` + valid + `}`):                                                                       "spans: expected a list",
		`{"resourceSpans":[{"scopeSpans":["lost",{"spans":[` + valid + `]}]}]}`:                           "scopeSpans[0]: expected an object",
		otlp(`[` + valid + `,` + span(`"attributes":{"gen_ai.operation.name":"chat"}`) + `]`):             "attributes: expected a list of attributes",
		otlp(`[` + span(`"attributes":[`+key+text+`,{"value":{"stringValue":"lost"}}]`) + `]`):            "attributes[2]: the attribute has no key",
		otlp(`[` + span(`"attributes":[`+key+text+`],"events":["lost"]`) + `]`):                           "events[0]: expected an object",
		otlp(`[` + span(`"attributes":[`+key+text+`],"events":[{"name":"e","attributes":"lost"}]`) + `]`): "events[0].attributes: expected a list of attributes",
		array(`{"arrayValue":{"vals":["lost"]}}`):                                                         named + "arrayValue has no list of values",
		array(`{"arrayValue":["lost"]}`):                                                                  named + "arrayValue has no list of values",
		array(`{"arrayValue":{"values":[{"kvlistValue":{"items":[]}}]}}`):                                 named + "kvlistValue has no list of values",
		array(message):             "",
		array(`{"arrayValue":{}}`): "",
		otlp(`[` + span(`"attributes":[`+key+text+`,{"key":"a"}],"events":[]`) + `]`): "",
		openInference(``):                     "",
		otlp(`[` + valid + `,` + valid + `]`): "",
		otlp(`[` + valid + `,{"spanId":"1",` + strings.Replace(valid[1:], `"spanId":"1",`, ``, 1) + `]`):                                       "", // in another order
		otlp(`[` + valid + `,` + span(`"endTimeUnixNano":"1","attributes":[`+key+text+`]`) + `]`):                                              `span "1": another span of the trace has the same id and other content`,
		openInference(`,{"context":{"trace_id":"1","span_id":"1"},"attributes":{"openinference.span.kind":"LLM","llm.token_count.prompt":7}}`): `span "1": another span`,
		openInference(`,"lost"`): "the span is not an object",
		openInference(`,{"context":{"trace_id":"1","span_id":"2"},"attributes":"{\"llm\":1}"}`): "the attributes are not an object",
		openInference(`,{"context":{"trace_id":"1","span_id":"2"},"attributes":null}`):          "",
		openInference(`,{"context":{"trace_id":"1","span_id":"2"},"attributes":{}}`):            "",
	} {
		isReported(t, file, file, want)
	}
	const used = `{"key":"gen_ai.usage.input_tokens","value":{"intValue":"7"}}`
	first, second := span(`"attributes":[`+key+text+`,`+used+`]`), span(`"kind":3,"attributes":[`+key+text+`,`+used+`]`)
	for name, spans := range map[string]string{"one": first, "twice": first + "," + first, "with other content": first + "," + second} {
		run := onlyRun(t, otlp("["+spans+"]"))
		if got := run.Resources().Usage.InputTokens; got != 7 {
			t.Errorf("a span, %s: %d input tokens, want 7", name, got)
		}
	}
	const records = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"1","spanId":"1","eventName":"gen_ai.user.message","body":{"kvlistValue":{"values":[{"key":"content","value":{"stringValue":"q"}}]}}},LAST]}]}]}`
	for last, want := range map[string]string{
		`"lost"`: "logRecords[1]: expected an object",
		`{"traceId":"1","spanId":"1","eventName":"gen_ai.assistant.message","body":{"kvlistValue":{"items":[]}}}`:                          "body: the kvlistValue has no list of values",
		`{"traceId":"1","spanId":"1","eventName":"gen_ai.assistant.message","attributes":{"a":1},"body":{"stringValue":"a"}}`:              "attributes: expected a list of attributes",
		`{"traceId":"1","spanId":"1","eventName":"gen_ai.assistant.message","attributes":[],"body":{"stringValue":"{\"content\":\"a\"}"}}`: "",
	} {
		isReported(t, last, strings.Replace(records, "LAST", last, 1), want)
	}
}

// A system prompt, or a part of one, in a form that the protocol does not have is reported, bare and over HTTP.
func TestSystemPromptsOfOtherFormsAreReported(t *testing.T) {
	const turns = `[{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"user","content":"q"}]`
	const blocks = `[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"text":"a"}]},{"role":"user","content":[{"text":"q"}]}]`
	const contents = `[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"a"}]},{"role":"user","parts":[{"text":"q"}]}]`
	const claude = `{"id":"m","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"d"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	const candidate = `{"candidates":[{"content":{"role":"model","parts":[{"text":"b"}]},"finishReason":"STOP"}]}`
	const item = `{"id":"r","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"a","annotations":[]}]}]}`
	for _, c := range []struct{ url, before, after, done, system, want string }{
		{anthropic, `{"model":"c","max_tokens":9,"system":`, `,"messages":` + turns + `}`, claude, `[{"type":"hologram","data":"lost"}]`, "system[0]: the system prompt is not read"},
		{anthropic, `{"model":"c","max_tokens":9,"system":`, `,"messages":` + turns + `}`, claude, `[{"type":"text","text":"s"},{"text":"lost"}]`, "system[1]: the system prompt is not read"},
		{anthropic, `{"model":"c","max_tokens":9,"system":`, `,"messages":` + turns + `}`, claude, `[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]`, ""},
		{anthropic, `{"model":"c","max_tokens":9,"system":`, `,"messages":` + turns + `}`, claude, `"s"`, ""},
		{converse, `{"modelId":"c","inferenceConfig":{},"system":`, `,"messages":` + blocks + `}`, converseDone, `[{"text":"s"},"lost"]`, "system[1]: the system prompt is not read"},
		{converse, `{"modelId":"c","inferenceConfig":{},"system":`, `,"messages":` + blocks + `}`, converseDone, `[{"hologram":"lost"}]`, "system[0]: the system prompt is not read"},
		{converse, `{"modelId":"c","inferenceConfig":{},"system":`, `,"messages":` + blocks + `}`, converseDone, `"lost"`, "system: the system prompt is not read: expected a list of texts"},
		{converse, `{"modelId":"c","inferenceConfig":{},"system":`, `,"messages":` + blocks + `}`, converseDone, `[{"text":"s"},{"cachePoint":{"type":"default"}},{"guardContent":{"text":{"text":"g"}}}]`, ""},
		{responses, `{"model":"m","instructions":`, `,"input":` + turns + `}`, item, `{"text":"lost"}`, "instructions: the system prompt is not read: expected a text"},
		{responses, `{"model":"m","instructions":`, `,"input":` + turns + `}`, item, `"s"`, ""},
		{responses, `{"model":"m","instructions":`, `,"input":` + turns + `}`, item, `null`, ""},
		{gemini, `{"systemInstruction":`, `,"contents":` + contents + `}`, candidate, `{"parts":[{"text":"s"},{"hologram":"lost"}]}`, "systemInstruction.parts[1]: the system prompt is not read"},
		{gemini, `{"systemInstruction":`, `,"contents":` + contents + `}`, candidate, `{"text":"lost"}`, "systemInstruction: the system prompt is not read: expected a list of parts"},
		{gemini, `{"system_instruction":`, `,"contents":` + contents + `}`, candidate, `{"parts":{"text":"s"}}`, ""},
		{gemini, `{"system_instruction":`, `,"contents":` + contents + `}`, candidate, `{"parts":{"hologram":"lost"}}`, "system_instruction.parts[0]: the system prompt is not read"},
		{gemini, `{"system_instruction":`, `,"contents":` + contents + `}`, candidate, `{"role":"user","parts":[{"text":"s"}]}`, ""},
	} {
		isReported(t, "bare, "+c.before+c.system, c.before+c.system+c.after, c.want)
		isReported(t, "over HTTP, "+c.before+c.system, typed(c.url, c.before+c.system+c.after, c.done), c.want)
	}
	for system, want := range map[string]string{`[{"type":"hologram"}]`: "system[0]: the system prompt is not read", `[{"type":"text","text":"s"}]`: "", `"s"`: "", `null`: ""} {
		isReported(t, "with a list of messages, "+system, `{"system":`+system+`,"messages":`+turns+`}`, want)
	}
}

// Reasoning, an id and messages of another type than the protocol has are reported.
func TestMembersOfOtherTypesAreReported(t *testing.T) {
	block := func(block string) string {
		return `[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[` + block + `,{"text":"a"}]}]`
	}
	use := func(id string) string {
		return `{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":` + id + `,"name":"f","input":{}}}]}},"stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":1}}`
	}
	local := func(message string) string {
		return `{"model":"m","message":{"role":"assistant","content":"a",` + message + `},"done":true,"done_reason":"stop"}`
	}
	cohere := func(plan string) string {
		return `{"id":"c","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":"a"}],"tool_plan":` + plan + `}}`
	}
	const cohereURL, notRead = "https://api.cohere.com/v2/chat", `text that is not read, as `
	for file, want := range map[string]string{
		block(`{"reasoningContent":{"reasoningText":"lost"}}`):                       `"converse.reasoningContent"`,
		block(`{"reasoningContent":{"reasoningText":{"text":{"v":"lost"}}}}`):        `"converse.reasoningContent"`,
		block(`{"reasoningContent":{"reasoningText":{"text":"h","signature":"s"}}}`): "",
		block(`{"reasoningContent":{"redactedContent":"AA=="}}`):                     "",
		block(`{"toolResult":{"toolUseId":["x"],"content":[{"text":"lost"}]}}`):      `"converse.toolResult without an id"`,
		use(`{"v":"lost"}`):                         `"converse.toolUse"`,
		typed(converse, converseSent, use(`["x"]`)): `"converse.toolUse"`,
		use(`"a"`):                       "",
		local(`"thinking":{"v":"lost"}`): notRead + `"thinking"`,
		local(`"thinking":"h"`):          "",
		local(`"thinking":null`):         "",
		typed(ollama, chatSent, local(`"thinking":{"v":"lost"}`)): notRead + `"thinking"`,
		cohere(`{"v":"lost"}`): notRead + `"tool_plan"`,
		cohere(`"p"`):          "",
		typed(cohereURL, chatSent, cohere(`{"v":1}`)):                                                                notRead + `"tool_plan"`,
		`[{"role":"user","content":"q"},{"role":"assistant","content":"a","thinking":["lost"]}]`:                     notRead + `"thinking"`,
		`[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning":"h","reasoning_content":"h"}]`: "",
		typed(converse, `{"messages":{"0":{"role":"user","content":[{"text":"lost"}]}}}`, converseDone):              "messages: expected a list of messages",
		typed(converse, `{"messages":"[lost]"}`, converseDone):                                                       "messages: expected a list of messages",
	} {
		isReported(t, file, file, want)
	}
}

// A text of the agent in Codex that only an event has, and an event of an unknown type, are reported.
func TestEventsOfCodexAreReported(t *testing.T) {
	record := func(kind, payload string) string {
		return `{"timestamp":"2026-01-01T00:00:00Z","type":"` + kind + `","payload":` + payload + "}\n"
	}
	said := func(text string) string {
		return record("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"`+text+`"}]}`)
	}
	shown := func(text string) string {
		return record("event_msg", `{"type":"agent_message","message":"`+text+`"}`)
	}
	const noItem = `of the agent, which no item has`
	head := record("session_meta", `{"id":"s"}`) + record("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]}`)
	for rest, want := range map[string]string{
		said("a") + shown("a"):                       "",
		shown("a") + said("a"):                       "", // an event may come first
		said(`one\ntwo [cited]`) + shown(`one\ntwo`): "",
		said("a") + shown(""):                        "",
		record("response_item", `{"type":"message","role":"assistant","content":[]}`) + shown("a"): noItem,
		shown("a"):                             noItem,
		said("a") + shown("a") + shown("lost"): noItem,
		said("a") + record("event_msg", `{"type":"hologram","info":{"total_token_usage":{"input_tokens":1}}}`):                                                  `file:4: the event has the unknown type "hologram"`,
		said("a") + record("event_msg", `{"type":"token_count","info":null,"rate_limits":{}}`):                                                                  "",
		said("a") + record("event_msg", `{"type":"token_count","info":"lost"}`):                                                                                 "payload.info: expected an object",
		said("a") + record("event_msg", `{"type":"token_count","info":[{"total_token_usage":{"input_tokens":1}}]}`):                                             "payload.info: expected an object",
		said("a") + record("event_msg", `"lost"`):                                                                                                               `file:4: the event has the unknown type ""`,
		said("a") + record("event_msg", `{"type":"task_complete","last_agent_message":"a"}`) + record("event_msg", `{"type":"exec_command_end","call_id":"c"}`): "",
	} {
		isReported(t, rest, head+rest, want)
	}
}

// Data in a member that has another name or type, which a reader would take for an empty or another value, is reported.
func TestDataInOtherMembersIsReported(t *testing.T) {
	converse := func(reasoning string) string {
		return `[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"reasoningContent":` + reasoning + `},{"text":"a"}]}]`
	}
	items := func(summary string) string {
		return `[{"role":"user","content":"q"},{"type":"reasoning","id":"r","summary":[` + summary + `]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]`
	}
	langfuse := func(candidates string) string {
		return `[{"id":"o","parentObservationId":null,"traceId":"t","type":"GENERATION","startTime":"2026-01-01T00:00:00Z","input":[{"role":"user","content":"q"}],"output":{"candidates":` + candidates + `}}]`
	}
	ui := func(part string) string {
		return `[{"id":"1","role":"user","content":"q","parts":[{"type":"text","text":"q"}]},{"id":"2","role":"assistant","content":"a","parts":[{"type":"text","text":"a"},` + part + `]}]`
	}
	openInference := func(attribute string) string {
		return `[{"context":{"trace_id":"1","span_id":"1"},"attributes":{"openinference.span.kind":"LLM","llm.input_messages.0.message.role":"user","llm.input_messages.0.message.content":"q","llm.output_messages.0.message.role":"assistant","llm.output_messages.0.message.` + attribute + `}}]`
	}
	otlp := func(scope string) string {
		return `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[{"traceId":"1","spanId":"1","name":"chat m","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"q\"}]}]"}}]}]},` + scope + `]}]}`
	}
	sample := func(usage string) string {
		return inspectLog(`{"id":1,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"model_usage":` + usage + `}`)
	}
	managed := func(agent string) string {
		return `["client.beta.sessions.create",{"agent":` + agent + `,"id":"s1"}]
["client.beta.sessions.events.stream",{"type":"user.message","id":"1","processed_at":"t","content":[{"type":"text","text":"q"}]}]
["client.beta.sessions.events.stream",{"type":"agent.message","id":"2","processed_at":"t","content":[{"type":"text","text":"a"}]}]
`
	}
	langSmith := func(stats string) string {
		return `[{"id":"r","trace_id":"t","run_type":"llm","start_time":"2026-01-01T00:00:00","feedback_stats":` + stats + `,"inputs":{"messages":[{"role":"user","content":"q"}]},"outputs":{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}}]`
	}
	atif := func(agents string) string {
		return `{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a"},"steps":[{"step_id":1,"source":"user","message":"q"},{"step_id":2,"source":"agent","message":"a"}],"subagent_trajectories":` + agents + `}`
	}
	for file, want := range map[string]string{
		managed(`{"name":"a","system":"s"}`):                                                "",
		managed(`{"name":"a","system":["lost"]}`):                                           "agent.system: the system prompt is not read",
		managed(`"lost"`):                                                                   "agent: expected an object",
		langSmith(`{"right":{"avg":0.5,"n":2}}`):                                            "",
		langSmith(`{"right":[0.5]}`):                                                        "feedback_stats: expected an object with the statistics of each score",
		langSmith(`[{"right":{"avg":0.5}}]`):                                                "feedback_stats: expected an object with the statistics of each score",
		atif(`[]`):                                                                          "",
		atif(`{"0":{"lost":1}}`):                                                            "subagent_trajectories: expected a list of objects",
		converse(`{"reasoningText":{"text":"h","signature":"s"}}`):                          "",
		converse(`{"redactedContent":"AA=="}`):                                              "",
		converse(`{"thought":{"text":"lost"}}`):                                             `unknown kind "converse.reasoningContent"`,
		converse(`{"reasoningText":{"value":"lost"}}`):                                      `unknown kind "converse.reasoningContent"`,
		items(`{"type":"summary_text","text":"h"}`):                                         "",
		items(`{"type":"summary_text","value":"lost"}`):                                     "expected a string at summary[0].text",
		items(`{"value":{"type":"summary_text","text":"lost"}}`):                            "expected a string at summary[0].text",
		langfuse(`[{"content":{"parts":[{"text":"a"}]},"finish_reason":"STOP","index":0}]`): "",
		langfuse(`"[{\"content\":{\"parts\":[{\"text\":\"lost\"}]}}]"`):                     "candidates is a string: want a list",
		langfuse(`[{"content":[{"parts":[{"text":"lost"}]}]}]`):                             "candidates[0].content is a list: want an object",
		ui(`{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"c","toolName":"f","args":{},"result":"r"}}`):    "",
		ui(`{"type":"tool-invocation","toolInvocation":"{\"state\":\"result\",\"toolCallId\":\"c\",\"toolName\":\"f\",\"args\":{}}"}`): `unknown kind "ai-sdk.tool-invocation"`,
		openInference(`contents.0.message_content.text":"a","llm.output_messages.0.message.contents.0.message_content.type":"text"`):   "",
		otlp(`{"scope":{},"spans":[]}`):                                        "",
		otlp(`{"value":{"spans":[{}]}}`):                                       `the object has no member "spans"; it has the members "value"`,
		sample(`{"m":{"input_tokens":5,"output_tokens":7,"total_tokens":12}}`): "",
		sample(`{"m":{"input_tokens":"many"}}`):                                "model_usage.m.input_tokens is a string",
	} {
		isReported(t, file, file, want)
	}
	if got := unknownIn(t, openInference(`contents.text":"lost"`)); len(got) == 0 || !strings.Contains(got[0], `it has the members "message.contents.text"`) {
		t.Errorf("an attribute without an index: listed %q", got)
	}
}
