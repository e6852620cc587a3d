package importer_test

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

// bodies are a request and a response with a call, in each protocol.
var bodies = map[string]struct{ path, request, response string }{
	"openai-chat": {
		"/v1/chat/completions",
		`{"model":"m","messages":[{"role":"system","content":"be short"},{"role":"user","content":"hi"}]}`,
		`{"id":"r","choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":"ok","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}}],"usage":{"prompt_tokens":5,"completion_tokens":7}}`,
	},
	"openai-responses": {
		"/v1/responses",
		`{"model":"m","instructions":"be short","input":"hi"}`,
		`{"id":"r","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]},{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}],"usage":{"input_tokens":5,"output_tokens":7}}`,
	},
	"anthropic-messages": {
		"/v1/messages",
		`{"model":"m","max_tokens":9,"system":"be short","messages":[{"role":"user","content":"hi"}]}`,
		`{"id":"r","type":"message","role":"assistant","content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"a","name":"f","input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":7}}`,
	},
	"gemini": {
		"/v1beta/models/m:generateContent",
		`{"systemInstruction":{"parts":[{"text":"be short"}]},"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"},{"functionCall":{"id":"a","name":"f","args":{"x":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":7}}`,
	},
	"bedrock-converse": {
		"/model/amazon.nova-lite-v1%3A0/converse",
		`{"system":[{"text":"be short"}],"messages":[{"role":"user","content":[{"text":"hi"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{}}}}]}}`,
		`{"output":{"message":{"role":"assistant","content":[{"text":"ok"},{"toolUse":{"toolUseId":"a","name":"f","input":{"x":1}}}]}},"stopReason":"tool_use","usage":{"inputTokens":3,"outputTokens":7,"cacheReadInputTokens":2}}`,
	},
	"cohere-chat": {
		"/v2/chat",
		`{"model":"m","messages":[{"role":"system","content":"be short"},{"role":"user","content":"hi"}]}`,
		`{"id":"r","message":{"role":"assistant","content":[{"type":"text","text":"ok"}],"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},"finish_reason":"TOOL_CALL","usage":{"tokens":{"input_tokens":5,"output_tokens":7}}}`,
	},
	"ollama-chat": {
		"/api/chat",
		`{"model":"m","messages":[{"role":"system","content":"be short"},{"role":"user","content":"hi"}]}`,
		`{"model":"m","message":{"role":"assistant","content":"ok","tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}}}]},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":7}`,
	},
}

// summary describes the messages of a run and its usage.
func summary(run *importer.Run) string {
	var b strings.Builder
	for _, m := range run.Messages {
		fmt.Fprintf(&b, "%s %q", m.Role, m.Text())
		for _, c := range m.Calls() {
			fmt.Fprintf(&b, " %s %s%s", c.ID, c.Name, c.Arguments)
		}
		b.WriteString("; ")
	}
	u := run.Resources().Usage
	fmt.Fprintf(&b, "%d/%d tokens, %d parts not understood", u.InputTokens, u.OutputTokens, len(run.Unknown))
	return b.String()
}

func TestBodiesOfAllProtocols(t *testing.T) {
	const (
		request  = `system "be short"; user "hi"; 0/0 tokens, 0 parts not understood`
		response = `assistant "ok" a f{"x":1}; 5/7 tokens, 0 parts not understood`
	)
	for name, c := range bodies {
		t.Run(name, func(t *testing.T) {
			for form, in := range map[string]string{"bare": "%s", "lines": "%[1]s\n%[1]s", "list": "[%s]"} {
				if strings.Contains(c.request, "system") || strings.Contains(c.request, "instructions") {
					if got := firstRun(t, fmt.Sprintf(in, c.request)); summary(&got) != request {
						t.Errorf("request, %s: %s, want %s", form, summary(&got), request)
					}
				}
				if got := firstRun(t, fmt.Sprintf(in, c.response)); summary(&got) != response {
					t.Errorf("response, %s: %s, want %s", form, summary(&got), response)
				}
			}
		})
	}
}

func firstRun(t *testing.T, in string) importer.Run {
	t.Helper()
	src, err := importer.Open("x", strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	t.Fatal("no run")
	return importer.Run{}
}

// har returns a recording of one request with its response.
func har(url, request, mediaType, response string) string {
	return fmt.Sprintf(`{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[{"request":{"method":"POST","url":%q,"postData":{"mimeType":"application/json","text":%q}},"response":{"status":200,"content":{"mimeType":%q,"text":%q}}}]}}`,
		url, request, mediaType, response)
}

func TestExchangesOfAllProtocols(t *testing.T) {
	for name, c := range bodies {
		t.Run(name, func(t *testing.T) {
			src, err := importer.Open("x.har", strings.NewReader(har("https://api.cohere.com"+c.path, c.request, "application/json", c.response)))
			if err != nil {
				t.Fatal(err)
			}
			for e, err := range src.Exchanges() {
				if err != nil || e.Incomplete != nil || e.Protocol == nil || e.Protocol.Name() != name {
					t.Fatalf("exchange %+v, error %v", e, err)
				}
				u := e.Response.Usage
				got := fmt.Sprint(e.Request.Messages[len(e.Request.Messages)-1].Text(), e.Response.Text(), e.Response.Calls(), u.InputTokens, u.OutputTokens)
				want := fmt.Sprint("hi", "ok", []llm.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}}, 5, 7)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("request and response (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// cohereEvents is a response of Cohere with thinking, a plan, calls, a citation and an unknown event.
var cohereEvents = serverSentEvents(cohereLines)

const cohereLines = `{"id":"r","type":"message-start","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}
{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"thinking","thinking":"h"}}}}
{"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":"m"}}}}
{"type":"content-end","index":0}
{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"bo"}}}
{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"th"}}}
{"type":"content-start","index":1,"delta":{"message":{"content":{"type":"text","text":""}}}}
{"type":"content-delta","index":1,"delta":{"message":{"content":{"text":"o"}}}}
{"type":"content-delta","index":1,"delta":{"message":{"content":{"text":"k"}}}}
{"type":"citation-start","index":0,"delta":{"message":{"citations":{"start":0,"end":2,"text":"ok","sources":[]}}}}
{"type":"citation-end","index":0}
{"type":"content-end","index":1}
{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"a","type":"function","function":{"name":"f","arguments":""}}}}}
{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{\"x\":"}}}}}
{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"1}"}}}}}
{"type":"tool-call-end","index":0}
{"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}}}}
{"type":"tool-call-end","index":1}
{"type":"new-event","text":"?"}
{"type":"message-end","delta":{"finish_reason":"TOOL_CALL","usage":{"billed_units":{"input_tokens":4},"tokens":{"input_tokens":5,"output_tokens":7}}}}`

// serverSentEvents returns events of these types and data, one per line.
func serverSentEvents(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		kind := regexp.MustCompile(`"type":"([a-z-]+)"`).FindStringSubmatch(line)[1]
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", kind, strings.TrimSpace(line))
	}
	return b.String()
}

// A streaming response is the same alone, as events and as one event per line.
func TestCohereStreamAlone(t *testing.T) {
	lines := regexp.MustCompile(`(?m)^(event: .*|)\n|^data: `).ReplaceAllString(cohereEvents, "")
	for name, in := range map[string]string{"events": cohereEvents, "lines": lines} {
		run := onlyRun(t, in)
		got := callsAndResults(run.Messages)
		want := []string{`assistant llm.Reasoning (ok) [a f{"x":1}] [b g{}]`}
		if diff := cmp.Diff(want, got); diff != "" || len(run.Unknown) != 1 {
			t.Errorf("%s: not understood: %v, messages (-want +got):\n%s", name, run.Unknown, diff)
		}
		if diff := cmp.Diff(llm.Part(llm.Reasoning{Text: "hmboth"}), run.Messages[0].Parts[0]); diff != "" {
			t.Errorf("%s: reasoning (-want +got):\n%s", name, diff)
		}
		if got, want := string(run.Meta["response"]), `{"message":{"citations":[{"start":0,"end":2,"text":"ok","sources":[]}]}}`; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if got, want := string(run.Meta["provider_usage"]), `{"billed_units":{"input_tokens":4},"tokens":{"input_tokens":5,"output_tokens":7}}`; got != want {
			t.Errorf("%s: usage %s, want %s", name, got, want)
		}
	}
}

func TestStreamsOfReadOnlyProtocols(t *testing.T) {
	request := bodies["ollama-chat"].request
	for name, c := range map[string]struct{ url, response, want string }{
		"Ollama": {
			"http://localhost:11434/api/chat",
			`{"message":{"role":"assistant","content":"","thinking":"hm"},"done":false}` + "\n" +
				`{"message":{"role":"assistant","content":"o"},"done":false}` + "\n" +
				`{"message":{"role":"assistant","content":"k"},"done":false}` + "\n" +
				`{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]},"done":true,"prompt_eval_count":5,"eval_count":7}`,
			`system "be short"; user "hi"; assistant "ok" function_call_1 f{"x":1}; 5/7 tokens, 0 parts not understood`,
		},
		"Ollama, truncated": {
			"http://localhost:11434/api/chat", `{"message":{"role":"assistant","content":"o"},"done":false}` + "\n" + `{"message":{"role":"assistant","content":"k"},"done":false}`,
			"x.har:1: interaction 1: the response cannot be read as a whole: the response was truncated",
		},
		"Cohere": {
			"https://api.cohere.com/v2/chat", cohereEvents,
			`system "be short"; user "hi"; assistant "ok" a f{"x":1} b g{}; 5/7 tokens, 1 parts not understood`,
		},
		"Cohere, truncated": {
			"https://api.cohere.com/v2/chat", strings.Split(cohereEvents, "event: message-end")[0],
			"x.har:1: interaction 1: the response cannot be read as a whole: the response was truncated",
		},
		"Cohere, broken": {
			"https://api.cohere.com/v2/chat", "event: message-start\ndata: {\n\n",
			"x.har:1: interaction 1: the response cannot be read as a whole: event 1 of the stream: the data is not JSON",
		},
	} {
		t.Run(name, func(t *testing.T) {
			src, err := importer.Open("x.har", strings.NewReader(har(c.url, request, "text/event-stream", c.response)))
			if err != nil {
				t.Fatal(err)
			}
			for run, err := range src.Conversations() {
				got := summary(&run)
				if err != nil {
					got = err.Error()
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestBodiesOfOtherFormsNotRead(t *testing.T) {
	for _, in := range []string{`{"model":"m"}`, `{"output":{}}`, `{"message":"x"}`} {
		if _, err := importer.Open("x", strings.NewReader(in)); err == nil {
			t.Errorf("%s is read as a body", in)
		}
	}
}

func TestAlternativesReported(t *testing.T) {
	for name, in := range map[string]string{
		"choices":    `{"choices":[{"index":0,"message":{"role":"assistant","content":"a"}},{"index":1,"message":{"role":"assistant","content":"b"}}]}`,
		"candidates": `{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]},"finishReason":"STOP"},{"content":{"role":"model","parts":[{"text":"b"}]}}]}`,
		"a stream": `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}` + "\n\n" +
			`data: {"object":"chat.completion.chunk","choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
	} {
		const want = "the response has 2 alternatives, and only the first is read"
		run := firstRun(t, in)
		if len(run.Unknown) != 1 || !strings.Contains(run.Unknown[0].Error(), want) || run.Messages[0].Text() != "a" {
			t.Errorf("%s: %v, %v, want %s", name, run.Messages, run.Unknown, want)
		}
		if name == "candidates" {
			continue
		}
		src, err := importer.Open("x.har", strings.NewReader(har("https://api.openai.com/v1/chat/completions", bodies["openai-chat"].request, "", in)))
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range src.Exchanges() {
			if err != nil || len(e.Unknown) != 1 || !strings.Contains(e.Unknown[0].Error(), want) {
				t.Errorf("%s: exchange with %v, %v, want %s", name, e.Unknown, err, want)
			}
		}
	}
}

// A value of several lines may have an object alone on its second line.
func TestRecordingOfOneEntryPerLine(t *testing.T) {
	c := bodies["openai-chat"]
	in := strings.Replace(har("https://api.openai.com/v1/chat/completions", c.request, "", c.response), `[{"request"`, "[\n{\"request\"", 1)
	in = strings.TrimSuffix(in, "]}}") + "\n]}}"
	src, err := importer.Open("x.har", strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range src.Exchanges() {
		if err != nil || e.Response == nil {
			t.Errorf("exchange %+v, %v", e, err)
		}
	}
}

func TestRequestsInUnknownProtocols(t *testing.T) {
	const body = `{"model":"m","input":"hi","messages":[]}`
	for _, c := range []struct {
		url, sent, got string
		reported       bool
	}{
		{"https://llm.example/profiles/generate", body, "{}", true}, // which contains files
		{"https://llm.example/v1/interactions", body, "{}", true},
		{"https://llm.example/v1/embeddings", body, "{}", false},
		{"https://llm.example/v1/files", body, "{}", false},
		{"https://llm.example/models/m:countTokens", body, "{}", false},
		{"https://llm.example/v1/messages/batches", body, "{}", false},
		{"https://llm.example/v1/videos", `{"model":"m","prompt":"a cat"}`, "{}", false},
		// Titan, and its embeddings.
		{"https://bedrock.example/model/amazon.titan-text-express-v1/invoke", `{"inputText":"x"}`, `{"results":[{"outputText":"y"}]}`, true},
		{"https://bedrock.example/model/amazon.titan-embed-text-v1/invoke", `{"inputText":"x"}`, `{"embedding":[1]}`, false},
		// Text Generation Inference, and another service with a prompt.
		{"http://tgi.example/generate", `{"inputs":"x","parameters":{"max_new_tokens":5}}`, `{}`, true},
		{"http://tgi.example/generate", `{"inputs":"x"}`, `[{"generated_text":"y"}]`, true},
		{"http://llm.example/generate", `{"prompt":"x","max_new_tokens":5}`, `{}`, true},
		{"http://orders.example/orders", `{"input":"x"}`, `{"id":7}`, false},
		// Version 1 of Cohere, and messages to other services.
		{"https://api.cohere.com/v1/chat", `{"message":"x"}`, `{"text":"y"}`, true},
		{"https://llm.example/v1/chat", `{"message":"x","model":"m"}`, `{"text":"y"}`, true},
		{"https://chat.example/chat", `{"message":"x"}`, `{"id":7}`, false},
		{"https://logs.example/log", `{"message":"x","model":"phone"}`, `{}`, false},
		// Predictions of Replicate and Cog, and those that generate no text.
		{"https://us-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/text-bison:predict", `{"instances":[{"prompt":"x"}]}`, `{"predictions":[{"content":"a"}]}`, true},
		{"https://us-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/chat-bison:predict", `{"instances":[{"messages":[{"author":"user","content":"x"}]}]}`, `{}`, true},
		{"https://us-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/imagen-4:predict", `{"instances":[{"prompt":"a cat"}]}`, `{"predictions":[{"bytesBase64Encoded":"AA==","mimeType":"image/png"}]}`, false},
		{"https://us-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/imagen-4:predict", `{"instances":[{"prompt":"a cat"}],"parameters":{"sampleCount":1}}`, `{}`, false},
		{"https://us-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/text-embedding-005:predict", `{"instances":[{"prompt":"x"}]}`, `{}`, false},
		{"https://us-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/1:predict", `{"instances":[{"petal":1}]}`, `{"predictions":[0.5]}`, false},
		{"https://api.foo.example/v9/predict", `{"prompt":"hello","max_tokens":5}`, `{}`, true},
		{"https://api.foo.example/v9/predict", `{"input":"hello"}`, `{"label":"spam"}`, false},
		{"https://api.anthropic.com/v1/messages/batches", `{"requests":[{"custom_id":"a","params":{"model":"c","max_tokens":9,"messages":[{"role":"user","content":"q"}]}}]}`, `{"id":"b","type":"message_batch"}`, true},
		{"https://api.openai.com/v1/batches", `{"input_file_id":"f","endpoint":"/v1/chat/completions"}`, `{"id":"b","object":"batch"}`, false},
		{"https://api.replicate.com/v1/models/meta/meta-llama-3-8b-instruct/predictions", `{"input":{"prompt":"hi"}}`, `{"id":"p","status":"succeeded","output":["Hel","lo"]}`, true},
		{"https://api.replicate.com/v1/models/meta/meta-llama-3-8b-instruct/predictions", `{"stream":true,"input":{"prompt":"hi"}}`, `{"id":"p","status":"starting","output":null}`, true},
		{"https://api.replicate.com/v1/predictions", `{"version":"v","input":{"messages":[]}}`, `{"id":"p"}`, true},
		{"https://api.replicate.com/v1/deployments/o/d/predictions", `{"input":{"question":"hi"}}`, ``, true},
		{"http://localhost:5000/predictions", `{"input":{"prompt":"hi"}}`, `{"status":"succeeded","output":"Hello."}`, true},
		{"https://api.replicate.com/v1/models/black-forest-labs/flux/predictions", `{"input":{"prompt":"a cat"}}`, `{"output":["https://replicate.delivery/x.png"]}`, false},
		{"https://api.replicate.com/v1/models/black-forest-labs/flux/predictions", `{"input":{"prompt":"a cat","aspect_ratio":"1:1"}}`, `{"output":null}`, false},
		{"https://api.replicate.com/v1/predictions", `{"version":"v","input":{"audio":"https://a.example/x.mp3"}}`, `{"output":{"transcription":"hi"}}`, false},
		{"https://api.replicate.com/v1/predictions", `{"version":"v","input":{"text":"hi"}}`, `{"output":[[0.5,1]]}`, false},
		{"https://api.replicate.com/v1/models/o/clip-embeddings/predictions", `{"input":{"text":"hi"}}`, `{"output":null}`, false},
		{"https://api.replicate.com/v1/predictions/p/cancel", `{}`, `{}`, false},
		{"https://vertex.example/publishers/google/models/gecko:predict", `{"instances":[{"content":"x"}]}`, `{"predictions":[]}`, false},
		{"https://weather.example/predictions", `{"input":"Bern"}`, `{}`, false},
		// fal.
		{"https://fal.run/fal-ai/any-llm", `{"prompt":"hi"}`, `{"output":"Hello."}`, true},
		{"https://queue.fal.run/fal-ai/any-llm", `{"prompt":"hi"}`, `{"request_id":"r","status":"IN_QUEUE"}`, true},
		{"https://fal.run/fal-ai/flux/dev", `{"prompt":"a cat","image_size":"square","model":"x"}`, `{}`, false},
		{"https://fal.run/fal-ai/flux/dev", `{"prompt":"a cat","model":"x"}`, `{"images":[{"url":"https://a.example/x.png"}]}`, false},
		// JSON-RPC, with a request to a model and with a log of one.
		{"https://gateway.example/rpc", `{"method":"chat","params":{"model":"m","messages":[]}}`, `{"result":{"choices":[{"message":{"role":"assistant","content":"y"},"finish_reason":"stop"}]}}`, true},
		{"https://gateway.example/log", `{"inputs":{"model":"m","messages":[]}}`, `{"message":"logged"}`, false},
		// GraphQL, with a conversation, a response of a model, both and neither.
		{"https://app.example/graphql", `{"query":"mutation($data: In!) { chat(data: $data) { ok } }","variables":{"data":{"messages":[{"role":"user","content":"Hi"}]}}}`, `{"data":{"chat":{"ok":true}}}`, true},
		{"https://app.example/graphql", `{"query":"mutation { m }","variables":{"data":{"messages":[{"textMessage":{"content":"Hi","role":"user"}}]}}}`, `{"data":{"m":1}}`, true},
		{"https://app.example/graphql", `{"query":"{ m }","variables":{"in":{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}}}`, `{"data":null}`, true},
		{"https://app.example/graphql", `{"query":"{ chat(prompt: \"Hi\") { choices { message { role content } } } }"}`, `{"data":{"chat":{"choices":[{"message":{"role":"assistant","content":"Hello"}}]}}}`, true},
		{"https://app.example/graphql", `{"query":"{ chat }"}`, `{"data":{"chat":{"candidates":[{"content":{"parts":[{"text":"Hello"}]}}]}}}`, true},
		{"https://app.example/graphql", `{"query":"{ chat }"}`, `{"data":{"chat":{"content":"Hello","usage":{"output_tokens":1}}}}`, true},
		{"https://app.example/graphql", `{"query":"{ chat }"}`, `{"data":{"chat":{"text":"Hello","usageMetadata":{"totalTokenCount":1}}}}`, true},
		{"https://app.example/graphql", `{"query":"{ users { name } }","variables":{"input":{"name":"a"},"first":5}}`, `{"data":{"users":[{"name":"a","content":"x","usage":{"disk":5}}]}}`, false},
		{"https://app.example/graphql", `{"query":"{ poll { choices { text } } }"}`, `{"data":{"poll":{"choices":[{"text":"yes"}],"candidates":[{"name":"a"}]}}}`, false},
		{"https://app.example/graphql", `{"query":"{ history }"}`, `{"data":{"messages":[{"role":"assistant","content":"Hello"}]}}`, false},
		{"https://app.example/graphql", `{"query":"mutation { send }","variables":{"messages":[{"role":"admin","content":"Hi"},{"text":"Hi"}]}}`, `{"data":{"send":true}}`, false},
		{"https://api.openai.com/v1/chat/completions/chatcmpl_1", `{"metadata":{"a":"b"}}`, `{"choices":[{"message":{"role":"assistant","content":"Hello"}}]}`, false}, // a stored one
		// A gateway with members of its own, a log of messages, and a tool of a server that takes messages.
		{"https://app.example/ask", `{"payload":{"messages":[{"role":"user","content":"Hi"}]}}`, `{"result":{"reply":"Hello"}}`, true},
		{"https://app.example/ask", `{"q":"Hi"}`, "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\ndata: [DONE]\n\n", true},
		{"https://app.example/log", `{"payload":{"messages":[{"role":"user","content":"Hi"}]}}`, `{"message":"logged","status":"ok"}`, false},
		{"https://app.example/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"messages":[{"role":"user","content":"Hi"}]}}}`, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"1"}]}}`, false},
		{"https://app.example/audio/transcriptions", `{}`, `{"text":"Hello","usage":{"input_tokens":5}}`, false},
		// The inference API of Hugging Face.
		{"https://api-inference.huggingface.co/models/gpt2", `{"inputs":"x"}`, `[{"generated_text":"y"}]`, true},
		{"https://router.huggingface.co/hf-inference/models/gpt2", `{"inputs":"x"}`, `{"error":"busy"}`, true},
		{"https://api-inference.huggingface.co/models/distilbert-sst-2", `{"inputs":"x"}`, `[[{"label":"POSITIVE","score":0.9}]]`, false},
		{"https://router.huggingface.co/hf-inference/models/minilm/pipeline/feature-extraction", `{"inputs":"x"}`, `[[0.5,-1]]`, false},
		// Models of Bedrock for embeddings and images.
		{"https://bedrock.example/model/arn%3Aaws%3Abedrock%3Aprofile/invoke", `{"inputText":"x"}`, `{"embedding":[1]}`, false},
		{"https://bedrock.example/model/stability.sd3/invoke", `{"prompt":"a cat"}`, `{"images":["x"]}`, false},
		{"https://bedrock.example/model/other/invoke", `{"prompt":"a cat"}`, `{"images":[],"text":"meow"}`, true},
		// Runs of the Assistants API, its other requests, and runs of LangGraph.
		{"https://api.openai.com/v1/threads/t/runs", `{"assistant_id":"a"}`, `{"object":"thread.run"}`, true},
		{"https://api.openai.com/v1/threads/t/runs/r/submit_tool_outputs", `{"tool_outputs":[]}`, `{}`, true},
		{"https://api.openai.com/v1/threads/t/messages", `{"role":"user","content":"x"}`, `{"object":"thread.message"}`, false},
		{"https://graph.example/threads/t/runs", `{"assistant_id":"a","input":{}}`, `{"run_id":"r"}`, false},
	} {
		src, err := importer.Open("x.har", strings.NewReader(har(c.url, c.sent, "", c.got)))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range src.Exchanges() {
			if (err != nil) != c.reported {
				t.Errorf("%s: error %v, want one: %t", c.url, err, c.reported)
			}
		}
	}
}

// The files of the Batch APIs of OpenAI and Anthropic have a request or a response per line.
func TestBatches(t *testing.T) {
	in := `{"custom_id":"r1","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"q"}]}}
{"custom_id":"r2","method":"POST","url":"/v1/responses","body":{"model":"m","input":"hi"}}
{"id":"b3","custom_id":"r3","response":{"status_code":200,"body":{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"A"},"finish_reason":"stop"}]}},"error":null}
{"id":"b4","custom_id":"r4","response":{"status_code":400,"body":{"error":{"message":"bad"}}},"error":null}
{"id":"b5","custom_id":"r5","response":null,"error":{"code":"expired"}}
{"custom_id":"r6","params":{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"q"}]}}
{"custom_id":"r7","result":{"type":"succeeded","message":{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"B"}],"stop_reason":"end_turn"}}}
{"custom_id":"r8","body":{"model":"m","messages":7}}
`
	format, runs, failed, unknown := readAll(t, "file", []byte(in))
	want := []string{"r1 user:(q)", "r2 user:(hi)", "r3 assistant:(A)", "r6 user:(q)", "r7 assistant:(B)"}
	if diff := cmp.Diff(want, outline(runs)); diff != "" || format != "bodies" || unknown != nil {
		t.Errorf("format %s, unknown %v, runs (-want +got):\n%s", format, unknown, diff)
	}
	want = []string{
		`file:4: the request of the batch failed: {"message":"bad"}`,
		`file:5: the line of the batch has neither a request nor a response: its error is {"code":"expired"}`,
		`file:8: the request: messages: expected an array`,
	}
	if diff := cmp.Diff(want, texts(failed)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// A body or a list of messages shows content that providers reject: the codecs read it as they read other content.
func TestRejectedContent(t *testing.T) {
	const (
		chat   = `[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c"%s}]`
		old    = `[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f"%s}]`
		items  = `[{"role":"user","content":"q"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c"%s}]`
		said   = `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"%s","text":"a"}]},{"role":"user","content":[{"type":"input_text","text":"a"}]}]`
		calls  = `[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c","type":"function","function":{"name":"f"%s}}]},{"role":"tool","tool_call_id":"b","content":"x"},{"role":"tool","tool_call_id":"c","content":"x"}]`
		legacy = `[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"f"%s}},{"role":"function","name":"f","content":"x"}]`
		null   = `[{"role":"user","content":"q"},{"role":"assistant","content":"a","function_call":null%s},{"role":"user","content":"q"}]`
		ollama = `[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":%s}}]},{"role":"tool","tool_call_id":"c","content":"x"}]`
		claude = `[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"text","text":"%s"},{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":""}]}]`
		nova   = `[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"text":"%s"},{"toolUse":{"toolUseId":"c","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"c","content":[]}}]}]`
	)
	for _, c := range []struct {
		list, body string
		accepted   []string
		rejected   map[string]string // and the violation
	}{
		{chat, `{"model":"m","messages":%s}`, []string{`,"content":""`, `,"content":[]`, `,"content":"a"`, `,"output":"a"`}, map[string]string{`,"content":null`: "INV-24 false 2", ``: "INV-24 false 2"}},
		{chat, `{"model":"m","keep_alive":1,"messages":%s}`, []string{`,"content":""`}, map[string]string{`,"content":null`: "INV-24 true 2"}},
		{old, `{"model":"m","messages":%s}`, []string{`,"content":""`}, map[string]string{`,"content":null`: "INV-24 false 2", ``: "INV-24 false 2"}},
		{items, `{"model":"m","input":%s}`, []string{`,"output":""`, `,"output":[]`, `,"output":"a"`}, map[string]string{`,"output":null,"id":"fc_1"`: "INV-24 false 2", ``: "INV-24 false 2"}},
		{said, `{"model":"m","input":%s}`, []string{"output_text"}, map[string]string{"input_text": "INV-24 false 1"}},
		{calls, `{"model":"m","messages":%s}`, []string{`,"arguments":""`, `,"arguments":"{}"`}, map[string]string{`,"arguments":{"a":1}`: "INV-24 true 1", `,"arguments":null`: "INV-24 false 1", ``: "INV-24 false 1"}},
		{calls, `{"model":"m","options":{"num_ctx":9},"messages":%s}`, []string{`,"arguments":{"a":1}`}, nil},
		{legacy, `{"model":"m","messages":%s}`, []string{`,"arguments":""`, `,"arguments":"{}"`}, map[string]string{`,"arguments":{"a":1}`: "INV-24 true 1", `,"arguments":null`: "INV-24 false 1", ``: "INV-24 false 1"}},
		{null, `{"model":"m","messages":%s}`, []string{``}, nil},
		{calls, `{"id":"m","messages":%s}`, []string{`,"arguments":{"a":1}`, ``}, nil},
		{ollama, `{"model":"m","messages":%s}`, []string{`{"a":1}`, `{}`}, nil},
		{claude, `{"model":"m","max_tokens":9,"messages":%s}`, []string{"a"}, map[string]string{"": "INV-24 false 1"}},
		{claude, `{"model":"m","max_tokens":9,"system":"s","messages":%s}`, []string{"a", "\u200b"}, map[string]string{"": "INV-24 false 2", `\n\n`: "INV-24 false 2"}},
		{claude, `{"model":"m","max_tokens":9,"system":" ","messages":%s}`, []string{"a"}, nil},
		{`[{"type":"text","text":"s"},{"type":"text","text":"%s"}]`, `{"model":"m","max_tokens":9,"system":%s,"messages":[{"role":"user","content":"q"}]}`, []string{"a"}, map[string]string{"": "INV-24 false 0"}},
		{`[{"type":"text","text":"%s"}]`, `{"model":"m","max_tokens":9,"system":%s,"messages":[{"role":"user","content":"q"}]}`, []string{"a"}, map[string]string{"": "INV-24 false 0"}},
		{nova, `{"modelId":"m","messages":%s}`, []string{"a"}, map[string]string{"": "INV-24 false 1"}},
		{nova, `{"modelId":"m","system":[],"messages":%s}`, nil, map[string]string{" ": "INV-24 false 1"}},
	} {
		want := map[string]string{}
		maps.Copy(want, c.rejected)
		for _, content := range c.accepted {
			want[content] = ""
		}
		for content, want := range want {
			list := fmt.Sprintf(c.list, content)
			bodies := []string{fmt.Sprintf(c.body, list)}
			if c.list != calls && c.list != legacy && !strings.Contains(c.body, "system") && !strings.Contains(c.body, "keep_alive") { // where the list shows the same
				bodies = append(bodies, list)
			}
			for _, in := range bodies {
				if got := violationsOf(t, in); got != want {
					t.Errorf("%s\nviolations %q, want %q", in, got, want)
				}
			}
		}
	}
}

// violationsOf returns the violations of the only run of a file: the invariant, whether it is a note, and the message.
func violationsOf(t *testing.T, in string) string {
	t.Helper()
	run := onlyRun(t, in)
	list := check.List{Protocol: run.Protocol, Request: run.Sent, Response: run.Response}
	list.Add(run.Messages...)
	var got []string
	for _, v := range list.Done() {
		got = append(got, fmt.Sprint(v.Invariant, " ", v.Note, " ", v.Event))
	}
	return strings.Join(got, ", ")
}
