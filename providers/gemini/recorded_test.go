package gemini_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// heard is the content of a response, as this file decodes it.
type heard struct {
	Text, Reasoning, Finish, ID, Model string
	Calls                              []heardCall
	Usage                              map[string]int64
}

type heardCall struct {
	ID, Name  string
	Args      any
	Signature string
}

// rawAnswer is a response or one of its chunks.
type rawAnswer struct {
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text             string
				Thought          bool
				ThoughtSignature string
				FunctionCall     *struct {
					ID, Name string
					Args     any
				}
			}
		}
		FinishReason string
	}
	UsageMetadata            map[string]any
	ModelVersion, ResponseID string
	Error                    *struct{ Code int }
}

func hear(t *testing.T, chunks ...[]byte) heard {
	t.Helper()
	h := heard{Usage: map[string]int64{}}
	for _, c := range chunks {
		var a rawAnswer
		if err := json.Unmarshal(c, &a); err != nil {
			t.Fatalf("%v: %s", err, c)
		}
		for k, v := range a.UsageMetadata {
			if n, ok := v.(float64); ok {
				h.Usage[k] = int64(n)
			}
		}
		h.ID, h.Model = a.ResponseID, a.ModelVersion
		for _, cand := range a.Candidates {
			h.Finish += cand.FinishReason
			for _, p := range cand.Content.Parts {
				switch {
				case p.FunctionCall != nil:
					args := p.FunctionCall.Args
					if args == nil {
						args = map[string]any{}
					}
					h.Calls = append(h.Calls, heardCall{p.FunctionCall.ID, p.FunctionCall.Name, args, p.ThoughtSignature})
				case p.Thought:
					h.Reasoning += p.Text
				default:
					h.Text += p.Text
				}
			}
		}
	}
	return h
}

// hold compares a response with heard.
func (h heard) hold(t *testing.T, got *llm.Response) {
	t.Helper()
	is := heard{Text: got.Text(), Finish: got.RawFinishReason, ID: got.ResponseID, Model: got.Model, Usage: h.Usage}
	is.Reasoning, _ = got.Reasoning()
	for _, c := range got.Calls() {
		var args any
		if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
			t.Errorf("the arguments %s: %v", c.Arguments, err)
		}
		var o struct{ ThoughtSignature string }
		if c.Opaque != nil {
			if err := json.Unmarshal(c.Opaque, &o); err != nil {
				t.Errorf("the opaque data %s: %v", c.Opaque, err)
			}
		}
		is.Calls = append(is.Calls, heardCall{c.ID, c.Name, args, o.ThoughtSignature})
	}
	if diff := cmp.Diff(h, is); diff != "" {
		t.Errorf("(-heard +decoded):\n%s", diff)
	}
	u := llm.Usage{
		InputTokens:          h.Usage["promptTokenCount"] + h.Usage["toolUsePromptTokenCount"],
		OutputTokens:         h.Usage["candidatesTokenCount"] + h.Usage["thoughtsTokenCount"],
		CacheReadInputTokens: h.Usage["cachedContentTokenCount"], ReasoningOutputTokens: h.Usage["thoughtsTokenCount"],
	}
	if diff := cmp.Diff(u, got.Usage); diff != "" {
		t.Errorf("usage (-heard +decoded):\n%s", diff)
	}
	if total := h.Usage["totalTokenCount"]; total != got.Usage.Total() {
		t.Errorf("the provider counts %d tokens in all, we %d", total, got.Usage.Total())
	}
	if want := map[string]llm.FinishReason{"STOP": llm.FinishStop, "UNEXPECTED_TOOL_CALL": llm.FinishMalformedCall}[h.Finish]; got.FinishReason != want {
		t.Errorf("the finish is %q, want %q", got.FinishReason, want)
	}
}

// events are the data of a stream's events, read in the plainest way.
func events(body []byte) (out [][]byte) {
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			out = append(out, bytes.TrimSpace(data))
		}
	}
	return out
}

// holdStream decodes a recorded stream, whole and in chunks.
func holdStream(t *testing.T, body []byte) *llm.Response {
	t.Helper()
	got, _, err := stream(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	hear(t, events(body)...).hold(t, got)
	return got
}

func TestRecordedStreams(t *testing.T) {
	dir := shared(t, "data/wire")
	f, err := os.Open(filepath.Join(dir, "golden.jsonl"))
	if err != nil {
		t.Skipf("the recordings are not here: %v", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		var want struct {
			File, Protocol, Finish string
			TextSHA256             string `json:"text_sha256"`
			Chars                  int    `json:"text_chars"`
			ReasoningChars         int    `json:"reasoning_chars"`
			Calls                  []struct {
				ID        *string
				Name      string
				Arguments any
			} `json:"tool_calls"`
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if want.Protocol != "gemini" {
			continue
		}
		n++
		t.Run(want.File, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join(dir, want.File))
			if err != nil {
				t.Fatal(err)
			}
			got := holdStream(t, body)
			cuts(t, string(body))
			sum := sha256.Sum256([]byte(got.Text()))
			thought, _ := got.Reasoning()
			if hex.EncodeToString(sum[:]) != want.TextSHA256 || utf8.RuneCountInString(got.Text()) != want.Chars || utf8.RuneCountInString(thought) != want.ReasoningChars {
				t.Errorf("the text %q and the reasoning %q are not the golden's", got.Text(), thought)
			}
			if len(got.Calls()) != len(want.Calls) || got.RawFinishReason != want.Finish {
				t.Fatalf("got %d calls and %s, want %d and %s", len(got.Calls()), got.RawFinishReason, len(want.Calls), want.Finish)
			}
			for i, c := range got.Calls() {
				var args any
				_ = json.Unmarshal([]byte(c.Arguments), &args)
				if diff := cmp.Diff(want.Calls[i].Arguments, args); diff != "" || c.Name != want.Calls[i].Name {
					t.Errorf("call %d: %s (-want +got):\n%s", i, c.Name, diff)
				}
				if id := want.Calls[i].ID; (id == nil) != (c.ID == "") || id != nil && *id != c.ID {
					t.Errorf("call %d has the id %q", i, c.ID)
				}
			}
		})
	}
	if n == 0 {
		t.Error("the list has no stream of Gemini")
	}
}

func TestRecordedChunks(t *testing.T) {
	dir := shared(t, "data/wire/gemini/vercel-ai")
	for name, want := range map[string][]string{
		"google__google-reasoning-gemini3.chunks.txt":          nil,
		"google__google-stream-no-args-tool-call.chunks.txt":   {`read_theme {}`, `read_screen {"id":"A"}`, `read_screen {"id":"B"}`, `read_screen {"id":"C"}`},
		"google__google-stream-tool-call-arguments.chunks.txt": {`getWeather {"location":"Boston"}`, `getWeather {"location":"San Francisco"}`},
		"google__google-tool-call-gemini3.chunks.txt":          {`weather {"location":"San Francisco"}`},
		"google__google-tool-call.chunks.txt":                  {`weather {"location":"San Francisco"}`},
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Skipf("the recordings are not here: %v", err)
		}
		body := chunks(strings.Split(strings.TrimSpace(string(data)), "\n")...)
		got, _, err := stream(strings.NewReader(body))
		var calls []string
		for _, c := range got.Calls() {
			calls = append(calls, c.Name+" "+c.Arguments)
		}
		if diff := cmp.Diff(want, calls); diff != "" || err != nil || got.FinishReason != llm.FinishStop || len(got.Warnings) > 0 {
			t.Errorf("%s: %v, %v (-want +got):\n%s", name, err, got.Warnings, diff)
		}
	}
}

// exchange is a recorded request with its response.
type exchange struct {
	name, path     string
	request, reply []byte
	status         int
}

func (x exchange) hold(t *testing.T) {
	t.Helper()
	req, err := codec.DecodeRequest(x.path, x.request)
	if err != nil {
		t.Fatal(err)
	}
	again, err := codec.EncodeRequest(req)
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]any
	if err := errors.Join(json.Unmarshal(x.request, &want), json.Unmarshal(again.Body, &got)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(normalized(want), got); diff != "" || again.Path != x.path {
		t.Errorf("the request, read and written again, to %s (-recorded +ours):\n%s", again.Path, diff)
	}
	back, err := codec.DecodeRequest(again.Path, again.Body)
	same := cmp.Transformer("JSON", func(raw json.RawMessage) string { return jsonval.Canonical(string(raw)) })
	if diff := cmp.Diff(req, back, same); diff != "" || err != nil {
		t.Errorf("the request, read a second time: %v (-first +second):\n%s", err, diff)
	}
	switch {
	case x.status != http.StatusOK:
		var body struct {
			Error struct {
				Message string
				Status  string
			}
		}
		if err := json.Unmarshal(x.reply, &body); err != nil {
			t.Fatal(err)
		}
		if e := codec.DecodeError(x.status, nil, x.reply); e.Message != body.Error.Message || e.Status != x.status || e.Code != "CREDENTIALS_MISSING" || e.Retryable {
			t.Errorf("the error is %+v", e)
		}
	case bytes.HasPrefix(x.reply, []byte("data:")):
		holdStream(t, x.reply)
	default:
		turn, err := whole(x.reply)
		if err != nil {
			t.Fatal(err)
		}
		hear(t, x.reply).hold(t, turn)
	}
}

// normalized makes the allowed changes to a request: it omits a default mode, an empty role and
// empty values, and writes schemas as JSON Schema.
func normalized(r map[string]any) map[string]any {
	if s, ok := r["systemInstruction"].(map[string]any); ok && len(s["parts"].([]any)) == 1 {
		delete(s, "role")
	}
	if diff := cmp.Diff(map[string]any{"functionCallingConfig": map[string]any{"mode": "AUTO"}}, r["toolConfig"]); diff == "" {
		delete(r, "toolConfig")
	}
	for _, c := range r["contents"].([]any) {
		for _, p := range c.(map[string]any)["parts"].([]any) {
			p := p.(map[string]any)
			if len(p) == 1 && p["thoughtSignature"] != nil {
				p["text"] = ""
			}
			for key, in := range map[string]string{"functionCall": "args", "functionResponse": "response"} {
				if f, ok := p[key].(map[string]any); ok && f[in] == nil {
					f[in] = map[string]any{}
				}
			}
		}
	}
	config, _ := r["generationConfig"].(map[string]any)
	if len(config) == 0 {
		delete(r, "generationConfig")
	} else if s, ok := config["responseSchema"]; ok {
		delete(config, "responseSchema")
		config["responseJsonSchema"] = lower(s)
	}
	tools, _ := r["tools"].([]any)
	for _, tool := range tools {
		for _, f := range tool.(map[string]any)["functionDeclarations"].([]any) {
			f := f.(map[string]any)
			if s, ok := f["parameters"]; ok {
				delete(f, "parameters")
				f["parametersJsonSchema"] = lower(s)
			}
		}
	}
	return r
}

func lower(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if s, ok := x.(string); ok && k == "type" {
				v[k] = strings.ToLower(s)
			} else {
				v[k] = lower(x)
			}
		}
	case []any:
		for i, x := range v {
			v[i] = lower(x)
		}
	}
	return v
}

// pathOf is the path after the base URL.
func pathOf(url string) string {
	url, _, _ = strings.Cut(url, "?")
	for _, base := range []string{"/v1beta/", "/publishers/google/"} {
		if _, path, ok := strings.Cut(url, base); ok && strings.HasPrefix(path, "models/") {
			return "/" + path
		}
	}
	_, path, _ := strings.Cut(url, "/v1beta1")
	return path
}

func TestRecordedCassettes(t *testing.T) {
	dir := shared(t, "data/fantasy-cassettes")
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte("enerateContent")) {
			return err
		}
		var cassette struct {
			Interactions []struct {
				Request  struct{ URL, Body string }
				Response struct {
					Body string
					Code int
				}
			}
		}
		if err := yaml.Unmarshal(data, &cassette); err != nil {
			return err
		}
		for _, i := range cassette.Interactions {
			n++
			x := exchange{path, pathOf(i.Request.URL), []byte(i.Request.Body), []byte(i.Response.Body), i.Response.Code}
			t.Run(strings.TrimPrefix(path, dir), x.hold)
		}
		return nil
	})
	if err != nil || n == 0 {
		t.Skipf("the recordings are not here: %d of them, %v", n, err)
	}
}

func TestRecordedLoops(t *testing.T) {
	dir := shared(t, "data/adk-go-httprr")
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".httprr" {
			return err
		}
		f, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, x := range httprr(t, f) {
			n++
			t.Run(strings.TrimPrefix(path, dir), x.hold)
		}
		return nil
	})
	if err != nil || n == 0 {
		t.Skipf("the recordings are not here: %d of them, %v", n, err)
	}
}

// httprr reads the exchanges of a file of that format: a line, two lengths, and HTTP of
// these lengths.
func httprr(t *testing.T, data []byte) (out []exchange) {
	t.Helper()
	_, data, _ = bytes.Cut(data, []byte("\n"))
	for len(data) > 0 {
		var head []byte
		head, data, _ = bytes.Cut(data, []byte("\n"))
		var n, m int
		for i, f := range bytes.Fields(head) {
			if err := json.Unmarshal(f, []*int{&n, &m}[i]); err != nil {
				t.Fatal(err)
			}
		}
		request, reply := data[:n], data[n:n+m]
		data = data[n+m:]
		line, _, _ := bytes.Cut(request, []byte("\r\n"))
		_, body, _ := bytes.Cut(request, []byte("\r\n\r\n"))
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(reply)), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		_, answer, _ := bytes.Cut(reply, []byte("\r\n\r\n"))
		out = append(out, exchange{path: pathOf(strings.Fields(string(line))[1]), request: body, reply: answer, status: resp.StatusCode})
	}
	return out
}

// The encoded form of a recorded response has the same content.
func TestRecordedResponsesAgain(t *testing.T) {
	dir := shared(t, "data/wire/gemini")
	files, _ := filepath.Glob(filepath.Join(dir, "*.sse"))
	if len(files) == 0 {
		t.Skip("the recordings are not here")
	}
	for _, f := range files {
		body, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		want, all, err := stream(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		again := written(t, answerOf(want), slices.Clone(all))
		got, _, err := stream(strings.NewReader(again))
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", f, err, diff)
		}
	}
}
