package watch_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/watch"
)

// recordBodies returns the violations of two requests, and the response to the first one, with
// their levels.
func recordBodies(t *testing.T, p protocol.Protocol, path string, bodies [3]string) (found []string) {
	t.Helper()
	var r watch.Recording
	for i, body := range []string{bodies[0], bodies[2]} {
		req, err := p.DecodeRequest(path, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		x := watch.Interaction{Number: i + 1, Protocol: p, Request: req, RequestBody: []byte(body)}
		if i == 0 {
			var acc llm.Accumulator
			if err := p.DecodeResponse([]byte(bodies[1]), func(ev llm.Event) { acc.Add(ev) }); err != nil {
				t.Fatal(err)
			}
			x.Response, x.Body = acc.Response(), []byte(bodies[1])
		}
		violations, err := r.Add(x)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, leveled(violations)...)
	}
	return found
}

// leveled returns violations with their levels.
func leveled(violations []check.Violation) (found []string) {
	for _, v := range violations {
		level := "error"
		if v.Note {
			level = "note"
		}
		found = append(found, fmt.Sprint(level, " ", v.Invariant, " ", v.Event, " ", v.Message))
	}
	return found
}

// What a provider reads as the same is not a violation.
func TestRecordingSame(t *testing.T) {
	for name, c := range map[string]struct {
		p      protocol.Protocol
		path   string
		bodies [3]string
	}{
		"Gemini, a signature in the URL alphabet without padding": {gemini.GenerateContent{}, "/models/gemini-3-pro:generateContent", [3]string{
			`{"contents":[{"role":"user","parts":[{"text":"Go."}]}]}`,
			`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"A+/b+w=="}]},"finishReason":"STOP"}]}`,
			`{"contents":[{"role":"user","parts":[{"text":"Go."}]},{"role":"model","parts":[{"function_call":{"name":"f","args":{}},"thought_signature":"A-_b-w"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]}`,
		}},
		"Anthropic, a signature in the URL alphabet without padding": {anthropic.Messages{}, "/v1/messages", [3]string{
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Go."}]}`,
			`{"type":"message","content":[{"type":"thinking","thinking":"So.","signature":"A+/b+w=="},{"type":"redacted_thinking","data":"+/+/"},{"type":"tool_use","id":"a","name":"f","input":{}}],"role":"assistant","stop_reason":"tool_use"}`,
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"thinking","thinking":"So.","signature":"A-_b-w"},{"type":"redacted_thinking","data":"-_-_"},{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}]}`,
		}},
		"Responses, encrypted content in the standard alphabet": {responses.Protocol{}, "/responses", [3]string{
			`{"model":"m","store":false,"input":[{"role":"user","content":"Go."}]}`,
			`{"object":"response","status":"completed","output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAA-_"},{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}","status":"completed"}]}`,
			`{"model":"m","store":false,"input":[{"role":"user","content":"Go."},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAA+/"},{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}","status":"completed"},{"type":"function_call_output","call_id":"a","output":"1"}]}`,
		}},
		"Gemini, names with underscores and empty members": {gemini.GenerateContent{}, "/models/gemini-3-pro:generateContent", [3]string{
			`{"contents":[{"role":"user","parts":[{"text":"Go."}]}]}`,
			`{"candidates":[{"content":{"role":"model","parts":[{"toolCall":{"id":"s","toolType":"FILE_SEARCH"},"thoughtSignature":"A+/b"},{"text":"Found."}]},"finishReason":"STOP"}]}`,
			`{"contents":[{"role":"user","parts":[{"text":"Go."}]},{"role":"model","parts":[{"toolCall":{"id":"s","tool_type":"FILE_SEARCH","args":{}},"thoughtSignature":"A-_b"},{"text":"Found."}]},{"role":"user","parts":[{"text":"And?"}]}]}`,
		}},
		"Chat Completions, audio without an id": {chat.Protocol{}, "/chat/completions", [3]string{
			`{"model":"m","messages":[{"role":"user","content":"Go."}]}`,
			`{"choices":[{"message":{"role":"assistant","content":"Gone.","audio":{"id":"","data":"","expires_at":0,"transcript":""}},"finish_reason":"stop"}]}`,
			`{"model":"m","messages":[{"role":"user","content":"Go."},{"role":"assistant","content":"Gone."},{"role":"user","content":"And?"}]}`,
		}},
		"Chat Completions, a system message only": {chat.Protocol{}, "/chat/completions", [3]string{
			`{"model":"m","messages":[{"role":"system","content":"You are a potato."}]}`,
			`{"choices":[{"message":{"role":"assistant","content":"I am."},"finish_reason":"stop"}]}`,
			`{"model":"m","messages":[{"role":"system","content":"You are a potato."},{"role":"assistant","content":"I am."},{"role":"user","content":"And?"}]}`,
		}},
		"Anthropic, a response in two messages": {anthropic.Messages{}, "/v1/messages", [3]string{
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Go."}]}`,
			`{"type":"message","content":[{"type":"text","text":"So."},{"type":"tool_use","id":"a","name":"f","input":{}}],"role":"assistant","stop_reason":"tool_use"}`,
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Go."},{"role":"assistant","content":"So."},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}]}`,
		}},
		"Anthropic, a call of the client in a message of its own": {anthropic.Messages{}, "/v1/messages", [3]string{
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Go."}]}`,
			`{"type":"message","content":[{"type":"tool_use","id":"a","name":"f","input":{}}],"role":"assistant","stop_reason":"tool_use"}`,
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"search","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"tool_result","tool_use_id":"b","content":"2"}]}]}`,
		}},
		"Responses, a tool that the client runs within the response": {responses.Protocol{}, "/responses", [3]string{
			`{"model":"m","input":[{"role":"user","content":"Go."}]}`,
			`{"object":"response","status":"completed","output":[{"type":"tool_search_call","id":"tsc_1","call_id":"s","execution":"client","arguments":{"q":1},"status":"completed"}]}`,
			`{"model":"m","input":[{"role":"user","content":"Go."},{"type":"tool_search_call","id":"tsc_1","call_id":"s","execution":"client","arguments":{"q":1},"status":"completed"},{"type":"tool_search_output","call_id":"s","execution":"client","tools":[]}]}`,
		}},
		"Responses, tools of the developer between a call and its output": {responses.Protocol{}, "/responses", [3]string{
			`{"model":"m","input":[{"role":"user","content":"Go."}]}`,
			`{"object":"response","status":"completed","output":[{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}","status":"completed"}]}`,
			`{"model":"m","input":[{"role":"user","content":"Go."},{"type":"function_call","call_id":"a","name":"f","namespace":"f","arguments":"{}"},{"type":"additional_tools","role":"developer","tools":[]},{"type":"function_call_output","call_id":"a","output":"1"}]}`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if found := recordBodies(t, c.p, c.path, c.bodies); found != nil {
				t.Errorf("found %q", found)
			}
		})
	}
}

// Data that a provider verifies is an error if it is changed, or missing where the provider
// requires it. Other changes are notes.
func TestRecordingOpaqueLevels(t *testing.T) {
	const user, called = `{"role":"user","content":"Go."}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}`
	claude := func(thinking string, blocks ...string) string {
		body := `{"model":"m","max_tokens":9` + thinking + `,"messages":[` + user
		for _, b := range blocks {
			body += "," + b
		}
		return body + "]}"
	}
	const enabled = `,"thinking":{"type":"enabled","budget_tokens":2000}`
	thought := `{"type":"message","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"tool_use","id":"a","name":"f","input":{}}],"role":"assistant","stop_reason":"tool_use"}`
	said := func(blocks string) string { return `{"role":"assistant","content":[` + blocks + `]}` }
	const call = `{"type":"tool_use","id":"a","name":"f","input":{}}`

	google := func(model string) string { return "/models/" + model + ":generateContent" }
	content := func(parts, more string) string {
		return `{"contents":[{"role":"user","parts":[{"text":"Go."}]},{"role":"model","parts":[` + parts + `]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}` + more + `]}]}`
	}
	const signed = `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"A+/b+w=="}]},"finishReason":"STOP"}]}`
	const asked, unsigned = `{"contents":[{"role":"user","parts":[{"text":"Go."}]}]}`, `{"functionCall":{"name":"f","args":{}}}`

	reasoned := `{"object":"response","status":"completed","output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAB"},{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}","status":"completed"}]}`
	items := func(list string) string {
		return `{"model":"m","input":[{"role":"user","content":"Go."}` + list + `,{"type":"function_call_output","call_id":"a","output":"1"}]}`
	}
	const question, function = `{"model":"m","input":[{"role":"user","content":"Go."}]}`, `{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}"}`
	const bare = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`

	detailed := `{"choices":[{"message":{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.encrypted","data":"gAAB"}],"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	details := func(members string) string {
		return `{"model":"m","messages":[` + user + `,{"role":"assistant"` + members + `,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"1"}]}`
	}
	const sent = " INV-22 1 the response is sent back with the part "
	for name, c := range map[string]struct {
		p      protocol.Protocol
		path   string
		bodies [3]string
		want   string
	}{
		"Anthropic, another signature": {anthropic.Messages{}, "/v1/messages",
			[3]string{claude(enabled), thought, claude(enabled, said(`{"type":"thinking","thinking":"Hm.","signature":"c2lo"},`+call), called)}, "error" + sent + "reasoning changed"},
		"Anthropic, other thinking with the signature": {anthropic.Messages{}, "/v1/messages",
			[3]string{claude(enabled), thought, claude(enabled, said(`{"type":"thinking","thinking":"Oh.","signature":"c2ln"},`+call), called)}, "error" + sent + "reasoning changed"},
		"Anthropic, thinking after the call": {anthropic.Messages{}, "/v1/messages",
			[3]string{claude(enabled), thought, claude(enabled, said(call+`,{"type":"thinking","thinking":"Hm.","signature":"c2ln"}`), called)}, "error" + sent + "reasoning moved"},
		"Anthropic, no thinking": {anthropic.Messages{}, "/v1/messages",
			[3]string{claude(enabled), thought, claude(enabled, said(call), called)}, "error" + sent + "reasoning missing"},
		"Anthropic, no thinking, which is disabled now": {anthropic.Messages{}, "/v1/messages",
			[3]string{claude(enabled), thought, claude("", said(call), called)}, "note" + sent + "reasoning missing"},
		"Gemini 3, another signature": {gemini.GenerateContent{}, google("gemini-3-pro"),
			[3]string{asked, signed, content(`{"functionCall":{"name":"f","args":{}},"thoughtSignature":"A+/b+g=="}`, "")}, "error" + sent + "tool call loop_call_1 changed"},
		"Gemini 3, no signature": {gemini.GenerateContent{}, google("gemini-3-pro"),
			[3]string{asked, signed, content(unsigned, "")}, "error" + sent + "tool call loop_call_1 without its opaque data"},
		"Gemini 3, no signature before other text of the user": {gemini.GenerateContent{}, google("gemini-3-pro"),
			[3]string{asked, signed, content(unsigned, `,{"text":"And?"}`)}, "note" + sent + "tool call loop_call_1 without its opaque data"},
		"Gemini 3, a value that replaces the signature": {gemini.GenerateContent{}, google("gemini-3-pro"),
			[3]string{asked, signed, content(`{"functionCall":{"name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"}`, "")}, "note" + sent + "tool call loop_call_1 without its opaque data"},
		"Gemini 3, another value that replaces the signature": {gemini.GenerateContent{}, google("gemini-3-pro"),
			[3]string{asked, signed, content(`{"functionCall":{"name":"f","args":{}},"thoughtSignature":"context_engineering_is_the_way_to_go"}`, "")}, "note" + sent + "tool call loop_call_1 without its opaque data"},
		"Gemini 2.5, no signature": {gemini.GenerateContent{}, google("gemini-2.5-pro"),
			[3]string{asked, signed, content(unsigned, "")}, "note" + sent + "tool call loop_call_1 without its opaque data"},
		"Responses, other encrypted content": {responses.Protocol{}, "/responses",
			[3]string{question, reasoned, items(`,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAC"},` + function)}, "error" + sent + "reasoning changed"},
		"Responses, the same encrypted content without its id": {responses.Protocol{}, "/responses",
			[3]string{question, reasoned, items(`,{"type":"reasoning","summary":[],"encrypted_content":"gAAB"},` + function)}, ""},
		"Responses, other encrypted content without its id": {responses.Protocol{}, "/responses",
			[3]string{question, reasoned, items(`,{"type":"reasoning","summary":[],"encrypted_content":"gAAC"},` + function)}, "error" + sent + "reasoning changed"},
		"Responses, a call with its id and without its reasoning": {responses.Protocol{}, "/responses",
			[3]string{question, reasoned, items("," + function)}, "error" + sent + "reasoning missing"},
		"Responses, a call without its id and its reasoning": {responses.Protocol{}, "/responses",
			[3]string{question, reasoned, items("," + bare)}, "note" + sent + "reasoning missing"},
		"Responses, reasoning after its call": {responses.Protocol{}, "/responses",
			[3]string{question, reasoned, items("," + function + `,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAB"}`)}, "error" + sent + "reasoning moved"},
		"OpenRouter, other data": {chat.Protocol{}, "/chat/completions",
			[3]string{`{"model":"m","messages":[` + user + `]}`, detailed, details(`,"reasoning_details":[{"type":"reasoning.encrypted","data":"gAAC"}]`)}, "error" + sent + "reasoning changed"},
		"OpenRouter, no data": {chat.Protocol{}, "/chat/completions",
			[3]string{`{"model":"m","messages":[` + user + `]}`, detailed, details("")}, "note" + sent + "reasoning missing"},
	} {
		t.Run(name, func(t *testing.T) {
			want := []string{c.want + " (in interaction 2)"}
			if c.want == "" {
				want = nil
			}
			if diff := cmp.Diff(want, recordBodies(t, c.p, c.path, c.bodies)); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

// A client that continues a conversation in another protocol cannot send opaque data back. It can
// send the rest back.
func TestRecordingOtherProtocol(t *testing.T) {
	hi := []llm.Message{llm.User("hi")}
	first := watch.Interaction{Number: 1, Protocol: responses.Protocol{}, Request: &llm.Request{Model: "m", Messages: hi}, Response: &llm.Response{
		Parts: []llm.Part{llm.Reasoning{Opaque: raw(`{"id":"rs_1","encrypted_content":"gAAB"}`)}, llm.Text{Text: "hello", Opaque: raw(`{"id":"msg_1"}`)}, call("a")},
	}}
	for text, want := range map[string]int{"hello": 0, "goodbye": 1} {
		var r watch.Recording
		if _, err := r.Add(first); err != nil {
			t.Fatal(err)
		}
		found, err := r.Add(watch.Interaction{Number: 2, Protocol: chat.Protocol{}, Request: &llm.Request{Model: "m", Messages: then(hi, llm.Assistant(llm.Text{Text: text}, call("a")), result("a"))}})
		if err != nil || len(found) != want || want > 0 && found[0].Invariant != "INV-05" {
			t.Errorf("%q is sent back: found %v; %v; want %d violations of INV-05", text, found, err, want)
		}
	}
}

// A client may send back encrypted content that a later event of the stream replaces, and no
// other content.
func TestRecordingSuperseded(t *testing.T) {
	reasoning := func(content string) llm.Part {
		return llm.Reasoning{Opaque: raw(`{"id":"rs_1","summary":[],"encrypted_content":"` + content + `"}`)}
	}
	hi := []llm.Message{llm.User("hi")}
	for sent, want := range map[string]int{"gAA1": 0, "gAA2": 0, "gAA3": 1} {
		var r watch.Recording
		extra := map[string]json.RawMessage{"store": raw("null")}
		body := `data: {"item":{"id":"rs_1","encrypted_content":"gAA1"}}` + "\n" + `data: {"item":{"id":"rs_1","encrypted_content":"gAA2"}}`
		first := watch.Interaction{Number: 1, Protocol: responses.Protocol{}, Request: &llm.Request{Messages: hi, Extra: extra}, Response: &llm.Response{Parts: []llm.Part{reasoning("gAA2"), call("a")}}, Body: []byte(body)}
		next := watch.Interaction{Number: 2, Protocol: responses.Protocol{}, Request: &llm.Request{Messages: then(hi, llm.Assistant(reasoning(sent), call("a")), result("a")), Extra: extra}}
		if _, err := r.Add(first); err != nil {
			t.Fatal(err)
		}
		found, err := r.Add(next)
		if err != nil || len(found) != want {
			t.Errorf("%s is sent: found %v; %v; want %d violations", sent, found, err, want)
		}
	}
}

// Content that is an empty text is no missing content. What a provider rejects is an error.
func TestEmptyContent(t *testing.T) {
	t.Parallel()
	const none = `INV-24 0 message 0 has no content`
	for _, c := range []struct {
		p          protocol.Protocol
		path, body string
		want       []string
	}{
		{chat.Protocol{}, "/chat/completions", `{"messages":[{"role":"user","content":""}]}`, nil},
		{chat.Protocol{}, "/chat/completions", `{"messages":[{"role":"user","content":[]}]}`, nil},
		{chat.Protocol{}, "/chat/completions", `{"messages":[{"role":"system","content":""},{"role":"user","content":"a"}]}`, nil},
		{chat.Protocol{}, "/chat/completions", `{"messages":[{"role":"developer","content":""},{"role":"user","content":"a"}]}`, nil},
		{chat.Protocol{}, "/chat/completions", `{"messages":[{"role":"user","content":null}]}`, []string{"error " + none}},
		{chat.Protocol{}, "/chat/completions", `{"messages":[{"role":"user"}]}`, []string{"error " + none}},
		{chat.Protocol{}, "/chat/completions", `{"messages":[{"role":"system","content":null}]}`, []string{"error " + none}},
		{responses.Protocol{}, "/responses", `{"input":[{"role":"user","content":""}]}`, nil},
		{responses.Protocol{}, "/responses", `{"input":""}`, nil},
		{responses.Protocol{}, "/responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":""}]}]}`, nil},
		{responses.Protocol{}, "/responses", `{"input":[{"role":"user","content":[]}]}`, []string{"note " + none}},
		{anthropic.Messages{}, "/v1/messages", `{"max_tokens":9,"messages":[{"role":"user","content":""}]}`, []string{"error " + none}},
		{anthropic.Messages{}, "/v1/messages", `{"max_tokens":9,"messages":[{"role":"user","content":[]}]}`, []string{"error " + none}},
		{gemini.GenerateContent{}, "/models/g:generateContent", `{"contents":[{"role":"user","parts":[]}]}`, []string{"error " + none}},
		{gemini.GenerateContent{}, "/models/g:generateContent", `{"contents":[{"role":"user","parts":[{"text":""}]}]}`, []string{"error " + none}}, // "it has an empty text parameter" (obsidian-smart-composer#218)
	} {
		req, err := c.p.DecodeRequest(c.path, []byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		var r watch.Recording
		violations, err := r.Add(watch.Interaction{Number: 1, Protocol: c.p, Request: req, RequestBody: []byte(c.body)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, leveled(violations)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.p.Name(), c.body, diff)
		}
	}
}
