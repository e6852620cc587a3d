package llmtest

import (
	"context"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
)

// requestCases look at what becomes of a request.
func requestCases() []*testcase {
	script := Script{modelA: speech{parts: []llm.Part{someText}}.answer(7), modelB: speech{parts: []llm.Part{oneCall}}.answer(7)}
	return []*testcase{
		{law: Immutable, name: "used again", script: script, play: usedAgain},
		{law: Lazy, name: "not ranged over", sees: true, script: script, play: func(w *world) {
			_ = w.subject.Model.Stream(context.Background(), w.request(modelA))
			if n := len(w.subject.Asked()); n > 0 {
				w.report(Lazy, "the model asked before its answer was ranged over")
			}
		}},
	}
}

// usedAgain makes another question of a request, in place, once it was answered.
func usedAgain(w *world) {
	question := llm.User("And in Rome?")
	other := w.whole(w.request(modelB, question))
	req := w.request(modelA)
	if other == nil || w.whole(req) == nil {
		return
	}
	req.Model = modelB
	for i := range req.Messages {
		req.Messages[i] = question
	}
	if again := w.whole(req); again != nil {
		if diff := differ(other.String(), again.String()); diff != "" {
			w.report(Immutable, "a request that was answered and then made another one gets the old answer; %s", diff)
		}
	}
}

// againCases ask the same again, and at once.
func againCases() []*testcase {
	script := Script{}
	var names []string
	for _, city := range []string{"bern", "rome", "oslo", "lima"} {
		script[city] = speech{parts: []llm.Part{llm.Text{Text: "It rains in " + city + "."}, llm.ToolCall{ID: "call_" + city, Name: weather.Name, Arguments: `{"city":"` + city + `"}`}}}.answer(3)
		names = append(names, city)
	}
	return []*testcase{
		{law: Repeat, name: "the same request", script: script, play: func(w *world) {
			req := w.request(names[0])
			first, second := w.whole(req), w.whole(req)
			if first == nil || second == nil {
				return
			}
			if diff := differ(first.String(), second.String()); diff != "" {
				w.report(Repeat, "the second answer to the same request is another; %s", diff)
			}
		}},
		{law: Concurrency, name: "many at once", script: script, play: func(w *world) { w.atOnce(names) }},
	}
}

// atOnce asks for all of these, some times each, while others are answered. Every
// second one is asked for in one piece.
func (w *world) atOnce(names []string) {
	const each = 4
	request := func(i int) *llm.Request {
		if i%2 == 1 {
			return w.buffered(names[i])
		}
		return w.request(names[i])
	}
	alone := make([]string, len(names))
	for i := range names {
		a := w.whole(request(i))
		if a == nil {
			return
		}
		alone[i] = a.String()
	}
	var all sync.WaitGroup
	for n := range each * len(names) {
		i := n % len(names)
		all.Go(func() {
			a := w.ask(context.Background(), request(i), func(int) bool {
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
