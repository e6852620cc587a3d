package llmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/looptape/looptape/llm"
)

// errorCases are the ways in which an answer fails.
func errorCases() (all []*testcase) {
	add := func(name string, a Response, play func(w *caseRun, a Response)) {
		all = append(all, &testcase{property: Errors, name: name, script: Script{modelA: a}, do: func(w *caseRun) { play(w, a) }})
	}
	for _, e := range []llm.APIError{
		{Status: http.StatusBadRequest, Message: "the request has a mistake"},
		{Status: http.StatusUnauthorized, Message: "the key is wrong"},
		{Status: http.StatusForbidden, Message: "this is not for you"},
		{Status: http.StatusNotFound, Message: "there is no such model"},
		{Status: http.StatusRequestEntityTooLarge, Message: "the request is too large"},
		{Status: http.StatusTooManyRequests, Message: "slow down", Retryable: true},
		{Status: http.StatusTooManyRequests, Message: "slow down for a while", RetryAfter: 7 * time.Second, Retryable: true},
		{Status: http.StatusInternalServerError, Message: "something broke", Retryable: true},
		{Status: http.StatusServiceUnavailable, Message: "come back later", Retryable: true},
		{Status: statusOverloaded, Message: "overloaded", Retryable: true},
	} {
		name := fmt.Sprint("status ", e.Status)
		if e.RetryAfter > 0 {
			name += " and a wait"
		}
		add(name, Response{Err: &e}, rejected)
	}
	some := []llm.Event{llm.TextDelta{Text: "It "}, llm.TextDelta{Text: "rains"}}
	add("within the answer", Response{Events: some, Err: &llm.APIError{Status: http.StatusServiceUnavailable, Message: "come back later", Retryable: true}}, interrupted)
	add("a broken connection", Response{Events: some, Err: &llm.APIError{Err: io.ErrUnexpectedEOF, Retryable: true}}, interrupted)
	add("no connection", Response{Err: &llm.APIError{Err: io.ErrUnexpectedEOF, Retryable: true}}, interrupted)
	return all
}

// statusOverloaded is Anthropic's own.
const statusOverloaded = 529

// apiError returns what an answer has failed with, or nil, which is reported.
func (w *caseRun) apiError(a *result) *llm.APIError {
	e, ok := errors.AsType[*llm.APIError](a.err)
	if !ok {
		w.report(Errors, "the error is %v (%T), not an *llm.APIError", a.err, a.err)
	}
	return e
}

// refused looks at an answer that fails before it begins.
func rejected(w *caseRun, want Response) {
	for _, request := range []func(string) *llm.Request{w.streaming, w.nonStreaming} {
		a := w.stream(context.Background(), request(modelA), nil)
		e := w.apiError(a)
		if e == nil {
			return
		}
		if e.Status != want.Err.Status {
			w.report(Errors, "the status is %d, want %d", e.Status, want.Err.Status)
		}
		if e.RetryAfter != want.Err.RetryAfter {
			w.report(Errors, "the wait asked for is %v, want %v", e.RetryAfter, want.Err.RetryAfter)
		}
		w.checkError(e, want.Err)
		if len(a.events) > 0 {
			w.report(Errors, "an event comes before a refusal: %s", formatEvent(a.events[0]))
		}
	}
}

// explains looks at what every failure says.
func (w *caseRun) checkError(got, want *llm.APIError) {
	if got.Retryable != want.Retryable {
		w.report(Errors, "that the request may be tried again is %t, want %t: %v", got.Retryable, want.Retryable, got)
	}
	if !strings.Contains(got.Message, want.Message) {
		w.report(Errors, "the message is %q, want %q", got.Message, want.Message)
	}
}

// brokenOff looks at an answer that fails when some of it may have come. A stream
// has passed on what came.
func interrupted(w *caseRun, want Response) {
	said := (&result{events: want.Events}).response().Text()
	for _, request := range []func(string) *llm.Request{w.streaming, w.nonStreaming} {
		req := request(modelA)
		a := w.stream(context.Background(), req, nil)
		e := w.apiError(a)
		if e == nil {
			return
		}
		w.checkError(e, want.Err)
		if got := a.response().Text(); req.ResponseMode == llm.Streaming && got != said {
			w.report(Errors, "before the error came %q, want %q", got, said)
		}
	}
}
