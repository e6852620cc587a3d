package llmtest

import (
	"context"
	"errors"
	"time"

	"github.com/looptape/looptape/llm"
)

// cancelCases end the context before, during and after a response.
func cancelCases() []*testcase {
	whole := map[string]Response{modelA: content{parts: []llm.Part{someText, oneCall}}.script(16)}
	some := []llm.Event{llm.TextDelta{Text: "It "}, llm.TextDelta{Text: "is "}}
	stalled := map[string]Response{modelA: {Events: some, Stall: true}}
	silent := map[string]Response{modelA: {Stall: true}}
	stalls := []Feature{Stalls}
	return []*testcase{
		{property: Cancel, name: "before", script: whole, do: cancelBefore},
		{property: Cancel, name: "at every event", script: whole, do: cancelAtEachEvent},
		{property: Cancel, name: "after the end", script: whole, do: cancelAfterEnd},
		{property: Cancel, name: "between events", needs: stalls, script: stalled, do: func(w *caseRun) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			a := w.stream(ctx, w.request(modelA), func(n int) bool {
				if n == len(some) {
					cancel()
				}
				return true
			})
			w.checkCanceled(a, context.Canceled)
		}},
		{property: Cancel, name: "in a stall", needs: stalls, script: stalled, do: cancelInStall},
		{property: Cancel, name: "before the first event", needs: stalls, script: silent, do: cancelInStall},
		{property: Cancel, name: "a deadline", needs: stalls, script: stalled, do: deadlineInStall},
		{property: Cancel, name: "a deadline before the first event", needs: stalls, script: silent, do: deadlineInStall},
	}
}

// checkCanceled checks that a response ends with the error of its context.
func (w *caseRun) checkCanceled(a *result, want error) {
	switch {
	case a.err == nil:
		w.report(Cancel, "the response ends without an error, want %v", want)
	case !errors.Is(a.err, want):
		w.report(Cancel, "the response ends with %v, want %v", a.err, want)
	}
}

func cancelBefore(w *caseRun) {
	for _, request := range []func(string) *llm.Request{w.streaming, w.nonStreaming} {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		a := w.stream(ctx, request(modelA), nil)
		w.checkCanceled(a, context.Canceled)
		if len(a.events) > 0 {
			w.report(Cancel, "an event comes after the end of the context: %s", formatEvent(a.events[0]))
		}
	}
}

// cancelAtEachEvent cancels at each event. The rest of the response may come, if it is
// complete.
func cancelAtEachEvent(w *caseRun) {
	first := w.complete(w.request(modelA))
	if first == nil {
		return
	}
	for at := range first.events {
		ctx, cancel := context.WithCancel(context.Background())
		a := w.stream(ctx, w.request(modelA), func(n int) bool {
			if n == at+1 {
				cancel()
			}
			return true
		})
		cancel()
		switch {
		case a.err != nil:
			w.checkCanceled(a, context.Canceled)
		case a.String() != first.String():
			w.report(Cancel, "canceled at event %d, the response is incomplete without an error; %s", at, differ(first.String(), a.String()))
		}
	}
}

func cancelAfterEnd(w *caseRun) {
	ctx, cancel := context.WithCancel(context.Background())
	first := w.completeContext(ctx, w.request(modelA))
	cancel()
	if first == nil {
		return
	}
	w.checkLeaks(" after the context of a complete response ended")
	if again := w.complete(w.request(modelA)); again != nil {
		if diff := differ(first.String(), again.String()); diff != "" {
			w.report(Cancel, "after the context of a response ended, the next response differs; %s", diff)
		}
	}
}

// cancelInStall cancels after the last event.
func cancelInStall(w *caseRun) {
	for _, request := range []func(string) *llm.Request{w.streaming, w.nonStreaming} {
		ctx, cancel := context.WithCancel(context.Background())
		soon := time.AfterFunc(time.Minute, cancel) //nolint:forbidigo // virtual: it is a bubble's
		w.checkCanceled(w.stream(ctx, request(modelA), nil), context.Canceled)
		soon.Stop()
		cancel()
	}
}

func deadlineInStall(w *caseRun) {
	for _, request := range []func(string) *llm.Request{w.streaming, w.nonStreaming} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) //nolint:forbidigo // virtual: it is a bubble's
		w.checkCanceled(w.stream(ctx, request(modelA), nil), context.DeadlineExceeded)
		cancel()
	}
}
