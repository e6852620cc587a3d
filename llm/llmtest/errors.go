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

// errorCases are the failures of a response.
func errorCases() (all []*testcase) {
	add := func(name string, a Response, play func(w *caseRun, a Response)) {
		all = append(all, &testcase{property: Errors, name: name, script: map[string]Response{modelA: a}, do: func(w *caseRun) { play(w, a) }})
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
			name += " and a retry delay"
		}
		add(name, Response{Err: &e}, rejected)
	}
	some := []llm.Event{llm.TextDelta{Text: "It "}, llm.TextDelta{Text: "rains"}}
	add("within the response", Response{Events: some, Err: &llm.APIError{Status: http.StatusServiceUnavailable, Message: "come back later", Retryable: true}}, interrupted)
	add("an interrupted connection", Response{Events: some, Err: &llm.APIError{Err: io.ErrUnexpectedEOF, Retryable: true}}, interrupted)
	add("no connection", Response{Err: &llm.APIError{Err: io.ErrUnexpectedEOF, Retryable: true}}, interrupted)
	return all
}

// statusOverloaded is a status of Anthropic.
const statusOverloaded = 529

// apiError returns the error of a response. It reports any other error and returns nil.
func (w *caseRun) apiError(a *result) *llm.APIError {
	e, ok := errors.AsType[*llm.APIError](a.err)
	if !ok {
		w.report(Errors, "the error is %v (%T), not an *llm.APIError", a.err, a.err)
	}
	return e
}

// rejected checks a response that fails before its first event.
func rejected(w *caseRun, want Response) {
	for _, req := range w.bothModes() {
		a := w.stream(context.Background(), req, nil)
		e := w.apiError(a)
		if e == nil {
			return
		}
		if e.Status != want.Err.Status {
			w.report(Errors, "the status is %d, want %d", e.Status, want.Err.Status)
		}
		if e.RetryAfter != want.Err.RetryAfter {
			w.report(Errors, "the retry delay is %v, want %v", e.RetryAfter, want.Err.RetryAfter)
		}
		w.checkError(e, want.Err)
		if len(a.events) > 0 {
			w.report(Errors, "an event comes before the rejection: %s", formatEvent(a.events[0]))
		}
	}
}

// checkError checks the fields of an error.
func (w *caseRun) checkError(got, want *llm.APIError) {
	if got.Retryable != want.Retryable {
		w.report(Errors, "Retryable is %t, want %t: %v", got.Retryable, want.Retryable, got)
	}
	if !strings.Contains(got.Message, want.Message) {
		w.report(Errors, "the message is %q, want %q", got.Message, want.Message)
	}
}

// interrupted checks a response that fails after some events. A stream has sent these.
func interrupted(w *caseRun, want Response) {
	said := (&result{events: want.Events}).response().Text()
	for _, req := range w.bothModes() {
		a := w.stream(context.Background(), req, nil)
		e := w.apiError(a)
		if e == nil {
			return
		}
		w.checkError(e, want.Err)
		if got := a.response().Text(); req.ResponseMode == llm.Streaming && got != said {
			w.report(Errors, "text before the error: %q, want %q", got, said)
		}
	}
}
