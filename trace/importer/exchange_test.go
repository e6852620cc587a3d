package importer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/trace/importer"
)

func TestProtocolOf(t *testing.T) {
	for url, want := range map[string]string{
		"https://api.openai.com/v1/chat/completions":                                                            "openai-chat /chat/completions",
		"https://me.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21":              "openai-chat /chat/completions",
		"http://127.0.0.1:8917/lane/a/openai/v1/responses":                                                      "openai-responses /responses",
		"https://api.anthropic.com/v1/messages":                                                                 "anthropic-messages /v1/messages",
		"https://api.anthropic.com/v1/messages/count_tokens":                                                    "",
		"https://api.mistral.ai/v1/agents/completions":                                                          "openai-chat /chat/completions",
		"https://adb.azuredatabricks.net/serving-endpoints/m/invocations":                                       "openai-chat /chat/completions",
		"https://runtime.sagemaker.us-east-1.amazonaws.com/endpoints/m/invocations":                             "",
		"https://aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/c:rawPredict":  "anthropic-messages /v1/messages",
		"https://aiplatform.googleapis.com/v1/projects/p/publishers/anthropic/models/c:streamRawPredict":        "anthropic-messages /v1/messages",
		"https://aiplatform.googleapis.com/v1/projects/p/publishers/meta/models/c:rawPredict":                   "",
		"https://aiplatform.googleapis.com/v1/projects/p/publishers/anthropic/models/count-tokens:rawPredict":   "",
		"https://aiplatform.googleapis.com/v1/projects/p/publishers/mistralai/models/c:streamRawPredict":        "openai-chat /chat/completions",
		"https://aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/1:generateContent":               "gemini /endpoints/1:generateContent",
		"https://generativelanguage.googleapis.com/v1beta/tunedModels/g:generateContent":                        "gemini /tunedModels/g:generateContent",
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude/invoke":                      "anthropic-messages /v1/messages",
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude/invoke-with-response-stream": "anthropic-messages /v1/messages",
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/meta.llama/invoke":                               "",
		"https://generativelanguage.googleapis.com/v1beta/models/g:generateContent?key=k":                       "gemini /models/g:generateContent",
		"https://aiplatform.googleapis.com/v1/publishers/google/models/g:streamGenerateContent?alt=sse":         "gemini /models/g:streamGenerateContent",
		"https://generativelanguage.googleapis.com/v1beta/models/g:countTokens":                                 "",
		"https://example.com/generateContent":                                                                   "",
		"https://example.com/?to=/chat/completions":                                                             "",
		"://": "",
	} {
		p, path := importer.ProtocolOf(url)
		got := ""
		if p != nil {
			got = p.Name() + " " + path
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
}

const chatURL = "https://api.openai.com/v1/chat/completions?key=k"

// over is an interaction.
func over(method, url, sent, got string) *recording.Interaction {
	return &recording.Interaction{
		Request:  recording.Request{Method: method, URL: url, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(sent)},
		Response: recording.Response{Status: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(got)},
	}
}

// exchanges are the contents of a recording, one per line.
func exchanges(t *testing.T, src io.Reader) (f string, lines []string) {
	t.Helper()
	s, err := importer.Open("file", src)
	if err != nil {
		t.Fatal(err)
	}
	for x, err := range s.Exchanges() {
		line := fmt.Sprintf("%d %s", x.Number, x.Title)
		if x.Protocol != nil {
			line += " " + x.Protocol.Name()
		}
		if x.Request != nil && len(x.Request.Messages) > 0 {
			line += " " + x.Request.Messages[0].Text()
		}
		if x.Response != nil {
			line += " -> " + x.Response.Text()
		}
		if err != nil {
			line += " ! " + err.Error()
		}
		lines = append(lines, line)
	}
	return s.Format.Name, lines
}

// Each format is found by its content, and gives the same.
func TestExchanges(t *testing.T) {
	const hello = `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`
	const stream = "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	streamed := over("POST", chatURL, `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`, stream)
	streamed.Response.Header.Set("Content-Type", "text/event-stream")
	failed := over("POST", chatURL, `{"messages":[{"role":"user","content":"hi"}]}`, `{"error":{"message":"busy"}}`)
	failed.Response.Status = 500
	list := []*recording.Interaction{
		over("POST", chatURL, `{"messages":[{"role":"user","content":"hi"}]}`, hello),
		streamed, failed,
		over("GET", "https://api.openai.com/v1/responses", "", "{}"),
		over("POST", "https://api.openai.com/v1/threads/t/messages", `{"role":"user","content":"hi"}`, "{}"),
		over("POST", chatURL, `{"messages":7}`, "{}"),
		over("POST", chatURL, `nonsense`, "{}"),
		over("POST", "https://example.com/v1/responses", `{"answers":[1]}`, "{}"),
	}
	to := "POST https://api.openai.com/v1/chat/completions openai-chat"
	want := []string{
		"1 " + to + " hi -> hello", "2 " + to + " hi -> hello", "3 " + to + " hi",
		"4 GET https://api.openai.com/v1/responses", "5 POST https://api.openai.com/v1/threads/t/messages",
		"6 " + to + " ! file:LINE: interaction 6: invalid Chat Completions request: expected an array at messages (byte 13)",
		"7 " + to + " ! file:LINE: interaction 7: invalid Chat Completions request: expected an object (byte 1)",
		"8 POST https://example.com/v1/responses",
	}
	for _, f := range convert.Formats() {
		t.Run(string(f), func(t *testing.T) {
			src, _, err := convert.Write(f, recording.Metadata{}, list)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []io.Reader{bytes.NewReader(src), zipped(t, string(src))} {
				got, lines := exchanges(t, r)
				for i, l := range lines {
					lines[i] = fileLine.ReplaceAllString(l, "file:LINE:")
				}
				if diff := cmp.Diff(want, lines); diff != "" || got != string(f) {
					t.Errorf("it is read as %s; (-want +got):\n%s", got, diff)
				}
			}
		})
	}
}

var fileLine = regexp.MustCompile(`file(:\d+)?:`)

// Incomplete entries of a journal are reported, and the rest is read.
func TestExchangesOfJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tape")
	c, err := cassettes.Open(path, &cassettes.Options{Mode: cassettes.Record, Transport: http.NewFileTransportFS(os.DirFS(t.TempDir()))})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"messages":[{"role":"user","content":"hi"}]}`, `{"messages":7}`} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://example.com/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	journal, err := os.ReadFile(cassettes.JournalPath(path))
	if err := errors.Join(err, c.Abandon()); err != nil {
		t.Fatal(err)
	}
	const one = "1 POST http://example.com/v1/chat/completions openai-chat hi"
	for cut, want := range map[int][]string{
		0:  {one, "2 POST http://example.com/v1/chat/completions openai-chat ! file: interaction 2: invalid Chat Completions request: expected an array at messages (byte 13)"},
		10: {one, fmt.Sprintf("0  ! file: the recording was not closed: its last %d bytes are incomplete", len(journal)-bytes.LastIndex(journal, []byte("=== frame "))-10)},
	} {
		f, got := exchanges(t, bytes.NewReader(journal[:len(journal)-cut]))
		if diff := cmp.Diff(want, got); diff != "" || f != "cassette" {
			t.Errorf("without %d bytes it is a %s; (-want +got):\n%s", cut, f, diff)
		}
	}
}

// A request may be truncated or compressed, and a body without messages gives none.
func TestExchangesUnusual(t *testing.T) {
	const question, answer = `{"messages":[{"role":"user","content":"hi"}]}`, `{"id":"1","choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`
	const to = "1 POST https://api.openai.com/v1/chat/completions openai-chat"
	packed := over("POST", chatURL, pack(t, question), pack(t, answer))
	for _, h := range []http.Header{packed.Request.Header, packed.Response.Header} {
		h.Set("Content-Encoding", "gzip")
	}
	encoded := func(encoding, request, response string) *recording.Interaction {
		x := over("POST", chatURL, request, response)
		x.Request.Header.Set("Content-Encoding", encoding)
		x.Response.Header.Set("Content-Encoding", encoding)
		return x
	}
	cut := over("POST", chatURL, question, answer)
	cut.Response.Termination = recording.Truncated
	for name, c := range map[string]struct {
		x    *recording.Interaction
		want string
	}{
		"packed":                  {packed, to + " hi -> hello"},
		"text despite its header": {encoded("gzip", question, answer), to + " hi -> hello"},
		"an unknown encoding":     {encoded("compress", "\x1f\x9d", "\x1f\x9d"), to + ` ! file:5: interaction 1: content encoding "compress": unknown encoding: want gzip, deflate, br, zstd or identity: record it again without compression`},
		"cut":                     {cut, to + " hi"},
		"a body that is cut":      {over("POST", chatURL, `{"model":`, ""), to + " ! file:5: interaction 1: invalid Chat Completions request: expected a string at model (byte 10)"},
		"a prompt that is kept":   {over("POST", "https://api.openai.com/v1/responses", `{"prompt":{"id":"p"},"input":"hi"}`, ""), "1 POST https://api.openai.com/v1/responses openai-responses hi"},
		"a prompt alone":          {over("POST", "https://api.openai.com/v1/responses", `{"prompt":{"id":"p"}}`, ""), "1 POST https://api.openai.com/v1/responses openai-responses"},
		"Anthropic":               {over("POST", "https://api.anthropic.com/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, ""), "1 POST https://api.anthropic.com/v1/messages anthropic-messages hi"},
		"Gemini":                  {over("POST", "https://g.example/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, ""), "1 POST https://g.example/v1beta/models/m:generateContent gemini hi"},
		"no prompt":               {over("POST", chatURL, `{"model":"m"}`, answer), to + " ! file:5: interaction 1: the request to a model has no prompt: want a member messages"},
		"an encrypted prompt":     {over("POST", "https://proxy.example/v1/chat/completions", `{"data":"x"}`, `{"data":"y"}`), "1 POST https://proxy.example/v1/chat/completions openai-chat ! file:5: interaction 1: the request to a model has no prompt: want a member messages"},
		"no prompt to a provider": {over("POST", "https://api.anthropic.com/v1/messages", `{}`, `{}`), "1 POST https://api.anthropic.com/v1/messages anthropic-messages ! file:5: interaction 1: the request to a model has no prompt: want a member messages"},
		"no prompt, a model":      {over("POST", "https://example.com/v1/messages", `{"model":"m"}`, `{}`), "1 POST https://example.com/v1/messages anthropic-messages ! file:5: interaction 1: the request to a model has no prompt: want a member messages"},
		"a response of a model":   {over("POST", "https://example.com/v1/completions", `{}`, answer), "1 POST https://example.com/v1/completions openai-completions ! file:5: interaction 1: the request to a model has no prompt: want a member prompt"},
		"the stream of a model":   {over("POST", "https://example.com/v1/messages", `{}`, "event: message_start\ndata: {\"type\":\"message_start\"}\n\n"), "1 POST https://example.com/v1/messages anthropic-messages ! file:5: interaction 1: the request to a model has no prompt: want a member messages"},
		"another stream":          {over("POST", "https://example.com/v1/messages", `{}`, "data: {\"text\":\"x\"}\n\n"), "1 POST https://example.com/v1/messages"},
		"of another service":      {over("POST", "https://chat.example/channels/1/messages", `{"content":"hi"}`, `{"id":"1"}`), "1 POST https://chat.example/channels/1/messages"},
		"embeddings":              {over("POST", "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-2-multimodal-embeddings-v1%3A0/invoke", `{"taskType":"x"}`, `{}`), "1 POST https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-2-multimodal-embeddings-v1%3A0/invoke"},
	} {
		_, got := exchanges(t, bytes.NewReader(cassettes.Encode(recording.Metadata{}, nil, []*recording.Interaction{c.x})))
		if diff := cmp.Diff([]string{c.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func pack(t *testing.T, text string) string {
	t.Helper()
	b, err := io.ReadAll(zipped(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The lines of JSON that is read as YAML are not known.
func TestExchangesOfJSON(t *testing.T) {
	const src = `{"version":1,"interactions":[
{"request":{"method":"POST","uri":"https://api.openai.com/v1/chat/completions","headers":{},"body":"{\"messages\":7}"},"response":{"status":{"code":200,"message":"OK"},"headers":{},"body":{"string":""}}}]}`
	f, got := exchanges(t, strings.NewReader(src))
	want := []string{"1 POST https://api.openai.com/v1/chat/completions openai-chat ! file: interaction 1: invalid Chat Completions request: expected an array at messages (byte 13)"}
	if diff := cmp.Diff(want, got); diff != "" || f != "vcrpy" {
		t.Errorf("it is read as %s; (-want +got):\n%s", f, diff)
	}
}

// A run of an HTTP recording is a request with its response.
func TestExchangesAsRuns(t *testing.T) {
	list := []*recording.Interaction{
		over("GET", "https://example.com/", "", ""),
		over("POST", chatURL, `{"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hi"}]}`, `{"id":"1","choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`),
		over("POST", chatURL, `{"messages":7}`, "{}"),
		over("POST", chatURL, `{"messages":[{"role":"user","content":"ho"}]}`, ""),
	}
	_, got := read(t, bytes.NewReader(cassettes.Encode(recording.Metadata{}, nil, list)))
	want := []string{"interaction-2@13 system:be kind user:hi assistant:hello", "! file:33: interaction 3: invalid Chat Completions request: expected an array at messages (byte 13)", "interaction-4@43 user:ho"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// A run has the model and the tools of the request in addition to the messages.
func TestExchangesMeta(t *testing.T) {
	list := []*recording.Interaction{
		over("POST", chatURL, `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}`, ""),
		over("POST", chatURL, `{"messages":[{"role":"user","content":"ho"}]}`, ""),
	}
	src, err := importer.Open("file", bytes.NewReader(cassettes.Encode(recording.Metadata{}, nil, list)))
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]json.RawMessage
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, run.Meta)
	}
	want := []map[string]json.RawMessage{{"model": json.RawMessage(`"m"`), "tools": json.RawMessage(`[{"name":"f","parameters":{"type":"object"}}]`)}, {"model": json.RawMessage(`""`)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("other events (-want +got):\n%s", diff)
	}
}

// A file that only looks like an HTTP recording is reported with its line.
func TestExchangesErrors(t *testing.T) {
	for src, want := range map[string]string{
		"looptape-cassette 1\nrecorded soon\n": `file:2: "soon" is not a time such as 2026-01-02T15:04:05Z`,
		"looptape-cassette 9\n":                "file:1: unknown version of the format: got 9, want 1 to 2: use a newer looptape, or record again",
		"interactions:\n- 7\nversion: 1\n":     "file:2: interaction 1: want a mapping with a request and a response",
	} {
		_, err := importer.Open("file", strings.NewReader(src))
		if e, ok := errors.AsType[*importer.Error](err); !ok || e.Error() != want {
			t.Errorf("%.20q: got %v, want %s", src, err, want)
		}
	}
}

// The response to a request in the background comes with another request.
func TestExchangesBackground(t *testing.T) {
	const create, of = "https://api.openai.com/v1/responses", "https://api.openai.com/v1/responses/resp_1"
	const input = `{"model":"m","background":true,"input":"hi"}`
	response := func(status, text string) string {
		output := `[]`
		if text != "" {
			output = `[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"` + text + `"}]}]`
		}
		return `{"id":"resp_1","object":"response","status":"` + status + `","output":` + output + `,"usage":{"input_tokens":3,"output_tokens":4}}`
	}
	list := []*recording.Interaction{
		over("POST", create, input, response("queued", "")),
		over("GET", of+"?include=x", "", response("in_progress", "")),
		over("GET", of, "", response("completed", "hello")),
		over("GET", of, "", response("completed", "hello")),
		over("GET", of+"/input_items", "", `{"data":[]}`),
	}
	_, got := exchanges(t, bytes.NewReader(cassettes.Encode(recording.Metadata{}, nil, list)))
	want := []string{"1 POST " + create + " openai-responses hi", "2 GET " + of, "3 GET " + of + " openai-responses hi -> hello", "4 GET " + of, "5 GET " + of + "/input_items"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	_, got = exchanges(t, bytes.NewReader(cassettes.Encode(recording.Metadata{}, nil, list[2:3])))
	want = []string{"1 GET " + of + ` ! file:5: interaction 1: the response "resp_1" is to a request that is not in the recording`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("without the request (-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct {
		later []*recording.Interaction
		want  []string
	}{
		"still in progress": {list[1:2], []string{"2 GET " + of, "1 POST " + create + " ! file:5: interaction 1: the response is not complete, and a later one is not in the recording"}},
		"cancelled":         {[]*recording.Interaction{over("POST", of+"/cancel", "", response("cancelled", ""))}, []string{"2 POST " + of + "/cancel openai-responses hi -> "}},
		"deleted":           {[]*recording.Interaction{over("DELETE", of, "", `{"id":"resp_1","object":"response","deleted":true}`)}, []string{"2 DELETE " + of}},
	} {
		_, got = exchanges(t, bytes.NewReader(cassettes.Encode(recording.Metadata{}, nil, append(list[:1:1], c.later...))))
		if diff := cmp.Diff(append([]string{"1 POST " + create + " openai-responses hi"}, c.want...), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	src, err := importer.Open("file", bytes.NewReader(cassettes.Encode(recording.Metadata{}, nil, list)))
	if err != nil {
		t.Fatal(err)
	}
	var runs []string
	for run, err := range src.Conversations() {
		runs = append(runs, fmt.Sprint(run.Name, len(run.Messages), string(run.Meta["usage"]), err))
	}
	if diff := cmp.Diff([]string{`interaction-12{"input_tokens":3,"output_tokens":4}<nil>`}, runs); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// What came before the error of a provider is kept, and is not a message of the conversation. The
// usage of a failed response counts.
func TestExchangesFailed(t *testing.T) {
	const message = "https://api.anthropic.com/v1/messages"
	const stream = `data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"c","usage":{"input_tokens":5,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Let me"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}

data: {"type":"content_block_stop","index":1}

data: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}

`
	streamed := func(x *recording.Interaction) *recording.Interaction {
		x.Response.Header.Set("Content-Type", "text/event-stream")
		return x
	}
	const chunk = `data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"Let"}}]}

data: {"error":{"message":"busy","code":"server_error"}}

`
	const partial = `{"id":"r","object":"response","status":"failed","error":{"code":"server_error","message":"busy"},"output":[{"type":"function_call","id":"fc","call_id":"a","name":"f","arguments":"{}"}],"usage":{"input_tokens":7,"output_tokens":2}}`
	const question = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
	list := []*recording.Interaction{
		streamed(over("POST", message, strings.Replace(question, "{", `{"stream":true,`, 1), stream)),
		streamed(over("POST", chatURL, `{"stream":true,"messages":[{"role":"user","content":"ho"}]}`, chunk)),
		over("POST", "https://api.openai.com/v1/responses", `{"input":"hu"}`, partial),
		over("POST", chatURL, `{"messages":[{"role":"user","content":"he"}]}`, `{"error":{"message":"busy","code":"server_error"}}`),
		over("POST", message, question, `{"id":"m2","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":2}}`),
	}
	shown := func(runs func(*importer.Source) iter.Seq2[importer.Run, error]) (lines []string) {
		src, err := importer.Open("file", bytes.NewReader(cassettes.Encode(recording.Metadata{}, nil, list)))
		if err != nil {
			t.Fatal(err)
		}
		for run, err := range runs(src) {
			lines = append(lines, fmt.Sprintf("%s: %d messages, %v, %s %s", run.Name, len(run.Messages), err, run.Meta["usage"], run.Meta["failed_responses"]))
		}
		return lines
	}
	const first = `{"input_tokens":5,"output_tokens":1} [{"error":"anthropic-messages: status 200 overloaded_error: busy","message":{"role":"assistant","parts":[{"type":"text","text":"Let me"},{"type":"tool_call","id":"t","name":"f","arguments":"{}"}]},"usage":{"input_tokens":5,"output_tokens":1}}]`
	others := []string{
		`interaction-2: 1 messages, <nil>,  [{"error":"openai-chat: status 200 server_error: busy","message":{"role":"assistant","parts":[{"type":"text","text":"Let"}]},"usage":{"input_tokens":0,"output_tokens":0}}]`,
		`interaction-3: 1 messages, <nil>, {"input_tokens":7,"output_tokens":2} [{"error":"openai-responses: status 200 server_error: busy","message":{"role":"assistant","parts":[{"type":"tool_call","id":"a","name":"f","arguments":"{}","opaque":{"id":"fc"}}]},"usage":{"input_tokens":7,"output_tokens":2}}]`,
		"interaction-4: 1 messages, <nil>,  ",
	}
	want := append(append([]string{"interaction-1: 1 messages, <nil>, " + first}, others...), `interaction-5: 2 messages, <nil>, {"input_tokens":5,"output_tokens":2} `)
	if diff := cmp.Diff(want, shown((*importer.Source).Runs)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	want = append([]string{"interaction-1: 2 messages, <nil>, " + strings.Replace(first, `{"input_tokens":5,"output_tokens":1}`, `{"input_tokens":10,"output_tokens":3}`, 1)}, others...)
	if diff := cmp.Diff(want, shown((*importer.Source).Conversations)); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
}

// TestFailedTwice checks that a conversation has both attempts that failed before its response.
func TestFailedTwice(t *testing.T) {
	const question = `{"input":"hu"}`
	const failed = `{"id":"r","object":"response","status":"failed","error":{"code":"server_error","message":"busy"},"output":[],"usage":{"input_tokens":7,"output_tokens":2}}`
	const done = `{"id":"r2","object":"response","status":"completed","output":[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"hello"}]}],"usage":{"input_tokens":7,"output_tokens":1}}`
	const address = "https://api.openai.com/v1/responses"
	list := []*recording.Interaction{over("POST", address, question, failed), over("POST", address, question, failed), over("POST", address, question, done)}
	src, err := importer.Open("file", bytes.NewReader(cassettes.Encode(recording.Metadata{}, nil, list)))
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for run, err := range src.Conversations() {
		runs++
		var attempts []json.RawMessage
		if err := errors.Join(err, json.Unmarshal(run.Meta["failed_responses"], &attempts)); err != nil || len(attempts) != 2 {
			t.Errorf("%s: %d failed attempts, %v, want 2: %s", run.Name, len(attempts), err, run.Meta["failed_responses"])
		}
		if diff := cmp.Diff(`{"input_tokens":21,"output_tokens":5}`, string(run.Meta["usage"])); diff != "" {
			t.Errorf("%s: usage (-want +got):\n%s", run.Name, diff)
		}
	}
	if runs != 1 {
		t.Errorf("got %d runs, want 1", runs)
	}
}

// A response with content that answers GET, such as a deferred completion of xAI, is reported unless an earlier request
// has it. A request to an endpoint of Databricks may be to another model.
func TestResponsesToOtherRequests(t *testing.T) {
	const deferred, stored = "https://api.x.ai/v1/chat/deferred-completion/1", "https://api.openai.com/v1/chat/completions/c"
	const done = `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"k"},"finish_reason":"stop"}]}`
	const endpoint = "https://adb.azuredatabricks.net/serving-endpoints/m/invocations"
	for name, c := range map[string]struct {
		list []*recording.Interaction
		want string
	}{
		"deferred":           {[]*recording.Interaction{over("GET", deferred, "", done)}, `the response "c" is to a request that is not in the recording`},
		"stored":             {[]*recording.Interaction{over("POST", chatURL, chatSent, done), over("GET", stored, "", done)}, ""},
		"candidates":         {[]*recording.Interaction{over("GET", "https://maps.example/find", "", `{"candidates":[{"name":"x"}],"choices":["a"],"status":"OK"}`)}, ""},
		"Databricks":         {[]*recording.Interaction{over("POST", endpoint, chatSent, done)}, ""},
		"a table":            {[]*recording.Interaction{over("POST", endpoint, `{"dataframe_split":{"columns":["a"],"data":[[1]]}}`, `{"predictions":[1]}`)}, ""},
		"without its prompt": {[]*recording.Interaction{over("POST", endpoint, `{"query":"q"}`, done)}, "the request to a model has no prompt"},
	} {
		file, _, err := convert.Write(convert.HAR, recording.Metadata{}, c.list)
		if err != nil {
			t.Fatal(err)
		}
		isReported(t, name, string(file), c.want)
	}
}

// The decoded bodies of a recording have a limit together. Further requests are errors, except small ones and
// those without an encoding.
func TestDecodedBodiesLimit(t *testing.T) {
	const answer = `{"id":"1","choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`
	question := func(size int) string {
		return `{"messages":[{"role":"user","content":"` + strings.Repeat(" ", size) + `hi"}]}`
	}
	list := []*recording.Interaction{over("POST", chatURL, question(0), answer)}
	for _, size := range []int{10 << 20, 10 << 20, 20 << 20, 20 << 20, 0} {
		x := over("POST", chatURL, pack(t, question(size)), answer)
		x.Request.Header.Set("Content-Encoding", "gzip")
		list = append(list, x)
	}
	list = append(list, over("POST", chatURL, question(20<<20), answer))
	for _, processors := range []int{1, 4} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		src, err := importer.Open("file", bytes.NewReader(cassettes.Encode(recording.Metadata{}, nil, list)))
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for e, err := range src.Exchanges() {
			switch {
			case err == nil:
				got = append(got, e.Number)
			case !strings.HasSuffix(err.Error(), fmt.Sprintf(": interaction %d: the limit of 32 MiB for decoded bodies of the file is exceeded: record it again without compression", e.Number)):
				t.Error(err)
			}
		}
		if diff := cmp.Diff([]int{1, 2, 3, 6, 7}, got); diff != "" {
			t.Errorf("requests that are read (-want +got):\n%s", diff)
		}
	}
}
