// Package decoding measures the cost of reading a streaming response, in comparison with the official
// SDKs on the same bytes.
package decoding

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/looptape/looptape/conformance/strict"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// goal limits the time and the allocations of a Client, as ratios to those of the SDK.
const goal = 1. / 3

// question is the prompt.
var question = &llm.Request{
	Model: "some-model", Messages: []llm.Message{llm.User("What is the weather?")},
	Tools: []llm.Tool{{Name: "weather", Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`)}},
}

// answers are the responses.
func answers() map[string]fake.Response {
	calls := fake.Response{Text: "I look at all three cities.", ChunkSize: 12, Usage: llm.Usage{InputTokens: 100, OutputTokens: 60}}
	for i, city := range []string{"Bern", "Rome", "Lima"} {
		calls.Calls = append(calls.Calls, fake.Call{ID: fmt.Sprint("call_", i+1), Name: "weather", Arguments: `{"city":"` + city + `","days":[1,2,3],"unit":"celsius"}`})
	}
	text := fake.Response{Usage: llm.Usage{InputTokens: 100, OutputTokens: 2000}}
	for i := range 2000 {
		text.Chunks = append(text.Chunks, fmt.Sprintf(" word%d", i%10))
	}
	return map[string]fake.Response{"calls=3": calls, "deltas=2000": text}
}

// contender is a protocol with its adapter and the official SDK.
type contender struct {
	name     string
	protocol protocol.Protocol
	// open returns a function that reads one response with the SDK and returns the number of its
	// chunks.
	open func(b testing.TB, client *http.Client) func() (pieces int, err error)
}

var contenders = []contender{
	{"openai-chat", chat.Protocol{}, openChat},
	{"openai-responses", responses.Protocol{}, openResponses},
	{"anthropic-messages", anthropic.Messages{}, openMessages},
	{"gemini", gemini.GenerateContent{}, openGemini},
}

// readers returns functions that read one response with the adapter and with the SDK.
func (c contender) readers(t testing.TB, turn fake.Response) (ours, sdk func() error) {
	t.Helper()
	stream := c.stream(t, turn)
	client := &http.Client{Transport: canned(stream)}
	model := &protocol.Client{Protocol: c.protocol, BaseURL: "http://canned.example", HTTP: client}
	said, calls := turn.Text+strings.Join(turn.Chunks, ""), len(turn.Calls)
	ours = func() error {
		got, err := llm.Collect(model.Stream(context.Background(), question))
		if err == nil && (got.Text() != said || len(got.Calls()) != calls) {
			err = fmt.Errorf("%d bytes and %d calls were read", len(got.Text()), len(got.Calls()))
		}
		return err
	}
	read := c.open(t, client)
	sdk = func() error {
		pieces, err := read()
		if err == nil && pieces < len(turn.Chunks) {
			err = fmt.Errorf("got %d chunks", pieces)
		}
		return err
	}
	if err := errors.Join(ours(), sdk()); err != nil {
		t.Fatal(err)
	}
	return ours, sdk
}

// stream returns the response as the fake provider streams it.
func (c contender) stream(t testing.TB, turn fake.Response) []byte {
	t.Helper()
	req, err := c.protocol.EncodeRequest(question)
	if err != nil {
		t.Fatal(err)
	}
	response, _ := strict.Ask(t.Context(), turn, c.protocol, req)
	if response.Code != http.StatusOK {
		t.Fatalf("status %d: %s", response.Code, response.Body)
	}
	return response.Body.Bytes()
}

// canned is a transport that responds from memory.
type canned []byte

// RoundTrip implements http.RoundTripper.
func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(c)), Request: r,
	}, nil
}

// BenchmarkDecode reads the same bytes in alternation, on one processor. It reports the best times,
// ours-µs and sdk-µs, their ratio, time/sdk, and the ratio of the allocations, allocs/sdk. The goal
// for both ratios is 0.333 at most.
func BenchmarkDecode(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, c := range contenders {
		for name, turn := range answers() {
			b.Run("protocol="+c.name+"/"+name, func(b *testing.B) {
				ours, sdk := c.readers(b, turn)
				var best [2]time.Duration
				for b.Loop() {
					for i, read := range [...]func() error{ours, sdk} {
						from := b.Elapsed()
						if err := read(); err != nil {
							b.Fatal(err)
						}
						if d := b.Elapsed() - from; best[i] == 0 || d < best[i] {
							best[i] = d
						}
					}
				}
				b.ReportMetric(float64(best[0])/float64(time.Microsecond), "ours-µs")
				b.ReportMetric(float64(best[1])/float64(time.Microsecond), "sdk-µs")
				b.ReportMetric(float64(best[0])/float64(best[1]), "time/sdk")
				b.ReportMetric(allocations(ours)/allocations(sdk), "allocs/sdk")
			})
		}
	}
}

func allocations(read func() error) float64 {
	return testing.AllocsPerRun(5, func() { _ = read() }) // it has warmed up
}

// TestAllocations checks the goal for allocations.
func TestAllocations(t *testing.T) {
	for _, c := range contenders {
		for name, turn := range answers() {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				ours, sdk := c.readers(t, turn)
				a, b := allocations(ours), allocations(sdk)
				t.Logf("%.0f allocations, the SDK has %.0f: %.3f", a, b, a/b)
				if a/b > goal {
					t.Errorf("%.0f allocations, the SDK has %.0f: %.3f of them, at most %.3f", a, b, a/b, goal)
				}
			})
		}
	}
}
