package llmtest

import (
	"context"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
)

// requestCases check what the model does with a request.
func requestCases() []*testcase {
	script := map[string]Response{modelA: content{parts: []llm.Part{someText}}.script(7), modelB: content{parts: []llm.Part{oneCall}}.script(7)}
	return []*testcase{
		{property: Immutable, name: "reused request", script: script, do: reuseRequest},
		{property: Lazy, name: "no iteration", needsRequests: true, script: script, do: func(w *caseRun) {
			_ = w.subject.Model.Stream(context.Background(), w.request(modelA))
			if n := len(w.subject.Requests()); n > 0 {
				w.report(Lazy, "the model sent a request before the iteration")
			}
		}},
	}
}

// reuseRequest changes a request in place after its response.
func reuseRequest(w *caseRun) {
	question := llm.User("And in Rome?")
	other := w.complete(w.request(modelB, question))
	req := w.request(modelA)
	if other == nil || w.complete(req) == nil {
		return
	}
	req.Model = modelB
	for i := range req.Messages {
		req.Messages[i] = question
	}
	if again := w.complete(req); again != nil {
		if diff := differ(other.String(), again.String()); diff != "" {
			w.report(Immutable, "a changed request gets the old response; %s", diff)
		}
	}
}

// repeatCases send the same requests again and concurrently.
func repeatCases() []*testcase {
	script := map[string]Response{}
	var names []string
	for _, city := range []string{"bern", "rome", "oslo", "lima"} {
		script[city] = content{parts: []llm.Part{llm.Text{Text: "It rains in " + city + "."}, llm.ToolCall{ID: "call_" + city, Name: weather.Name, Arguments: `{"city":"` + city + `"}`}}}.script(3)
		names = append(names, city)
	}
	return []*testcase{
		{property: Repeat, name: "the same request", script: script, do: func(w *caseRun) {
			req := w.request(names[0])
			first, second := w.complete(req), w.complete(req)
			if first == nil || second == nil {
				return
			}
			if diff := differ(first.String(), second.String()); diff != "" {
				w.report(Repeat, "the second response to the same request differs; %s", diff)
			}
		}},
		{property: Concurrency, name: "many responses", script: script, do: func(w *caseRun) { w.streamConcurrently(names) }},
	}
}

// streamConcurrently sends four requests for each name concurrently. Every second name
// gets non-streaming responses.
func (w *caseRun) streamConcurrently(names []string) {
	const each = 4
	request := func(i int) *llm.Request {
		if i%2 == 1 {
			return w.nonStreaming(names[i])
		}
		return w.request(names[i])
	}
	alone := make([]string, len(names))
	for i := range names {
		a := w.complete(request(i))
		if a == nil {
			return
		}
		alone[i] = a.String()
	}
	var all sync.WaitGroup
	for n := range each * len(names) {
		i := n % len(names)
		all.Go(func() {
			a := w.stream(context.Background(), request(i), func(int) bool {
				time.Sleep(time.Second) //nolint:forbidigo // virtual: it is a bubble's
				return true
			})
			if diff := differ(alone[i], a.String()); diff != "" {
				w.report(Concurrency, "the concurrent response of %s differs; %s", names[i], diff)
			}
		})
	}
	all.Wait()
}
