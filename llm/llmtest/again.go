package llmtest

import (
	"context"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
)

// requestCases look at what becomes of a request.
func requestCases() []*testcase {
	script := Script{modelA: content{parts: []llm.Part{someText}}.script(7), modelB: content{parts: []llm.Part{oneCall}}.script(7)}
	return []*testcase{
		{property: Immutable, name: "used again", script: script, do: reuseRequest},
		{property: Lazy, name: "not ranged over", needsRequests: true, script: script, do: func(w *caseRun) {
			_ = w.subject.Model.Stream(context.Background(), w.request(modelA))
			if n := len(w.subject.Requests()); n > 0 {
				w.report(Lazy, "the model asked before its answer was ranged over")
			}
		}},
	}
}

// usedAgain makes another question of a request, in place, once it was answered.
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
			w.report(Immutable, "a request that was answered and then made another one gets the old answer; %s", diff)
		}
	}
}

// againCases ask the same again, and at once.
func repeatCases() []*testcase {
	script := Script{}
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
				w.report(Repeat, "the second answer to the same request is another; %s", diff)
			}
		}},
		{property: Concurrency, name: "many at once", script: script, do: func(w *caseRun) { w.streamConcurrently(names) }},
	}
}

// atOnce asks for all of these, some times each, while others are answered. Every
// second one is asked for in one piece.
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
				w.report(Concurrency, "asked beside others, %s gets another answer than alone; %s", names[i], diff)
			}
		})
	}
	all.Wait()
}
