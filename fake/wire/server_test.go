package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// protocols are the four protocols, each with a client of one server.
var protocols = []struct {
	name     string
	provider string
	proto    protocol.Protocol
	key      func(string) func(*http.Request) error
}{
	{"openai-chat", wire.OpenAI, chat.Protocol{}, openai.Key},
	{"openai-responses", wire.OpenAI, responses.Protocol{}, openai.Key},
	{"anthropic-messages", wire.Anthropic, anthropic.Messages{}, anthropic.Key},
	{"gemini", wire.Gemini, gemini.GenerateContent{}, gemini.Key},
}

// serve starts a server and returns a client of each protocol.
func serve(t *testing.T, cfg wire.Config, session string) (*wire.Server, map[string]*protocol.Client) {
	t.Helper()
	s := wire.New(cfg)
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	t.Cleanup(h.Client().CloseIdleConnections)
	return s, clientsOf(h.URL, session, h.Client())
}

func request(responseMode llm.ResponseMode, messages ...llm.Message) *llm.Request {
	return &llm.Request{Model: "some-model", Messages: messages, ResponseMode: responseMode, Tools: []llm.Tool{{Name: "weather", Parameters: []byte(`{"type":"object"}`)}}}
}

func ask(c *protocol.Client, req *llm.Request) (*llm.Response, error) {
	return llm.Collect(c.Stream(context.Background(), req))
}

func apiError(t *testing.T, err error) *llm.APIError {
	t.Helper()
	e, ok := errors.AsType[*llm.APIError](err)
	if !ok {
		t.Fatalf("the error is %v, not an *llm.APIError", err)
	}
	return e
}

// A conversation of two responses has the scripted result in each protocol and response mode.
func TestConversation(t *testing.T) {
	script := []fake.Response{
		{Text: "I will look.", Calls: []fake.Call{{ID: "call_1", Name: "weather", Arguments: `{"city":"Bern"}`}, {ID: "call_2", Name: "weather", Arguments: `{"city":"Rome"}`}}, ChunkSize: 4, Usage: llm.Usage{InputTokens: 11, OutputTokens: 7}},
		{Text: "Rain in Bern, sun in Rome ☀.", ChunkSize: 5, Usage: llm.Usage{InputTokens: 31, OutputTokens: 9}},
	}
	for _, k := range protocols {
		for _, responseMode := range []llm.ResponseMode{llm.Streaming, llm.NonStreaming} {
			t.Run(fmt.Sprintf("%s/%q", k.name, responseMode), func(t *testing.T) {
				s, clients := serve(t, wire.Config{Model: fake.NewModel(script...)}, "")
				c := clients[k.name]
				history := []llm.Message{llm.User("What is the weather in Bern and Rome?")}
				turn, err := ask(c, request(responseMode, history...))
				if err != nil {
					t.Fatal(err)
				}
				var calls []string
				for _, call := range turn.Calls() {
					calls = append(calls, call.ID+" "+call.Name+" "+call.Arguments)
				}
				if diff := cmp.Diff([]string{`call_1 weather {"city":"Bern"}`, `call_2 weather {"city":"Rome"}`}, calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				if turn.Text() != "I will look." || turn.Usage != (llm.Usage{InputTokens: 11, OutputTokens: 7}) || turn.ResponseID == "" || turn.Model != "some-model" {
					t.Errorf("got %+v", turn)
				}
				history = append(history, turn.Message(), llm.ToolResults(
					llm.ToolResult{ID: "call_1", Name: "weather", Content: []llm.Part{llm.Text{Text: "rain"}}},
					llm.ToolResult{ID: "call_2", Name: "weather", Content: []llm.Part{llm.Text{Text: "sun"}}},
				))
				turn, err = ask(c, request(responseMode, history...))
				if err != nil || turn.Text() != "Rain in Bern, sun in Rome ☀." || turn.FinishReason != llm.FinishStop || len(turn.Warnings) > 0 {
					t.Errorf("got %+v, %v", turn, err)
				}
				if r := s.Report(); r.Requests != 2 || len(r.RejectedRequests) > 0 || len(r.Violations) > 0 {
					t.Errorf("the report is %+v", r)
				}
			})
		}
	}
}

// Concurrent clients in their own sessions get the same responses.
func TestSessions(t *testing.T) {
	m := fake.NewModel(fake.Response{Text: "one"}, fake.Response{Text: "two"})
	s := wire.New(wire.Config{Model: m})
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	t.Cleanup(h.Client().CloseIdleConnections)
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Go(func() {
			c := &protocol.Client{Protocol: chat.Protocol{}, BaseURL: wire.ServerInfo{URL: h.URL}.BaseURL(wire.OpenAI, fmt.Sprint("lane", i)), HTTP: h.Client(), Authorize: openai.Key("secret-key")}
			first, err := ask(c, request(llm.Streaming, llm.User("hi")))
			if err != nil || first.Text() != "one" {
				t.Errorf("session %d: %v, %v", i, first, err)
				return
			}
			second, err := ask(c, request(llm.Streaming, llm.User("hi"), first.Message(), llm.User("more")))
			if err != nil || second.Text() != "two" {
				t.Errorf("session %d: %v, %v", i, second, err)
			}
			ids[i] = first.ResponseID
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			t.Errorf("two sessions have a response with the id %s", id)
		}
		seen[id] = true
	}
}

// Clients get the scripted errors in each protocol.
func TestErrors(t *testing.T) {
	for _, k := range protocols {
		t.Run(k.name, func(t *testing.T) {
			_, clients := serve(t, wire.Config{Model: fake.NewModel(
				fake.Response{Attempts: []fake.Response{
					{Error: &fake.Failure{Status: 429, Message: "slow down", RetryAfter: 2e9}},
					{Text: "so far", Error: &fake.Failure{Status: 503, Message: "gone"}},
					{Text: "so far", Error: &fake.Failure{Connection: fake.ConnectionClosed}},
					{Text: "so far", Error: &fake.Failure{Connection: fake.ConnectionReset}},
					{Text: "at last"},
				}},
			)}, "")
			c := clients[k.name]
			req := request(llm.Streaming, llm.User("hi"))
			_, err := ask(c, req)
			if e := apiError(t, err); e.Status != 429 || e.Message != "slow down" || e.RetryAfter != 2e9 || !e.Retryable {
				t.Errorf("first: %+v", e)
			}
			turn, err := ask(c, req)
			if e := apiError(t, err); turn.Text() != "so far" || e.Message != "gone" {
				t.Errorf("second: %q, %+v", turn.Text(), e)
			}
			for _, n := range []string{"third", "fourth"} {
				turn, err = ask(c, req)
				if e := apiError(t, err); turn.Text() != "so far" || !e.Retryable || !errors.Is(err, protocol.ErrTruncated) {
					t.Errorf("%s: %q, %+v", n, turn.Text(), e)
				}
			}
			if turn, err = ask(c, req); err != nil || turn.Text() != "at last" {
				t.Errorf("fifth: %q, %v", turn.Text(), err)
			}
		})
	}
}

// A wrong key is rejected as the provider does, and no error contains it.
func TestWrongKey(t *testing.T) {
	for _, k := range protocols {
		s, clients := serve(t, wire.Config{Model: fake.NewModel(fake.Response{Text: "hi"}), Key: "the-right-key"}, "")
		c := clients[k.name]
		_, err := ask(c, request(llm.Streaming, llm.User("hi")))
		status := 401
		if k.provider == wire.Gemini {
			status = 400
		}
		if e := apiError(t, err); e.Status != status || e.Retryable {
			t.Errorf("%s: %+v", k.name, e)
		}
		c.Authorize = k.key("the-right-key")
		if _, err := ask(c, request(llm.Streaming, llm.User("hi"))); err != nil {
			t.Errorf("%s, with the right key: %v", k.name, err)
		}
		if r := s.Report(); len(r.RejectedRequests) != 1 || r.RejectedRequests[0].Status != status || r.RejectedRequests[0].Protocol != k.name {
			t.Errorf("%s: the report is %+v", k.name, r)
		}
	}
}

// The report contains the invariants that a request broke, also if the request was rejected.
func TestViolations(t *testing.T) {
	s, clients := serve(t, wire.Config{Model: fake.NewModel(fake.Response{Text: "hi"})}, "a")
	_, err := ask(clients["openai-chat"], request(llm.Streaming, llm.User("hi"), llm.Assistant(llm.ToolCall{ID: "c1", Name: "weather", Arguments: "{}"}), llm.User("well?")))
	if e := apiError(t, err); e.Status != 400 {
		t.Errorf("got %+v", e)
	}
	r := s.Report()
	if len(r.Violations) != 1 || r.Violations[0].Invariant != "INV-01" || r.Violations[0].Request != 1 {
		t.Errorf("the violations are %+v", r.Violations)
	}
	if len(r.RejectedRequests) != 1 || r.RejectedRequests[0].ID != "SO-01" || r.RejectedRequests[0].Request != 1 || r.RejectedRequests[0].Session != "a" {
		t.Errorf("the refusals are %+v", r.RejectedRequests)
	}
}

// A request after the last scripted response gets an error immediately.
func TestScriptRunsOut(t *testing.T) {
	s, clients := serve(t, wire.Config{Model: fake.NewModel()}, "")
	_, err := ask(clients["anthropic-messages"], request(llm.Streaming, llm.User("hi")))
	if e := apiError(t, err); e.Status != 400 || e.Retryable {
		t.Errorf("got %+v", e)
	}
	if r := s.Report(); len(r.RejectedRequests) != 1 {
		t.Errorf("the report is %+v", r)
	}
}

// A stream of Chat Completions contains the usage if the request asks for it.
func TestUsageIfRequested(t *testing.T) {
	for options, want := range map[string]bool{
		"": false, `,"stream_options":null`: false, `,"stream_options":{"include_usage":false}`: false,
		`,"stream_options":{"include_usage":true}`: true, `,"stream_options":{"include_usage":true,"include_obfuscation":false}`: true,
	} {
		s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "one", Usage: llm.Usage{InputTokens: 3, OutputTokens: 4}})})
		w := post(t, s, "/openai/v1/chat/completions", `{"model":"m","stream":true`+options+`,"messages":[{"role":"user","content":"hi"}]}`)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"usage":{`) != want || !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n") {
			t.Errorf("with %q got %d %s", options, w.Code, w.Body)
		}
	}
}
