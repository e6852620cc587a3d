package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// These are facts of a run over the wire, for shown.more.

type fact = func(t *testing.T, o *played)

// all checks several facts.
func all(facts ...fact) fact {
	return func(t *testing.T, o *played) {
		t.Helper()
		for _, f := range facts {
			f(t, o)
		}
	}
}

// equals checks what get returns.
func equals[T any](what string, want T, get func(o *played) T) fact {
	return func(t *testing.T, o *played) {
		t.Helper()
		if diff := cmp.Diff(want, get(o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// finishes checks the finish reasons of the responses.
func finishes(want ...llm.FinishReason) fact {
	return equals("finish reasons", want, func(o *played) (got []llm.FinishReason) {
		for _, ev := range o.Events {
			if turn, ok := ev.Body.(trace.ModelResponse); ok {
				got = append(got, turn.FinishReason)
			}
		}
		return got
	})
}

// skipped checks the reasons for which calls were skipped.
func skipped(want ...string) fact {
	return equals("causes of skips", want, func(o *played) (got []string) {
		for _, ev := range o.Events {
			if skip, ok := ev.Body.(trace.ToolSkip); ok {
				got = append(got, skip.Reason)
			}
		}
		return got
	})
}

// entered checks the arguments that the tools got.
func entered(want ...string) fact {
	return equals("arguments", want, func(o *played) (got []string) {
		for _, ev := range o.Tools {
			if !ev.Exit {
				got = append(got, ev.Arguments)
			}
		}
		return got
	})
}

// oneByOne checks that each tool returned before the next one started.
func oneByOne(t *testing.T, o *played) {
	t.Helper()
	for i, ev := range o.Tools {
		if ev.Exit != (i%2 == 1) {
			t.Errorf("the tools overlap: %v", o.Tools)
			return
		}
	}
}

// uses checks the usage of the run.
func uses(want llm.Usage) fact {
	return equals("usage", want, func(o *played) llm.Usage { return o.Run.Usage })
}

// fails checks that the run ended with an API error of this status and code.
func fails(status int, code string) fact {
	return func(t *testing.T, o *played) {
		t.Helper()
		api, ok := errors.AsType[*llm.APIError](o.Err)
		if !ok || api.Status != status || api.Code != code {
			t.Errorf("the run failed with %v, want an API error of status %d and code %q", o.Err, status, code)
		}
	}
}

// received checks the text that arrived before a response failed.
func received(want string) fact {
	return equals("text before the error", want, func(o *played) string { return o.Run.Partial.Text() })
}

// sends checks that the n-th request, from 1, has each of these texts.
func sends(n int, texts ...string) fact {
	return func(t *testing.T, o *played) {
		t.Helper()
		if len(o.exchanges) < n {
			t.Errorf("request %d is missing", n)
			return
		}
		for _, text := range texts {
			if !strings.Contains(string(anyTalk(o.exchanges[n-1].request)), text) {
				t.Errorf("request %d has no %s:\n%s", n, text, o.exchanges[n-1].request)
			}
		}
	}
}

// sendsNot checks that the n-th request, from 1, does not have this text.
func sendsNot(n int, text string) fact {
	return func(t *testing.T, o *played) {
		t.Helper()
		if strings.Contains(string(o.exchanges[n-1].request), text) {
			t.Errorf("request %d has %s:\n%s", n, text, o.exchanges[n-1].request)
		}
	}
}

// refuses checks that the final text of the run is a refusal.
func refuses(t *testing.T, o *played) {
	t.Helper()
	last := o.Run.Messages[len(o.Run.Messages)-1].Parts
	if x, ok := last[len(last)-1].(llm.Text); !ok || !x.Refusal {
		t.Errorf("got %v, want a refusal last", last)
	}
}
