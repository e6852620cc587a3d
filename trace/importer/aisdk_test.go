package importer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/check"
)

func TestModelMessages(t *testing.T) {
	in := `[
{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","image":"AAAA","mediaType":"image/png"},{"type":"image","image":"https://a.b/c.png"},
 {"type":"file","data":"data:text/plain;base64,eA==","filename":"x.txt","mimeType":"x/y","providerOptions":{}},{"type":"file","file":{"file_id":"f"}},{"type":"image","source":{}}]},
{"role":"assistant","content":[{"type":"reasoning","text":"hm"},{"type":"tool-call","toolCallId":"c1","toolName":"f","input":{}},{"type":"tool-approval-request","approvalId":"a"}]},
{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","toolName":"f","output":{"type":"text","value":"x"}}]},
{"role":"tool","content":[{"type":"tool-result","toolCallId":"c2","output":{"type":"json","value":{"r": 1}}},{"type":"tool-result","toolCallId":"c3","output":{"type":"error-text","value":"bad"}},
 {"type":"tool-result","toolCallId":"c4","output":{"type":"error-json","value":[1]}},{"type":"tool-result","toolCallId":"c5","output":{"type":"execution-denied","reason":"no"}},{"type":"tool-result","toolCallId":"c6","output":{"type":"execution-denied"}}]},
{"role":"tool","content":[{"type":"tool-result","toolCallId":"c7","output":{"type":"content","value":[{"type":"text","text":"t"},{"type":"media","data":"AAAA","mediaType":"image/png"},{"type":"file-id","fileId":"f"}]}},
 {"type":"tool-result","toolCallId":"c8","result":{"type":"text","value":"of version 4"},"isError":true},{"type":"tool-result","toolCallId":"c9","output":"raw"},{"type":"tool-result","toolCallId":"c10","output":{"type":"other"}}]}
]`
	want := []string{
		`{"role":"user","parts":[{"type":"text","text":"look"},{"type":"media","media_type":"image/png","data":"AAAA"},{"type":"media","media_type":"","url":"https://a.b/c.png"},` +
			`{"type":"media","media_type":"text/plain","name":"x.txt","data":"eA==","opaque":{"providerOptions":{}}},{"type":"openai.file","value":{"type":"file","file":{"file_id":"f"}}},{"type":"openai.image","value":{"type":"image","source":{}}}]}`,
		`{"role":"assistant","parts":[{"type":"reasoning","text":"hm"},{"type":"tool_call","id":"c1","name":"f","arguments":"{}"},{"type":"openai.tool-approval-request","value":{"type":"tool-approval-request","approvalId":"a"}}]}`,
		`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","name":"f","content":[{"type":"text","text":"x"}]}]}`,
		`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c2","content":[{"type":"text","text":"{\"r\": 1}"}]},{"type":"tool_result","tool_call_id":"c3","content":[{"type":"text","text":"bad"}],"is_error":true},` +
			`{"type":"tool_result","tool_call_id":"c4","content":[{"type":"text","text":"[1]"}],"is_error":true},{"type":"tool_result","tool_call_id":"c5","content":[{"type":"text","text":"no"}],"is_error":true},{"type":"tool_result","tool_call_id":"c6","content":[{"type":"text","text":"Tool execution denied."}],"is_error":true}]}`,
		`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c7","content":[{"type":"text","text":"t"},{"type":"media","media_type":"image/png","data":"AAAA"},{"type":"ai-sdk.file-id","value":{"type":"file-id","fileId":"f"}}]},` +
			`{"type":"tool_result","tool_call_id":"c8","content":[{"type":"text","text":"{\"type\":\"text\",\"value\":\"of version 4\"}"}],"is_error":true,"opaque":{"isError":true}},{"type":"tool_result","tool_call_id":"c9","content":[{"type":"text","text":"raw"}]},{"type":"tool_result","tool_call_id":"c10","content":[{"type":"text","text":"{\"type\":\"other\"}"}]}]}`,
	}
	if diff := cmp.Diff(want, ownJSON(t, strings.NewReader(in))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// The messages of each case are on one line.
func TestUIMessages(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"version 5": {
			`{"id":"m1","role":"user","parts":[{"type":"text","text":"look","state":"done"},{"type":"file","mediaType":"image/png","filename":"a.png","url":"data:image/png;base64,AAAA"}]}` + "\n" +
				`{"id":"m2","role":"assistant","metadata":{"x":1},"parts":[{"type":"step-start"},{"type":"reasoning","text":"hm"},{"type":"text","text":"so"},` +
				`{"type":"tool-get-weather","toolCallId":"c1","state":"output-available","input":{"c": 1},"output":{"r": 2}},` +
				`{"type":"dynamic-tool","toolName":"g","toolCallId":"c2","state":"output-error","rawInput":"{","errorText":"bad"},` +
				`{"type":"tool-call","toolCallId":"c3","state":"output-denied","input":{},"approval":{"id":"a","approved":false,"reason":"no"}},` +
				`{"type":"tool-call","toolCallId":"c4","state":"output-denied","input":{},"approval":{"id":"a","approved":false}},{"type":"step-start"},` +
				`{"type":"source-url","url":"u"},{"type":"tool-h","toolCallId":"c5","state":"input-available","input":{},"providerExecuted":true},{"type":"step-start"},{"type":"text","text":"yo"},{"type":"data-x","data":7}]}`,
			[]string{
				`{"role":"user","parts":[{"type":"text","text":"look","opaque":{"state":"done"}},{"type":"media","media_type":"image/png","name":"a.png","data":"AAAA"}],"opaque":{"id":"m1"}}`,
				`{"role":"assistant","parts":[{"type":"reasoning","text":"hm"},{"type":"text","text":"so"},{"type":"tool_call","id":"c1","name":"get-weather","arguments":"{\"c\": 1}","opaque":{"state":"output-available"}},` +
					`{"type":"tool_call","id":"c2","name":"g","arguments":"{","opaque":{"state":"output-error"}},{"type":"tool_call","id":"c3","name":"call","arguments":"{}","opaque":{"state":"output-denied","approval":{"id":"a","approved":false,"reason":"no"}}},` +
					`{"type":"tool_call","id":"c4","name":"call","arguments":"{}","opaque":{"state":"output-denied","approval":{"id":"a","approved":false}}}],"opaque":{"id":"m2","metadata":{"x":1}}}`,
				`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","name":"get-weather","content":[{"type":"text","text":"{\"r\": 2}"}]},{"type":"tool_result","tool_call_id":"c2","name":"g","content":[{"type":"text","text":"bad"}],"is_error":true},` +
					`{"type":"tool_result","tool_call_id":"c3","name":"call","content":[{"type":"text","text":"no"}],"is_error":true},{"type":"tool_result","tool_call_id":"c4","name":"call","content":[{"type":"text","text":"Tool execution denied."}],"is_error":true}]}`,
				`{"role":"assistant","parts":[{"type":"ai-sdk.source-url","value":{"type":"source-url","url":"u"}},{"type":"tool_call","id":"c5","name":"h","arguments":"{}","provider_executed":true,"opaque":{"state":"input-available"}}]}`,
				`{"role":"assistant","parts":[{"type":"text","text":"yo"},{"type":"ai-sdk.data-x","value":{"type":"data-x","data":7}}]}`,
			},
		},
		"version 4": {
			`{"id":"m1","role":"assistant","content":"soyo","reasoning":"hm","createdAt":"t","parts":[{"type":"step-start"},{"type":"reasoning","reasoning":"hm","details":[]},{"type":"text","text":"so"},` +
				`{"type":"tool-invocation","toolInvocation":{"state":"result","step":0,"toolCallId":"c1","toolName":"f","args":{},"result":"r"}},{"type":"step-start"},{"type":"text","text":"yo"},{"type":"file","mimeType":"image/png","data":"AAAA"}],` +
				`"toolInvocations":[{"state":"result","step":0,"toolCallId":"c1","toolName":"f","args":{},"result":"r"}],"revisionId":"v"}`,
			[]string{
				`{"role":"assistant","parts":[{"type":"reasoning","text":"hm","opaque":{"details":[]}},{"type":"text","text":"so"},{"type":"tool_call","id":"c1","name":"f","arguments":"{}","opaque":{"state":"result","step":0}}],"opaque":{"id":"m1","createdAt":"t","revisionId":"v"}}`,
				`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","name":"f","content":[{"type":"text","text":"r"}]}]}`,
				`{"role":"assistant","parts":[{"type":"text","text":"yo"},{"type":"media","media_type":"image/png","data":"AAAA"}]}`,
			},
		},
		"version 4, with other texts": {
			`{"role":"assistant","content":"x","reasoning":"y","parts":[{"type":"text","text":"yo"}]}`,
			[]string{
				`{"role":"assistant","parts":[{"type":"text","text":"yo"}]}`,
				`{"role":"assistant","parts":[{"type":"reasoning","text":"y"},{"type":"text","text":"x"}]}`,
			},
		},
		"version 4, with an empty text": {
			`{"role":"assistant","content":"","parts":[{"type":"text","text":"yo"}]}`,
			[]string{`{"role":"assistant","parts":[{"type":"text","text":"yo"}]}`},
		},
		"version 4, without parts": {
			`{"role":"assistant","content":"yo","toolInvocations":[{"state":"result","toolCallId":"c1","toolName":"f","args":{},"result":1},{"state":"partial-call","step":1,"toolCallId":"c2","toolName":"g","args":{}}]}` + "\n" +
				`{"role":"assistant","content":"","toolInvocations":[]}`,
			[]string{
				`{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":"{}","opaque":{"state":"result"}}]}`,
				`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","name":"f","content":[{"type":"text","text":"1"}]}]}`,
				`{"role":"assistant","parts":[{"type":"tool_call","id":"c2","name":"g","arguments":"{}","opaque":{"state":"partial-call","step":1}}]}`,
				`{"role":"assistant","parts":[{"type":"text","text":"yo"}]}`,
				`{"role":"assistant","parts":[]}`,
			},
		},
		"parts of others": {
			`{"role":"user","parts":[{"text":"of Gemini"}]}` + "\n" + `{"role":"user","content":"x","parts":"y"}` + "\n" + `{"role":"user","parts":[]}`,
			[]string{
				`{"role":"user","parts":[{"type":"text","text":"of Gemini"}]}`,
				`{"role":"user","parts":[{"type":"text","text":"x"}],"opaque":{"parts":"y"}}`,
				`{"role":"user","parts":[],"opaque":{"parts":[]}}`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			list := "[" + strings.ReplaceAll(c.in, "\n", ",") + "]"
			for way, in := range map[string]string{"a list": list, "a chat": `{"id":"a","messages":` + list + `}`, "a message a line": c.in} {
				if diff := cmp.Diff(c.want, ownJSON(t, strings.NewReader(in))); diff != "" {
					t.Errorf("%s: messages (-want +got):\n%s", way, diff)
				}
			}
		})
	}
}

// The AI SDK sends the result of a tool that the provider runs as content of the assistant.
func TestProviderExecutedResults(t *testing.T) {
	part := func(kind, members string) string {
		return `[{"role":"user","content":"q"},{"role":"assistant","parts":[{"type":"` + kind + `","toolCallId":"c1","providerExecuted":true,"input":{},` + members + `},{"type":"text","text":"d"}]}]`
	}
	const unknown = `{"type":"server_tool_call_response","value":`
	step := func(of, result string) string {
		call := `{"type":"tool-call","toolCallId":"c1","toolName":"s","input":{},"providerExecuted":true}`
		if of == "content" {
			return `{"finishReason":"stop","steps":[{"finishReason":"stop","content":[` + call + `,` + result + `]}]}`
		}
		return `{"finishReason":"stop","steps":[{"finishReason":"stop","toolCalls":[` + call + `],"toolResults":[` + result + `]}]}`
	}
	result := `{"type":"tool-result","toolCallId":"c1","toolName":"s","input":{},"output":1,"providerExecuted":true}`
	failed := `{"type":"tool-error","toolCallId":"c1","toolName":"s","input":{},"error":"e","providerExecuted":true}`
	for name, c := range map[string]struct{ in, want string }{
		"output":       {part("tool-s", `"state":"output-available","output":{"a": 1}`), unknown + `{"toolCallId":"c1","output":{"a":1}}}`},
		"error":        {part("tool-s", `"state":"output-error","errorText":"e"`), unknown + `{"toolCallId":"c1","output":"e"}}`},
		"dynamic tool": {part("dynamic-tool", `"toolName":"s","state":"output-available","output":"x"`), unknown + `{"toolCallId":"c1","output":"x"}}`},
		"denied":       {part("tool-s", `"state":"output-denied","approval":{"id":"a","approved":false}`), `"approved":false`},
		"no result":    {part("tool-s", `"state":"input-available"`), `"provider_executed":true`},
		"step":         {step("content", result), unknown + result + `}`},
		"failed step":  {step("content", failed), unknown + failed + `}`},
		"older step":   {step("toolCalls", result), unknown + result + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			run := onlyRun(t, c.in)
			if own := strings.Join(ownJSON(t, strings.NewReader(c.in)), "\n"); !strings.Contains(own, c.want) || strings.Contains(own, `"tool_result"`) || len(run.Unknown) > 0 {
				t.Errorf("messages %s with %v, want %s, no result of the client and everything understood", own, run.Unknown, c.want)
			}
			var list check.List
			list.Add(run.Messages...)
			if found := list.Done(); len(found) > 0 {
				t.Errorf("violations %+v, want none", found)
			}
		})
	}
}

// A file that the model made is in a result as the SDK's own class writes it.
func TestGeneratedFile(t *testing.T) {
	in := `{"steps":[{"finishReason":"stop","content":[{"type":"file","file":{"base64Data":"AAAA","mediaType":"image/png"}},{"type":"file","file":{"base64":"AAAA","mimeType":"image/gif"}},{"type":"file","file":{}},{"type":"file"}]}]}`
	want := []string{`{"role":"assistant","parts":[{"type":"media","media_type":"image/png","data":"AAAA"},{"type":"media","media_type":"image/gif","data":"AAAA"},{"type":"ai-sdk.file","value":{"type":"file","file":{}}},{"type":"ai-sdk.file","value":{"type":"file"}}]}`}
	if diff := cmp.Diff(want, ownJSON(t, strings.NewReader(in))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestGeneratedStep(t *testing.T) {
	in := `{"prompt":"hi","text":"yo","toolCalls":[{"type":"tool-call","toolCallId":"c1","toolName":"f","args":{}}],"toolResults":[{"type":"tool-result","toolCallId":"c1","toolName":"f","result":1}],"finishReason":"stop"}`
	want := []string{
		`{"role":"user","parts":[{"type":"text","text":"hi"}]}`,
		`{"role":"assistant","parts":[{"type":"text","text":"yo"},{"type":"tool_call","id":"c1","name":"f","arguments":"{}"}]}`,
		`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","name":"f","content":[{"type":"text","text":"1"}]}]}`,
	}
	if diff := cmp.Diff(want, ownJSON(t, strings.NewReader(in))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// aiSDKSeeds are seeds of FuzzFormats.
var aiSDKSeeds = []string{
	`[{"role":"assistant","parts":[{"type":"step-start"},{"type":"tool-f","toolCallId":"c","state":"output-available","input":{},"output":1},{"type":"step-start"},{"type":"text","text":"x"}]}]`,
	`[{"role":"assistant","content":"x","reasoning":"y","toolInvocations":[{"state":"result","toolCallId":"c","toolName":"f","args":{},"result":1,"step":1}]}]`,
	`[{"role":"assistant","content":"x","parts":[{"type":"tool-invocation","toolInvocation":{"state":"call","toolCallId":"c"}},{"type":"reasoning","reasoning":"y"},{"type":"file","url":"data:a/b;base64,AA=="}]}]`,
	`[{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","output":{"type":"content","value":[{"type":"media","data":"AAAA"}]}}]}]`,
	`{"text":"x","toolCalls":[],"toolResults":[{"type":"tool-result","toolCallId":"c","result":1}],"finishReason":"stop"}`,
}

// The answers to approval requests, in a message with results or in another one, are no results.
func TestApprovalResponses(t *testing.T) {
	const answer = `{"type":"tool-approval-response","approvalId":"p","approved":true}`
	const result = `{"type":"tool-result","toolCallId":"a","toolName":"f","output":{"type":"text","value":"x"}}`
	for _, tool := range []string{answer + "," + result, result + "," + answer, answer + `]},{"role":"tool","content":[` + result} {
		in := `[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"f","input":{}},{"type":"tool-approval-request","approvalId":"p","toolCallId":"a"}]},{"role":"tool","content":[` + tool + `]},{"role":"assistant","content":"done"}]`
		_, runs, failed, unknown := readAll(t, "file", []byte(in))
		if failed != nil || unknown != nil || len(runs) != 1 {
			t.Fatalf("%s: %d runs, errors %v %v", tool, len(runs), failed, unknown)
		}
		if found := check.Messages("r", runs[0].Messages); found != nil {
			t.Errorf("%s: found %v", tool, found)
		}
	}
	in := `[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"f","input":{}},{"type":"tool-approval-request","approvalId":"p","toolCallId":"a"}]},{"role":"tool","content":[` + answer + `]},{"role":"user","content":"hi"}]`
	if _, runs, _, _ := readAll(t, "file", []byte(in)); len(check.Messages("r", runs[0].Messages)) != 1 {
		t.Error("want a violation for an approved call without a result")
	}
}
