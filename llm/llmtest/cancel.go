package llmtest

import (
	"context"
	"errors"
	"time"

	"github.com/looptape/looptape/llm"
)

// cancelCases end the context of an answer: before it, in it, behind it.
func cancelCases() []*testcase {
	whole := Script{modelA: content{parts: []llm.Part{someText, oneCall}}.script(16)}
	some := []llm.Event{llm.TextDelta{Text: "It "}, llm.TextDelta{Text: "is "}}
	stalled := Script{modelA: {Events: some, Stall: true}}
	silent := Script{modelA: {Stall: true}}
	stalls := []Feature{Stalls}
	return []*testcase{
		{property: Cancel, name: "before", script: whole, do: cancelBefore},
		{property: Cancel, name: "at every event", script: whole, do: cancelAtEachEvent},
		{property: Cancel, name: "behind the end", script: whole, do: cancelAfterEnd},
		{property: Cancel, name: "within", needs: stalls, script: stalled, do: func(w *caseRun) {
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
		{property: Cancel, name: "before the first word", needs: stalls, script: silent, do: cancelInStall},
		{property: Cancel, name: "a deadline", needs: stalls, script: stalled, do: deadlineInStall},
		{property: Cancel, name: "a deadline before the first word", needs: stalls, script: silent, do: deadlineInStall},
	}
}

// ended reports an answer that does not end with the error of its context.
func (w *caseRun) checkCanceled(a *result, want error) {
	switch {
	case a.err == nil:
		w.report(Cancel, "the answer ends without an error, want one that is %v", want)
	case !errors.Is(a.err, want):
		w.report(Cancel, "the error is %v, want one that is %v", a.err, want)
	}
}

func cancelBefore(w *caseRun) {
	for _, request := range []func(string) *llm.Request{w.streaming, w.nonStreaming} {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		a := w.stream(ctx, request(modelA), nil)
		w.checkCanceled(a, context.Canceled)
		if len(a.events) > 0 {
			w.report(Cancel, "an event comes although the context had ended: %s", formatEvent(a.events[0]))
		}
	}
}

// cancelledAtEach cancels at each event of an answer that goes on: what is left of
// it may come, if it comes whole.
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
			w.report(Cancel, "cancelled at event %d, the answer ends without an error and before its end; %s", at, differ(first.String(), a.String()))
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
	w.checkLeaks(" once the context of an answer that was complete had ended")
	if again := w.complete(w.request(modelA)); again != nil {
		if diff := differ(first.String(), again.String()); diff != "" {
			w.report(Cancel, "after the context of an answer has ended, the next one is another; %s", diff)
		}
	}
}

// cancelledInStall cancels when nothing comes any more.
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
