package agentier_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/agentier"
)

func TestFill(t *testing.T) {
	words := cmp.Options{cmpopts.IgnoreFields(loop.Config{}, "ErrorText"), cmpopts.IgnoreFields(loop.Retry{}, "On")}
	got := agentier.Fill(loop.Config{})
	want := loop.Config{
		Preset: "agentier", ResponseMode: llm.NonStreaming, MaxSteps: 10, CheckLimitBeforeStep: true, Concurrency: loop.Unlimited, MaxConsecutiveToolErrors: loop.Disabled,
		Deadline: time.Minute, Grace: time.Second, OneMessagePerResult: true, OmitErrorFlag: true, Retry: loop.Retry{Base: time.Second},
	}
	if diff := cmp.Diff(want, got, words); diff != "" {
		t.Errorf("the defaults (-want +got):\n%s", diff)
	}
	if text := got.ErrorText("a", errors.New("Connection refused")); text != "Error: Connection refused" {
		t.Errorf("an error reads %q", text)
	}
	own := loop.Config{MaxSteps: 3, Concurrency: 2, MaxConsecutiveToolErrors: 4, Deadline: time.Hour, Grace: time.Minute, Retry: loop.Retry{Max: 1, Base: 5},
		ErrorText: func(string, error) string { return "mine" }}
	got = agentier.Fill(own)
	want = own
	want.Preset, want.ResponseMode, want.CheckLimitBeforeStep, want.OneMessagePerResult, want.OmitErrorFlag = "agentier", llm.NonStreaming, true, true, true
	if diff := cmp.Diff(want, got, words); diff != "" || got.ErrorText("", nil) != "mine" {
		t.Errorf("a caller's own options (-want +got):\n%s", diff)
	}
	every := agentier.Fill(loop.Config{Retry: loop.Retry{On: func(error) bool { return true }}})
	if eof := io.ErrUnexpectedEOF; !every.Retry.On(io.EOF) || got.Retry.On(io.EOF) || !got.Retry.On(eof) {
		t.Error("another rule of retries")
	}
	if got := agentier.Fill(loop.Config{Deadline: loop.Disabled}); got.Deadline != 0 {
		t.Errorf("no limit of time became %v", got.Deadline)
	}
	for _, in := range []loop.Config{{}, own, {Deadline: loop.Disabled}} {
		once := agentier.Fill(in)
		if diff := cmp.Diff(once, agentier.Fill(once), words); diff != "" {
			t.Errorf("filled again (-once +twice):\n%s", diff)
		}
	}
}

// AG-33: rate limits and network failures are retried with any client.
func TestRetriesErrors(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, c := range []struct {
		err  error
		want int // attempts
	}{
		{&llm.APIError{Status: 429, Retryable: true}, 2},
		{&llm.APIError{Status: 400}, 1},
		{&llm.APIError{Err: refused}, 1}, // the client reports that the error is permanent
		{&url.Error{Op: "Post", URL: "http://x", Err: refused}, 2},
		{fmt.Errorf("reading the answer: %w", io.ErrUnexpectedEOF), 2},
		{fmt.Errorf("the client: %w", context.Canceled), 1},
		{&url.Error{Op: "Post", URL: "http://x", Err: context.DeadlineExceeded}, 1},
		{fmt.Errorf("the stream: %w", loop.ErrStalled), 2},
		{errors.New("no such model"), 1},
	} {
		clock := fake.NewClock()
		m := &fake.Model{Clock: clock, Responses: []fake.Response{{Attempts: []fake.Response{{Err: c.err}, {Text: "x"}}}}}
		a, err := agentier.New(m, &loop.Config{Model: "m", Clock: clock, Middleware: []loop.Middleware{agentier.Retry(loop.Retry{Max: 3})}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Run(t.Context(), loop.Prompt("go"), nil)
		if n := len(m.RecordedRequests()); n != c.want || (err == nil) != (c.want == 2) {
			t.Errorf("%v: got %d attempts, %v", c.err, n, err)
		}
	}
}

// AG-16: all calls of each response run concurrently.
func TestUnlimitedConcurrency(t *testing.T) {
	clock := fake.NewClock()
	tools := &fake.Tools{Clock: clock, List: []fake.Tool{{Name: "a", Behavior: fake.Behavior{Delay: time.Second}}}}
	ids := make([]string, 100)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	a, err := agentier.New(&fake.Model{Clock: clock, Responses: []fake.Response{calling(ids...), calling(ids...), saying("done")}}, &loop.Config{Model: "m", Clock: clock, Tools: []loop.Tool{{Name: "a", Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
		parts, err := tools.Run(ctx, c.ID, c.Name, c.Arguments)
		return loop.Output{Content: parts}, err
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	if res := mustRun(t, a, nil); tools.Peak() != len(ids) || res.Duration != 2*time.Second {
		t.Errorf("got %d concurrent tools and two steps of %v, want %d", tools.Peak(), res.Duration, len(ids))
	}
}

// AG-23: results of Go functions have a readable text.
func TestSnapshotJSON(t *testing.T) {
	type weather struct {
		TempC int `json:"tempC"`
	}
	tools := make([]loop.Tool, 5)
	var errs [5]error
	tools[0], errs[0] = loop.NewTool("text", "", func(context.Context, struct{}) (string, error) { return "sunny", nil })
	tools[1], errs[1] = loop.NewTool("value", "", func(context.Context, struct{}) (weather, error) { return weather{22}, nil })
	tools[2], errs[2] = loop.NewTool("nothing", "", func(context.Context, struct{}) (any, error) { return nil, nil })
	tools[3], errs[3] = loop.NewTool("empty", "", func(context.Context, struct{}) (string, error) { return "", nil })
	tools[4], errs[4] = loop.NewTool("signs", "", func(context.Context, struct{}) ([]string, error) { return []string{"<&>"}, nil })
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	turn := fake.Response{}
	for _, tool := range tools {
		turn.Calls = append(turn.Calls, fake.Call{ID: tool.Name, Name: tool.Name, Arguments: "{}"})
	}
	a, _ := newAgent(t, loop.Config{Tools: tools}, turn, saying("done"))
	var got []string
	for _, c := range mustRun(t, a, nil).ToolCalls {
		got = append(got, c.Result.Text())
	}
	if diff := cmp.Diff([]string{"sunny", `{"tempC":22}`, "null", "", `["<&>"]`}, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
