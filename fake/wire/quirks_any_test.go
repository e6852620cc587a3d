package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

var anyShown = []shown{
	{quirk: "QT-01:crlf@1", same: true},
	{quirk: "QT-01:cr@1", same: true},
	{quirk: "QT-01:u2028@1", ran: "call_1 call_2 call_3", more: says("I will look. A\u2028B\u0085C")},
	{quirk: "QT-02:comments@1", same: true},
	{quirk: "QT-02:fields@1", same: true},
	{quirk: "QT-02:tight@1", same: true},
	{quirk: "QT-02:lines@1", same: true},
	{quirk: "QT-02:bom@1", same: true},
	{quirk: "QT-03:line@1", same: true},
	{quirk: "QT-03:event@1", same: true},
	{quirk: "QT-04@1", same: true},
	{quirk: "QT-05@1", requests: 1, stop: trace.ReasonError, more: truncated},
	{quirk: "QT-05:first@3", ran: "call_1 call_2 call_3", requests: 4},
	{quirk: "QT-06:429@3", ran: "call_1 call_2 call_3", requests: 4, more: waits("2s")},
	{quirk: "QT-06:date@3", ran: "call_1 call_2 call_3", requests: 4, more: waits("3s")},
	{quirk: "QT-06:ms@3", ran: "call_1 call_2 call_3", requests: 4, more: waits("1.5s")},
	{quirk: "QT-06:long@1", requests: 1, stop: trace.ReasonError, more: all(status(429), waits())},
	{quirk: "QT-06:500@3", ran: "call_1 call_2 call_3", requests: 4, more: waits("1s")},
	{quirk: "QT-06:502@3", ran: "call_1 call_2 call_3", requests: 4, more: waits("1s")},
	{quirk: "QT-06:503@3", ran: "call_1 call_2 call_3", requests: 4, more: waits("1s")},
	{quirk: "QT-06:529@3", ran: "call_1 call_2 call_3", requests: 4, more: waits("1s")},
	{quirk: "QT-07:400@1", requests: 1, stop: trace.ReasonError, more: all(status(400), hasError("The request fails: Bad Request."))},
	{quirk: "QT-07:401@1", requests: 1, stop: trace.ReasonError, more: all(status(401), hasError("The request fails: Unauthorized."))},
	{quirk: "QT-07:403@1", requests: 1, stop: trace.ReasonError, more: all(status(403), hasError("The request fails: Forbidden."))},
	{quirk: "QT-07:404@1", requests: 1, stop: trace.ReasonError, more: all(status(404), hasError("The request fails: Not Found."))},
	{quirk: "QT-07:413@1", requests: 1, stop: trace.ReasonError, more: all(status(413), hasError("The request fails: Request Entity Too Large."))},
	{quirk: "QT-07:429@1", requests: 1, stop: trace.ReasonError, more: all(status(429), hasError("The request fails: Too Many Requests."))},
	{quirk: "QT-07:500@1", requests: 1, stop: trace.ReasonError, more: all(status(500), hasError("The request fails: Internal Server Error."))},
	{quirk: "QT-07:key@1", requests: 1, stop: trace.ReasonError, more: all(status(401), hasError("Incorrect API key provided: [redacted]"), keepsKey)},
	{quirk: "QT-08:html@1", requests: 4, stop: trace.ReasonError, more: all(status(520), hasError("<html>\n<head><title>520: Web server"))},
	{quirk: "QT-08:502@3", ran: "call_1 call_2 call_3", requests: 4, more: waits("1s")},
	{quirk: "QT-08:503@3", ran: "call_1 call_2 call_3", requests: 4, more: waits("1s")},
	{quirk: "QT-08:404@1", requests: 1, stop: trace.ReasonError, more: all(status(404), hasError("<html>\n<head><title>404 Not Found"))},
	{quirk: "QT-08:empty@1", requests: 4, stop: trace.ReasonError, more: all(status(200), hasError("the response is empty"))},
	{quirk: "QT-08:text@1", requests: 4, stop: trace.ReasonError, more: all(status(200), hasError("upstream connect error or disconnect"))},
	{quirk: "QT-08:error@1", requests: 1, stop: trace.ReasonError, more: all(fails(200, "validation"), hasError("Input validation error"))},
	{quirk: "QT-08:answer@1", same: true},
	{quirk: "QT-09:text@1", ran: "call_2 call_3", failed: "call_1", more: skipped("malformed_arguments")},
	{quirk: "QT-09:rubbish@1", ran: "call_2 call_3", failed: "call_1", more: skipped("malformed_arguments")},
	{quirk: "QT-09:scalar@1", ran: "call_2 call_3", failed: "call_1", more: skipped("malformed_arguments")},
	{quirk: "QT-09:deep@1", ran: "call_2 call_3", failed: "call_1", more: skipped("malformed_arguments")},
	{quirk: "QT-09:twice@1", ran: "call_2 call_3", failed: "call_1", more: skipped("malformed_arguments")},
	{quirk: "QT-09:surrogate@1", ran: "call_2 call_3", failed: "call_1", more: skipped("malformed_arguments")},
	{quirk: "QT-10:headers@1", stalls: true, requests: 1, stop: trace.ReasonDeadline, more: deadline},
	{quirk: "QT-10:events@1", stalls: true, requests: 1, stop: trace.ReasonDeadline, more: deadline},
	{quirk: "QT-10:comments@1", stalls: true, requests: 1, stop: trace.ReasonDeadline, more: deadline},
	{quirk: "QT-10:pings@1", stalls: true, requests: 1, stop: trace.ReasonDeadline, more: deadline},
	{quirk: "QT-11@1", stalls: true, same: true},
}

// says checks the text of the first response.
func says(want string) fact {
	return equals("text", want, func(o *played) string { return o.Run.Messages[0].Text() })
}

// waits checks the delays before retries.
func waits(want ...string) fact {
	return equals("waits", want, func(o *played) (got []string) {
		for _, ev := range o.Events {
			if r, ok := ev.Body.(trace.ModelRetry); ok {
				got = append(got, r.Wait.String())
			}
		}
		return got
	})
}

// status checks the status of the API error that ended the run.
func status(want int) fact {
	return equals("status of the error", want, func(o *played) int {
		if e, ok := errors.AsType[*llm.APIError](o.Err); ok {
			return e.Status
		}
		return -1
	})
}

// hasError checks that the error of the run contains a string.
func hasError(text string) fact {
	return func(t *testing.T, o *played) {
		t.Helper()
		if o.Err == nil || !strings.Contains(o.Err.Error(), text) {
			t.Errorf("the run failed with %v, want an error that contains %q", o.Err, text)
		}
	}
}

// keepsKey checks that neither the error nor the trace contains a part of the key.
func keepsKey(t *testing.T, o *played) {
	t.Helper()
	answer := string(o.exchanges[0].answer)
	if !strings.Contains(answer, "sec****key") {
		t.Errorf("the server does not repeat the key: %s", answer)
	}
	for _, text := range []string{o.Err.Error(), o.Trace()} {
		if strings.Contains(text, "sec*") || strings.Contains(text, "*key") {
			t.Errorf("a part of the key got out: %s", text)
		}
	}
}

func deadline(t *testing.T, o *played) {
	t.Helper()
	if !errors.Is(o.Err, loop.ErrDeadline) {
		t.Errorf("the run failed with %v, want %v", o.Err, loop.ErrDeadline)
	}
}
