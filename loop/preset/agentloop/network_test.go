package agentloop_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/protocol"
)

const networkKey = "sk-ant-a-very-secret-key"

// network is a transport whose responses take time on a virtual clock.
type network struct {
	clock   *fake.Clock
	replies []reply
}

// reply is a response. Its header comes after wait, each part of its body ms milliseconds after the
// one before. err is the error of the connection, or of the body if there is a status.
type reply struct {
	wait   time.Duration
	status int
	header http.Header
	body   []string
	err    error
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	next := n.replies[0]
	n.replies = n.replies[1:]
	if err := n.clock.Sleep(r.Context(), next.wait); err != nil {
		return nil, err
	}
	if next.status == 0 {
		return nil, next.err
	}
	return &http.Response{StatusCode: next.status, Header: next.header, Request: r, Body: &slowBody{r.Context(), n.clock, next.body, cmp.Or(next.err, io.EOF)}}, nil
}

type slowBody struct {
	ctx   context.Context
	clock *fake.Clock
	parts []string
	end   error
}

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.parts) == 0 {
		return 0, b.end
	}
	if err := b.clock.Sleep(b.ctx, 20*time.Millisecond); err != nil {
		return 0, err
	}
	part := b.parts[0]
	b.parts = b.parts[1:]
	return copy(p, part), nil
}

func (b *slowBody) Close() error { return nil }

var (
	jsonHeader   = http.Header{"Content-Type": {"application/json"}}
	eventsHeader = http.Header{"Content-Type": {"text/event-stream"}}
)

func asEvents(data ...string) (parts []string) {
	for _, d := range data {
		parts = append(parts, "data: "+d+"\n\n")
	}
	return parts
}

const (
	messageStart = `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-opus-4-8","content":[],"usage":{"input_tokens":7,"output_tokens":0}}}`
	blockStart   = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hel"}}`
)

// twoSteps are the replies for a step with a call, after a limited request and a refused connection,
// and for a last step.
func twoSteps(stream bool) []reply {
	replies := []reply{
		{wait: 30 * time.Millisecond, status: 429, header: http.Header{"Retry-After": {"7"}}, body: []string{`{"type":"error","error":{"type":"rate_limit_error","message":"slow down, ` + networkKey + `"}}`}},
		{wait: 40 * time.Millisecond, err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}},
	}
	if !stream {
		return append(replies,
			reply{wait: 50 * time.Millisecond, status: 200, header: jsonHeader, body: []string{`{"id":"m","type":"message","role":"assistant","model":"claude-opus-4-8",`, `"content":[{"type":"tool_use","id":"c","name":"a","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":7,"output_tokens":2}}`}},
			reply{wait: 60 * time.Millisecond, status: 201, header: jsonHeader, body: []string{`{"id":"n","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":1}}`}},
		)
	}
	return append(replies,
		reply{wait: 50 * time.Millisecond, status: 200, header: eventsHeader, body: asEvents(messageStart,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"a","input":{}}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}`, `{"type":"message_stop"}`)},
		reply{wait: 60 * time.Millisecond, status: 201, header: eventsHeader, body: asEvents(messageStart, blockStart,
			`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`, `{"type":"message_stop"}`)},
	)
}

// networkAgent returns an agent whose client uses a network on its clock, and the log of the events
// of its bus from onRunStart on.
func networkAgent(t *testing.T, replies []reply, fail func(agentloop.Event) error) (l *agentloop.Loop, log *[]string) {
	t.Helper()
	clock, bus := fake.NewClock(), new(agentloop.Bus)
	log = new([]string)
	bus.Subscribe(func(_ context.Context, ev agentloop.Event) error {
		line := fmt.Sprint(ev.Agent, " ", ev.Run, " ", ev.Step, " ", ev.Name)
		if ev.Attempt > 0 {
			line += fmt.Sprint(" ", ev.Provider, " ", ev.Attempt, " ", ev.Status, " ", ev.Time)
		}
		switch d := ev.Data.(type) {
		case *llm.Request:
			line += " " + d.Model
		case *agentloop.Response:
			line += fmt.Sprint(" ", d.Model, " ", d.Usage.InputTokens, "/", d.Usage.OutputTokens)
		case error:
			for _, cause := range []error{syscall.ECONNREFUSED, protocol.ErrTruncated} {
				if errors.Is(d, cause) {
					line += fmt.Sprint(" ", cause)
				}
			}
		}
		if ev.Name != "onAgentCreate" {
			*log = append(*log, line)
		}
		if strings.Contains(fmt.Sprintf("%+v", ev), networkKey) || strings.Contains(fmt.Sprintf("%+v", ev.Data), networkKey) {
			t.Errorf("the key is in %s", line)
		}
		if fail != nil {
			return fail(ev)
		}
		return nil
	})
	client := anthropic.New(networkKey)
	client.HTTP = &http.Client{Transport: &network{clock, replies}}
	l, err := agentloop.New(t.Context(), client.Model("claude-opus-4-8"), &agentloop.Config{
		ID: "one", Tools: []loop.Tool{text("a", "A")}, Hooks: bus, Clock: clock,
		Retry: loop.Retry{Max: 2, Base: time.Second, Factor: 2}, NewID: func() string { return "r" },
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, log
}

// runNetwork runs an agent in one of the response modes.
func runNetwork(t *testing.T, l *agentloop.Loop, stream bool) (response *agentloop.Response) {
	t.Helper()
	in := agentloop.Input{Text: "go"}
	if !stream {
		response, err := l.Complete(t.Context(), in, nil)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	for ev, err := range l.Stream(t.Context(), in, nil) {
		if err != nil {
			t.Fatal(err)
		}
		response = ev.Response
	}
	return response
}

// AL-107: the bus has the requests, the first bytes, the responses, the errors and the retries of
// the project's HTTP client, with the conversation, the run and the step, their status or network
// cause, and their times. The key is in no event.
func TestAL107ModelEvents(t *testing.T) {
	const client = " anthropic-messages "
	for _, stream := range []bool{false, true} {
		l, got := networkAgent(t, twoSteps(stream), nil)
		if res := runNetwork(t, l, stream); res.Err != nil {
			t.Fatal(res.Err)
		}
		took := []string{"90ms", "80ms"}
		if stream {
			took = []string{"150ms", "160ms"}
		}
		want := []string{
			"one r 0 onRunStart", "one r 0 onStepStart",
			"one r 0 onModelRequest" + client + "1 0 0s claude-opus-4-8", "one r 0 onModelError" + client + "1 429 50ms",
			"one r 0 onModelRetry" + client + "2 0 7s",
			"one r 0 onModelRequest" + client + "2 0 0s claude-opus-4-8", "one r 0 onModelError" + client + "2 0 40ms connection refused",
			"one r 0 onModelRetry" + client + "3 0 2s",
			"one r 0 onModelRequest" + client + "3 0 0s claude-opus-4-8", "one r 0 onModelStart" + client + "3 200 50ms",
			"one r 0 onModelResponse" + client + "3 200 " + took[0] + " claude-opus-4-8 7/2",
			"one r 0 onStepComplete claude-opus-4-8 7/2",
			"one r 0 onToolCallStart", "one r 0 onToolCallComplete",
			"one r 1 onStepStart", "one r 1 onModelRequest" + client + "1 0 0s claude-opus-4-8", "one r 1 onModelStart" + client + "1 201 60ms",
			"one r 1 onModelResponse" + client + "1 201 " + took[1] + " claude-opus-4-8 " + map[bool]string{false: "9/1", true: "7/1"}[stream],
			"one r 1 onStepComplete claude-opus-4-8 " + map[bool]string{false: "9/1", true: "7/1"}[stream],
			"one r 0 onRunComplete",
		}
		if !stream {
			want = slices.DeleteFunc(want, func(line string) bool { return strings.Contains(line, " onModelStart ") })
		}
		if diff := gocmp.Diff(want, *got); diff != "" {
			t.Errorf("streaming %v (-want +got):\n%s", stream, diff)
		}
	}
}

// AL-98, AL-107: an interrupted response is an error with its status and cause.
func TestAL107Truncated(t *testing.T) {
	l, got := networkAgent(t, []reply{{status: 200, header: eventsHeader, body: asEvents(messageStart, blockStart), err: io.ErrUnexpectedEOF}}, nil)
	if res := runNetwork(t, l, true); !errors.Is(res.Err, protocol.ErrTruncated) {
		t.Errorf("got the error %v", res.Err)
	}
	want := []string{
		"one r 0 onRunStart", "one r 0 onStepStart", "one r 0 onModelRequest anthropic-messages 1 0 0s claude-opus-4-8", "one r 0 onModelStart anthropic-messages 1 200 0s",
		"one r 0 onModelError anthropic-messages 1 200 40ms the response was truncated", "one r 0 onRunComplete",
	}
	if diff := gocmp.Diff(want, *got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// AL-107: the error of a subscriber when a response begins ends the run before its first event.
func TestAL107SubscriberFails(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name    string
		replies []reply
		events  int
	}{{"onModelRequest", nil, 4}, {"onModelRetry", twoSteps(true), 6}, {"onModelStart", twoSteps(true)[2:], 5}} {
		l, got := networkAgent(t, c.replies, func(ev agentloop.Event) error {
			if ev.Name == c.name {
				return boom
			}
			return nil
		})
		if res := runNetwork(t, l, true); !errors.Is(res.Err, boom) || len(*got) != c.events || !strings.Contains((*got)[c.events-1], "onRunComplete") {
			t.Errorf("%s: got %v, %q", c.name, res.Err, *got)
		}
	}
}

// AL-107: onModelResponse has the model and the finish reason of the response, and its usage, which may
// come in parts.
func TestAL107Response(t *testing.T) {
	clock := fake.NewClock()
	l, err := agentloop.New(t.Context(), llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			for _, ev := range []llm.Event{llm.Usage{InputTokens: 3}, llm.TextDelta{Text: "x"}, llm.Usage{OutputTokens: 2}, llm.Finish{Reason: llm.FinishLength, Model: "m-2"}} {
				if !yield(ev, nil) {
					return
				}
			}
		}
	}), &agentloop.Config{Model: "m", Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	var got []agentloop.Response
	l.Hooks().Subscribe(func(_ context.Context, ev agentloop.Event) error {
		if ev.Name == agentloop.OnModelResponse {
			got = append(got, *ev.Data.(*agentloop.Response))
		}
		return nil
	})
	runNetwork(t, l, true)
	same(t, "responses", []agentloop.Response{{Model: "m-2", FinishReason: llm.FinishLength, Usage: llm.Usage{InputTokens: 3, OutputTokens: 2}}}, got)
}

// AL-107: the status of a failed call is known also if the model is no client with HTTP.
func TestAL107StatusOfOtherModels(t *testing.T) {
	w := newWorld(t, fake.Response{Error: &fake.Failure{Status: 503, Message: "busy"}}).agent(agentloop.Config{})
	var got []int
	w.Hooks().Subscribe(func(_ context.Context, ev agentloop.Event) error {
		if ev.Name == agentloop.OnModelError {
			got = append(got, ev.Status)
		}
		return nil
	})
	w.run("go")
	same(t, "statuses", []int{503}, got)
}
