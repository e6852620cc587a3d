package meaning_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/conformance/meaning"
)

// TestOf checks which bodies are equal after normalization, and which are not.
func TestOf(t *testing.T) {
	const chat, responses, anthropic, gemini = "openai-chat", "openai-responses", "anthropic-messages", "gemini"
	for _, c := range []struct {
		protocol, a, b string
		equal          bool
	}{
		{chat, `{"tool_choice":"auto","stream":false}`, `{}`, true},
		{chat, `{"tool_choice":"none"}`, `{}`, false},
		{chat, `{"stream":true}`, `{}`, false},
		{chat, `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`, `{"messages":[{"role":"user","content":"x"}]}`, true},
		{chat, `{"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{}}]}]}`, `{"messages":[{"role":"user","content":"x"}]}`, false},
		{chat, `{"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"x"}]}]}`, `{"messages":[{"role":"user","content":"x"}]}`, false},
		{chat, `{"messages":[{"content":null,"tool_calls":[]},{"content":"","tool_calls":[]}]}`, `{"messages":[{"tool_calls":[]},{"tool_calls":[]}]}`, true},
		{chat, `{"messages":[{"content":"x","tool_calls":[]}]}`, `{"messages":[{"tool_calls":[]}]}`, false},
		{chat, `{"messages":[{"content":null}]}`, `{"messages":[{}]}`, false},
		{chat, `{"messages":[{"content":"","refusal":"no"}],"stop":"END"}`, `{"messages":[{"refusal":"no"}],"stop":["END"]}`, true},
		{chat, `{"messages":[{"tool_calls":[{"index":0},{"index":1}]}]}`, `{"messages":[{"tool_calls":[{},{}]}]}`, true},
		{chat, `{"messages":[{"tool_calls":[{"index":1}]}]}`, `{"messages":[{"tool_calls":[{}]}]}`, false},
		{responses, `{"input":"x"}`, `{"input":[{"role":"user","content":"x"}]}`, true},
		{chat, `{"seed":1}`, `{"seed":1.0}`, false},
		{responses, `{"tool_choice":"auto","input":[{"type":"message","content":[{"type":"input_text","text":"x"}]}]}`, `{"input":[{"content":"x"}]}`, true},
		{responses, `{"input":[{"role":"assistant","status":"completed","content":[{"type":"output_text","text":"x","annotations":[],"logprobs":[]}]},{"type":"reasoning","content":[]}]}`,
			`{"input":[{"role":"assistant","content":"x"},{"type":"reasoning"}]}`, true},
		{responses, `{"input":[{"status":"incomplete"}]}`, `{"input":[{}]}`, false},
		{responses, `{"input":[{"content":[{"type":"output_text","text":"x","annotations":[1]}]}]}`, `{"input":[{"content":"x"}]}`, false},
		{responses, `{"input":[{"type":"reasoning"}]}`, `{"input":[{}]}`, false},
		{responses, `{"text":{"format":{"strict":false}}}`, `{"text":{"format":{}}}`, true},
		{responses, `{"text":{"format":{"strict":true}}}`, `{"text":{"format":{}}}`, false},
		{anthropic, `{"tool_choice":{"type":"auto"},"system":[{"type":"text","text":"x"}]}`, `{"system":"x"}`, true},
		{anthropic, `{"messages":[{"content":[{"is_error":false},{"caller":{"type":"direct"}}]}]}`, `{"messages":[{"content":[{},{}]}]}`, true},
		{anthropic, `{"messages":[{"role":"user","content":[1]},{"role":"user","content":[2]},{"role":"user","content":[3]}]}`, `{"messages":[{"role":"user","content":[1,2,3]}]}`, true},
		{anthropic, `{"messages":[{"role":"user","content":[1]},{"role":"assistant","content":[2]}]}`, `{"messages":[{"role":"user","content":[1,2]}]}`, false},
		{anthropic, `{"messages":[{"content":[{"is_error":true}]}]}`, `{"messages":[{"content":[{}]}]}`, false},
		{anthropic, `{"messages":[{"content":[{"caller":{"type":"code"}}]}]}`, `{"messages":[{"content":[{}]}]}`, false},
		{anthropic, `{"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`, `{}`, false},
		{gemini, `{"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"generationConfig":{},"systemInstruction":{"role":"user","parts":[]}}`, `{"systemInstruction":{"parts":[]}}`, true},
		{gemini, `{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`, `{}`, false},
		{gemini, `{"contents":[{"parts":[{"functionCall":{"name":"f"}},{"functionResponse":{"name":"f"}},{"thoughtSignature":"s","text":""}]}]}`,
			`{"contents":[{"parts":[{"functionCall":{"name":"f","args":{}}},{"functionResponse":{"name":"f","response":{}}},{"thoughtSignature":"s"}]}]}`, true},
		{gemini, `{"contents":[{"parts":[{"functionCall":{"name":"f","args":{"a":1}}},{"text":""}]}]}`, `{"contents":[{"parts":[{"functionCall":{"name":"f"}},{}]}]}`, false},
		{gemini, `{"generationConfig":{"responseSchema":{"type":"OBJECT"}},"tools":[{"functionDeclarations":[{"parameters":{"type":"OBJECT","properties":{"a":{"anyOf":[{"type":"STRING","nullable":true}]}}}}]}]}`,
			`{"generationConfig":{"responseJsonSchema":{"type":"object"}},"tools":[{"functionDeclarations":[{"parametersJsonSchema":{"type":"object","properties":{"a":{"anyOf":[{"type":["string","null"]}]}}}}]}]}`, true},
		{gemini, `{"tools":[{"functionDeclarations":[{"parameters":{"type":"OBJECT"}}]}]}`, `{"tools":[{"functionDeclarations":[{"parametersJsonSchema":{"type":"string"}}]}]}`, false},
	} {
		a, neededA, errA := meaning.Of(c.protocol, []byte(c.a))
		b, neededB, errB := meaning.Of(c.protocol, []byte(c.b))
		if errA != nil || errB != nil {
			t.Fatalf("%s: %v, %v", c.protocol, errA, errB)
		}
		if diff := cmp.Diff(a, b); (diff == "") != c.equal {
			t.Errorf("%s: %s and %s: equal is %v, want %v\n%s", c.protocol, c.a, c.b, !c.equal, c.equal, diff)
		}
		if c.equal && (len(neededA) == 0 || len(neededB) > 0) {
			t.Errorf("%s: %s and %s needed the rules %q and %q", c.protocol, c.a, c.b, neededA, neededB)
		}
	}
	for protocol, body := range map[string]string{"telegraph": `{}`, chat: `[]`} {
		if _, _, err := meaning.Of(protocol, []byte(body)); err == nil {
			t.Errorf("%s: %s was read", protocol, body)
		}
	}
}
