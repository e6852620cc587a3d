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
	const event = `{"author":"user","content":{"role":"user","parts":[{"text":"q"}]}}`
	atif := func(observation string) string {
		return `{"schema_version":"ATIF-v1.5","session_id":"s","agent":{"name":"a"},"steps":[{"step_id":1,"source":"user","message":"q"},{"step_id":2,"source":"agent","message":"a","tool_calls":[{"tool_call_id":"i","function_name":"f","arguments":{}}],"observation":` + observation + `}]}`
	}
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
	ui := func(members string) string {
		return `[{"id":"1","role":"user","content":"q","parts":[{"type":"text","text":"q"}]},{"id":"2","role":"assistant","content":"a",` + members + `}]`
	}
	const object, list = "expected an object", "expected a list"
	for file, want := range map[string]string{
		adk(`[` + event + `,"lost"]`):                           "events[1]: " + object,
		adk(`[` + event + `,[{"author":"x"}]]`):                 "events[1]: " + object,
		adk(`[` + event + `,{"role":"user","lost":1}]`):         `events[1]: the event has no author, no content and no actions; it has the members "role", "lost"`,
		adk(`{"0":` + event + `}`):                              "events: " + list,
		adk(`[` + event + `,{"author":"a","error_code":"X"}]`):  "",
		adk(`[` + event + `,{"actions":{"state_delta":{}}}]`):   "",
		adkResult(`[{"metric_name":"m","score":1},"lost"]`):     "overall_eval_metric_results[1]: " + object,
		adkResult(`{"m":1}`):                                    "overall_eval_metric_results: " + list,
		adkResult(`[{"metric_name":"m","score":1}]`):            "",
		atif(`{"results":[` + result + `,"lost"]}`):             "observation.results[1]: " + object,
		atif(`{"results":[[` + result + `]]}`):                  "observation.results[0]: " + object,
		atif(`{"results":{"0":` + result + `}}`):                "observation.results: " + list,
		atif(`"lost"`):                                          "observation: " + object,
		atif(`{"output":"lost"}`):                               "the observation has no results",
		atif(`{"results":[` + result + `]}`):                    "",
		atif(`{"results":[` + result + `],"extra":{"a":1}}`):    "",
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
		ui(`"parts":"[{\"type\":\"tool-invocation\"}]"`):  `text that is not read, as "parts"`,
		ui(`"parts":{"0":{"type":"text","text":"a"}}`):    `text that is not read, as "parts"`,
		ui(`"toolInvocations":"[{}]"`):                    `text that is not read, as "toolInvocations"`,
		ui(`"parts":[{"type":"text","text":"a"},"lost"]`): "a part that is not an object",
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
