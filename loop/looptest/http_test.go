package looptest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/looptest"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// httpClients are clients of the protocols for a server at a URL.
var httpClients = map[string]func(url string) *protocol.Client{
	"chat": func(url string) *protocol.Client {
		return &protocol.Client{Protocol: chat.Protocol{}, BaseURL: url + "/openai/v1", Authorize: openai.Key("any-key")}
	},
	"responses": func(url string) *protocol.Client {
		return &protocol.Client{Protocol: responses.Protocol{}, BaseURL: url + "/openai/v1", Authorize: openai.Key("any-key")}
	},
	"anthropic": func(url string) *protocol.Client {
		return &protocol.Client{Protocol: anthropic.Messages{}, BaseURL: url + "/anthropic", Authorize: anthropic.Key("any-key")}
	},
	"gemini": func(url string) *protocol.Client {
		return &protocol.Client{Protocol: gemini.GenerateContent{}, BaseURL: url + "/gemini/v1beta", Authorize: gemini.Key("any-key")}
	},
}

// httpLoop returns the other loop with a client of a protocol.
func httpLoop(client string, mode llm.ResponseMode, fault string) func(context.Context, *http.Client, string, *looptest.Input) (string, error) {
	var runs atomic.Int64
	return func(ctx context.Context, h *http.Client, url string, in *looptest.Input) (string, error) {
		if n := runs.Add(1); fault == "run number" {
			for i, tool := range in.Tools {
				in.Tools[i].Run = func(ctx context.Context, args string) (string, error) {
					text, err := tool.Run(ctx, args)
					return fmt.Sprint(text, n), err
				}
			}
		}
		model := modelOf(client, h, url, "some-model")
		model.always = fault == "asks on"
		in.Model, in.ResponseMode, in.Step = model, mode, func([]llm.Message) {}
		return answerOf((&other{fault: fault}).Run(ctx, in))
	}
}

// answerOf returns the text of the last message of a result.
func answerOf(out *looptest.Result, err error) (string, error) {
	if err != nil || len(out.Messages) == 0 {
		return "", err
	}
	return out.Messages[len(out.Messages)-1].Text(), nil
}

// modelOf returns the model with a name over a protocol.
func modelOf(client string, h *http.Client, url, name string) named {
	model := httpClients[client](url)
	model.HTTP = h
	return named{Client: model, name: name}
}

// named sets the model name of requests, and may send them after a cancellation.
type named struct {
	*protocol.Client
	name   string
	always bool
}

func (n named) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	req.Model = n.name
	if n.always {
		ctx = context.WithoutCancel(ctx)
	}
	return n.Client.Stream(ctx, req)
}

func TestHTTP(t *testing.T) {
	for client := range httpClients {
		for name, mode := range map[string]llm.ResponseMode{"streaming": llm.Streaming, "non-streaming": llm.NonStreaming} {
			t.Run(client+" "+name, func(t *testing.T) { looptest.HTTP(t, httpLoop(client, mode, "")) })
		}
	}
}

// TestHTTPWithoutRequests checks that each case that needs a request has the cause if none comes to the
// server.
func TestHTTPWithoutRequests(t *testing.T) {
	send := func(ctx context.Context, client *http.Client, url string) (string, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
		if err != nil {
			return "", err
		}
		got, err := client.Do(r)
		if err != nil {
			return "", err
		}
		return "", got.Body.Close()
	}
	for name, c := range map[string]struct {
		loop func(ctx context.Context, client *http.Client, url string) (string, error)
		want string
	}{
		"no request": {func(context.Context, *http.Client, string) (string, error) { return "done", nil }, "the loop sent no request with the given client"},
		"an error": {func(context.Context, *http.Client, string) (string, error) { return "", errors.New("no key") },
			"the loop sent no request with the given client, and returned an error: no key"},
		"another server": {func(ctx context.Context, client *http.Client, _ string) (string, error) {
			return send(ctx, client, "https://me:secret@api.openai.com/v1/responses")
		}, "the loop ignores the base URL http://looptape.invalid: its first request is POST https://me:xxxxx@api.openai.com/v1/responses"},
		"another server without TLS": {func(ctx context.Context, client *http.Client, _ string) (string, error) {
			return send(ctx, client, "http://localhost:11434/openai/v1/responses")
		}, "the loop ignores the base URL http://looptape.invalid: its first request is POST http://localhost:11434/openai/v1/responses"},
		"another path": {func(ctx context.Context, client *http.Client, url string) (string, error) {
			return send(ctx, client, url+"/v1/chat/completions")
		}, "the server does not have the path of the first request, POST /v1/chat/completions: it has POST /openai/v1/chat/completions, /openai/v1/responses"},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]int{}
			for _, v := range looptest.HTTPViolations(t, func(ctx context.Context, client *http.Client, url string, _ *looptest.Input) (string, error) {
				return c.loop(ctx, client, url)
			}) {
				got[v.Invariant+": "+v.Message]++
				if want := `Call the model of the input. With HTTP, configure the SDK with the given client and a base URL of the server, such as baseURL + "/openai/v1".`; v.Hint != want {
					t.Errorf("hint %q, want %q", v.Hint, want)
				}
			}
			if diff := cmp.Diff(map[string]int{"INV-11: " + c.want: len(looptest.CaseNames(true)) - 1}, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHTTPOwnClient checks that a client that looks up names in one case does not end the process in another.
func TestHTTPOwnClient(t *testing.T) {
	for range 2 {
		found := looptest.HTTPViolations(t, func(ctx context.Context, _ *http.Client, url string, _ *looptest.Input) (string, error) {
			ctx, cancel := context.WithCancel(ctx)
			cancel() // no server is asked
			_, err := net.DefaultResolver.LookupHost(ctx, strings.TrimPrefix(url, "http://"))
			return "", err
		})
		if want := len(looptest.CaseNames(true)) - 1; len(found) != want || found[0].Invariant != "INV-11" {
			t.Errorf("got %v, want INV-11 in %d cases", found, want)
		}
	}
}

// httpFaults are the faults of the other loop that HTTP shows, with their invariants.
var httpFaults = map[string]string{
	"drops": "INV-01", "mixes": "INV-01", "reminds": "INV-02", "finished": "INV-03", "ids": "INV-04", "trims": "INV-05", "mute": "INV-05",
	"twice": "INV-08", "guesses": "INV-08", "{} instead": "INV-09", "finish stop": "INV-11", "finish calls": "INV-11",
	"no wait": "INV-16", "watcher": "INV-16", "starts on": "INV-17", "asks on": "INV-17",
	"escapes": "INV-23", "panics": "INV-23", "deaf model": "INV-26", "deaf tool": "INV-26", "stuck": "INV-26", "run number": "INV-27",
}

// notShown are the faults that a protocol does not show: it has no such finish reason, no ids, or
// no arguments that are not JSON, or its client does not send the request.
var notShown = map[string][]string{"{} instead": {"anthropic", "gemini"}, "ids": {"gemini"}, "trims": {"anthropic"}, "finish stop": {"responses"}, "finish calls": {"responses", "gemini"}}

// TestHTTPFaults checks that each fault of the other loop violates its invariant.
func TestHTTPFaults(t *testing.T) {
	for fault, want := range httpFaults {
		t.Run(fault, func(t *testing.T) {
			for client := range httpClients {
				var got []string
				for _, v := range looptest.HTTPViolations(t, httpLoop(client, llm.NonStreaming, fault)) {
					got = append(got, v.Invariant)
				}
				slices.Sort(got)
				if slices.Contains(got, want) == slices.Contains(notShown[fault], client) {
					t.Errorf("%s: got %q, want %s unless the protocol does not show it", client, slices.Compact(got), want)
				}
			}
		})
	}
}
