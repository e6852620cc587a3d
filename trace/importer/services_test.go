package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/looptape/looptape/trace/importer"
)

const hiThere = `[{"role":"user","content":"Hi there"}]`

// A request at an unknown address is to a model if its response has the text of one, in any form: as JSON, as events and
// as lines.
func TestResponsesOfUnknownModels(t *testing.T) {
	const conversation = `{"messages":` + hiThere + `}`
	for _, c := range []struct{ name, url, sent, got string }{
		{"AssemblyAI", "https://api.assemblyai.com/lemur/v3/generate/task", `{"prompt":"x"}`, `{"response":"y","usage":{"input_tokens":1}}`},
		{"watsonx", "https://ml.example/ml/v1/text/generation", `{"model_id":"m","input":"x"}`, `{"results":[{"generated_text":"y","input_token_count":5}]}`},
		{"Triton", "https://triton.example/v2/models/m/generate", `{"text_input":"x"}`, `{"text_output":"y"}`},
		{"Workers AI", "https://api.cloudflare.com/ai/run/@cf/meta/llama", `{"prompt":"x"}`, `{"result":{"response":"y","usage":{"prompt_tokens":1}}}`},
		{"KoboldCpp", "http://localhost:5001/api/v1/generate", `{"prompt":"x"}`, `{"results":[{"text":"y"}]}`},
		{"an agent of Mistral", "https://api.mistral.ai/v1/conversations", `{"agent_id":"a","inputs":"x"}`, `{"outputs":[{"content":"y"}],"usage":{"prompt_tokens":1}}`},
		{"a batch of Gemini", "https://gemini.example/v1beta/models/m:batchGenerateContent", `{"batch":{"input_config":{"requests":{"requests":[{"request":{"contents":[{"parts":[{"text":"x"}]}]}}]}}}}`, `{"name":"batches/1"}`},
		{"events", "https://gateway.example/ask", conversation, "data: {\"text\":\"y\"}\n\ndata: {\"done\":true}\n\n"},
		{"deltas", "https://gateway.example/ask", conversation, "event: d\ndata: {\"type\":\"TEXT\",\"delta\":\"y\"}\n\n"},
		{"lines", "https://gateway.example/ask", conversation, "{\"text\":\"y\"}\n{\"text\":\"z\"}\n"},
		{"a completion", "https://gateway.example/ask", `{"chat":` + conversation + `}`, `{"completion":"y"}`},
		{"calls", "https://gateway.example/ask", `{"chat":` + conversation + `}`, `{"data":{"tool_calls":[{"id":"a","name":"f"}]}}`},
		{"tools", "https://gateway.example/ask", `{"messages":` + hiThere + `,"tools":[{"name":"f"}]}`, `{"result":"y"}`},
		{"messages with a response", "https://gateway.example/ask", conversation, `{"messages":[{"role":"user","content":"Hi there"},{"role":"assistant","content":"y"}]}`},
		{"the same text", "https://gateway.example/ask", conversation, `{"reply":"Hi there"}`},
		{"variables of GraphQL", "https://gateway.example/graphql", `{"query":"{ chat }","variables":{"m":` + hiThere + `}}`, `{"data":{"chat":{"reply":"y"}}}`},
		{"a plain text", "https://gateway.example/ask", conversation, "Hello there.\nHow are you?"},
		{"a plain text for a nested conversation", "https://gateway.example/ask", `{"chat":` + conversation + `}`, "Hello: you\n"},
		{"a web page", "https://gateway.example/ask", conversation, "<p>Hello</p>"},
		{"events with plain texts", "https://gateway.example/ask", conversation, "event: token\ndata: Hello\n\ndata: there\n\ndata: [DONE]\n\n"},
		{"the data stream of the AI SDK", "https://gateway.example/ask", conversation, "0:\"Hel\"\n0:\"lo\"\nd:{\"finishReason\":\"stop\"}\n"},
		{"JSON that is truncated", "https://gateway.example/ask", conversation, `{"note":"Hel`},
		{"messages of an agent", "https://api.letta.com/v1/agents/a/messages", conversation, `{"messages":[{"message_type":"assistant_message","content":"y"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := errorOf(t, c.url, c.sent, "application/json", c.got); err == nil {
				t.Error("got no error")
			}
		})
	}
}

// Requests to other services with members of requests to models are not to a model.
func TestRequestsToOtherServices(t *testing.T) {
	const conversation = `{"messages":` + hiThere + `}`
	for _, c := range []struct{ name, url, sent, mediaType, got string }{
		{"embeddings", "https://gateway.example/vectors", `{"model":"m","input":"x"}`, "", `{"data":[{"embedding":[0.5]}],"usage":{"prompt_tokens":1}}`},
		{"images", "https://gateway.example/paint", `{"model":"m","prompt":"x"}`, "", `{"data":[{"b64_json":"AA=="}],"usage":{"output_tokens":1}}`},
		{"addresses of images", "https://gateway.example/paint", `{"model":"m","prompt":"x"}`, "", `{"data":{"image_urls":["https://a.example/x.png"]}}`},
		{"an image with its address", "https://gateway.example/paint", `{"model":"m","prompt":"x"}`, "", `{"created":1,"data":[{"url":"https://a.example/x.png"}]}`},
		{"a task for an image", "https://gateway.example/aigc/text2image/image-synthesis", `{"model":"m","input":{"prompt":"x"}}`, "", `{"output":{"task_status":"PENDING"}}`},
		{"a task for a video", "https://gateway.example/generations", `{"model":"m","prompt":"x"}`, "", `{"generation_type":"video","state":"queued"}`},
		{"speech", "https://gateway.example/say", `{"model":"m","input":"x"}`, "audio/mpeg", "ID3"},
		{"moderation", "https://gateway.example/safety", `{"model":"m","input":"x"}`, "", `{"results":[{"flagged":false}]}`},
		{"classes of a text", "https://hf.example/models/m", `{"inputs":"x"}`, "", `{"sequence":"x","labels":["a"],"scores":[0.9]}`},
		{"names in a text", "https://hf.example/models/m", `{"inputs":"x"}`, "", `[{"entity_group":"PER","score":0.9,"word":"x"}]`},
		{"a masked word", "https://hf.example/models/m", `{"inputs":"x"}`, "", `[{"token_str":"y","score":0.9,"sequence":"x y"}]`},
		{"a count of tokens", "https://gateway.example/utils/token_counter", `{"model":"m","messages":` + hiThere + `}`, "", `{"total_tokens":9}`},
		{"a count of tokens at Vertex AI", "https://vertex.example/publishers/anthropic/models/count-tokens:rawPredict", `{"model":"m","messages":` + hiThere + `}`, "", `{"input_tokens":9}`},
		{"a database", "https://db.example/rest/v1/chats", conversation, "", `[{"id":1,"messages":` + hiThere + `}]`},
		{"a memory", "https://memory.example/api/v2/threads/t/messages", conversation, "", `{"context":null,"message_uuids":["1"]}`},
		{"a log", "https://gateway.example/log", conversation, "text/plain", "OK.\n"},
		{"a log with a mark", "https://gateway.example/log", conversation, "text/plain", "Success!"},
		{"nothing", "https://gateway.example/log", conversation, "text/plain", "\n"},
		{"an empty page", "https://gateway.example/log", conversation, "text/xml", "<?xml version=\"1.0\"?><Response></Response>"},
		{"a page that confirms", "https://gateway.example/log", conversation, "text/html", "<html><head><title>OK</title></head><body>200 OK</body></html>"},
		{"events without a text", "https://gateway.example/log", conversation, "text/event-stream", ": ok\n\nevent: end\nid: 7\ndata: {\"stored\":1}\n\ndata: [DONE]\n\n"},
		{"a text for other data", "https://gateway.example/ask", `{"messages":[{"to":"a","content":"x"}]}`, "text/plain", "Hello"},
		{"a queue", "https://queue.example/messages", `{"messages":[{"data":"x"}]}`, "", `{"messageIds":["1"]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := errorOf(t, c.url, c.sent, c.mediaType, c.got); err != nil {
				t.Errorf("got the error %v", err)
			}
		})
	}
}

// Services confirm that they received data with a short text. A text with other words may be of a model.
func TestAcknowledgments(t *testing.T) {
	for text, reported := range map[string]bool{
		"ok: 1": false, "OK 200": false, "HTTP 200 OK": false, "status=ok": false, "ACK": false, "pong": false, "Stored": false, "Sent.": false,
		"Event received": false, "EVENT_RECEIVED": false, "3 events received": false, "Webhook received!": false, "Request accepted.": false,
		"Logged successfully": false, "The event": true, "queued: 7f3c1b2a-1111": false, "Data has been recorded": false,
		"Yes.": true, "Paris": true, "42 apples": true, "Thank you!": true, "👍": true, "OK, I saved it": true, "It is done": true,
		"Events": true, "Message sent": true, "Task completed": true, "OK <b>Ann</b>": true, "3 events": true,
		strings.Repeat("ok ", 100): true,
	} {
		err := errorOf(t, "https://hooks.example/ask", `{"messages":`+hiThere+`}`, "text/plain", text)
		if (err != nil) != reported {
			t.Errorf("%q: got the error %v, want one: %t", text, err, reported)
		}
	}
}

// A plain text with the status of an error or of a redirect is not of a model.
func TestErrorsOfOtherServices(t *testing.T) {
	file := har("https://gateway.example/ask", `{"messages":`+hiThere+`}`, "text/plain", "Bad gateway")
	for status, reported := range map[string]bool{"200": true, "201": true, "307": false, "502": false} {
		src, err := importer.Open("x.har", strings.NewReader(strings.Replace(file, `"status":200`, `"status":`+status, 1)))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range src.Exchanges() {
			if (err != nil) != reported {
				t.Errorf("status %s: error %v, want one: %t", status, err, reported)
			}
		}
	}
}

// errorOf returns the error of the only interaction of a recording.
func errorOf(t *testing.T, url, sent, mediaType, got string) (last error) {
	t.Helper()
	src, err := importer.Open("x.har", strings.NewReader(strings.Replace(har(url, sent, mediaType, got), `"status":200,`, fmt.Sprintf(`"status":200,"headers":[{"name":"Content-Type","value":%q}],`, mediaType), 1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range src.Exchanges() {
		last = err
	}
	return last
}

// Together repeats the prompt in a response.
func TestChatResponseWithPrompt(t *testing.T) {
	const text = `{"id":"c","object":"chat.completion","prompt":[],"choices":[{"index":0,"message":{"role":"assistant","content":"A"},"finish_reason":"stop"}]}`
	format, runs, failed, unknown := readAll(t, "file", []byte(text))
	if format != "bodies" || len(runs) != 1 || failed != nil || unknown != nil {
		t.Errorf("format %s, %d runs, errors %v, unknown %v", format, len(runs), failed, unknown)
	}
}
