package wire_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/llm/llmtest"
)

// The clients of the four protocols satisfy the contract suite, also if a response arrives
// byte by byte.
func TestContract(t *testing.T) {
	for _, k := range protocols {
		t.Run(k.name, func(t *testing.T) { llmtest.Check(t, contract(k.name, nil)) })
		t.Run(k.name+", byte by byte", func(t *testing.T) { llmtest.Check(t, contract(k.name, iotest.OneByteReader)) })
	}
}

// contract returns the suite for the client of a protocol. Cut, if set, splits the bodies that
// it reads.
func contract(name string, cut func(io.Reader) io.Reader) llmtest.Suite {
	s := limits[name]
	s.New = func(t testing.TB, script map[string]llmtest.Response) llmtest.Subject {
		m := &fake.Model{Sessions: map[string][]fake.Response{}}
		for model, a := range script {
			m.Sessions[model] = []fake.Response{{Events: append([]llm.Event{}, a.Events...), Error: fake.FailureOf(a.Err), Stall: a.Stall}}
		}
		client, stop := wire.New(wire.Config{Model: m}).Pipe()
		t.Cleanup(stop)
		h := *client
		if cut != nil {
			h.Transport = cutter{h.Transport, cut}
		}
		return llmtest.Subject{
			Model:     clientsOf(pipeURL, "", &h)[name],
			Requests:  m.Requests,
			CloseIdle: client.CloseIdleConnections,
		}
	}
	return s
}

// limits are the unsupported features of each protocol, and its opaque data.
var limits = map[string]llmtest.Suite{
	"openai-chat": {
		Unsupported:     []llmtest.Feature{llmtest.ResponseMedia, llmtest.ErrorResults, llmtest.ImageResults, llmtest.CacheMarks},
		OpaqueReasoning: raw(`{"field":"reasoning_content"}`), OpaqueCall: raw(`{"extra_content":{"google":{"thought_signature":"c2lnbmVk"}}}`),
	},
	"openai-responses": {
		Unsupported:     []llmtest.Feature{llmtest.ResponseMedia, llmtest.ErrorResults, llmtest.Seed, llmtest.StopSequences, llmtest.CacheMarks},
		OpaqueReasoning: raw(`{"id":"rs_1","encrypted_content":"gAAAAABo"}`), OpaqueText: raw(`{"id":"msg_1"}`), OpaqueCall: raw(`{"id":"fc_1"}`),
	},
	"anthropic-messages": {
		Unsupported:     []llmtest.Feature{llmtest.ResponseMedia, llmtest.ContentFilters, llmtest.Seed},
		OpaqueReasoning: raw(`{"signature":"EqQBCg=="}`), OpaqueText: raw(`{"citations":[{"type":"char_location","cited_text":"sun"}]}`), OpaqueCall: raw(`{"caller":{"type":"code_execution_20260120"}}`),
	},
	"gemini": {
		Unsupported:     []llmtest.Feature{llmtest.Refusals, llmtest.CacheWriteUsage, llmtest.SingleCalls, llmtest.FileNames, llmtest.CacheMarks},
		OpaqueReasoning: raw(`{"thoughtSignature":"dGhvdWdodA=="}`), OpaqueText: raw(`{"thoughtSignature":"dGV4dA=="}`), OpaqueCall: raw(`{"thoughtSignature":"Y2FsbA=="}`),
	},
}

// The unsupported features fail, and all others pass.
func TestLimits(t *testing.T) {
	want := map[string][]string{
		"openai-chat":        {"media", "a cache mark", "a result that is an error", "an image in a result"},
		"openai-responses":   {"media", "a cache mark", "a result that is an error", "a seed", "stop sequences"},
		"anthropic-messages": {"media", "filtered", "a seed"},
		"gemini":             {"a refusal", "cache-creation tokens", "a cache mark", "a file's name", "one call per response"},
	}
	for _, k := range protocols {
		s := contract(k.name, nil)
		s.Unsupported = nil
		var got []string
		for _, v := range llmtest.Violations(t, s) {
			got = append(got, v.Case)
		}
		if diff := cmp.Diff(want[k.name], got); diff != "" {
			t.Errorf("%s: unsupported (-want +got):\n%s", k.name, diff)
		}
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// cutter splits the bodies of responses.
type cutter struct {
	http.RoundTripper
	cut func(io.Reader) io.Reader
}

func (c cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = cutBody{c.cut(resp.Body), resp.Body}
	}
	return resp, err
}

type cutBody struct {
	io.Reader
	io.Closer
}
