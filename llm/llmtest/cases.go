package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
)

// weather is the tool of all requests.
var weather = llm.Tool{
	Name: "weather", Description: "The weather of a city.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`),
}

// The names of models, which select the response.
const modelA, modelB = "model-a", "model-b"

// The content of responses. It contains characters that need escapes.
var (
	someText = llm.Text{Text: "Rain in Zürich, sun in Rome ☀: \"20 % < 30 %\" & so on.\nBring an umbrella 😀."}
	oneCall  = llm.ToolCall{ID: "call_1", Name: weather.Name, Arguments: `{"city":"Zürich"}`}
	twoCalls = []llm.Part{
		llm.ToolCall{ID: "call_1", Name: weather.Name, Arguments: `{"city":"Zürich"}`},
		llm.ToolCall{ID: "call_2", Name: weather.Name, Arguments: `{"city":"Rome <&> \"Ostia\""}`},
	}
	picture = llm.Media{MediaType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n\x00\xff")}
	counted = llm.Usage{InputTokens: 100, OutputTokens: 50}
)

// rich returns content of all kinds that are sent in chunks.
func rich(s *Suite) content {
	out := content{parts: []llm.Part{someText, twoCalls[0], twoCalls[1]}, usage: counted}
	if !slices.Contains(s.Unsupported, Reasoning) {
		out.parts = slices.Insert(out.parts, 0, s.reasoned())
	}
	return out
}

// reasoned returns reasoning with opaque data.
func (s *Suite) reasoned() llm.Part {
	return llm.Reasoning{Text: "Two cities, so two calls. Zürich first.", Opaque: s.OpaqueReasoning}
}

// cases returns all cases in the order of their properties.
func cases(s *Suite) []*testcase {
	return slices.Concat(contentCases(s), chunkCases(s), earlyStopCases(s), cancelCases(), requestCases(), repeatCases(), errorCases(), echoCases(s), requestContentCases(), invalidCases())
}

func contentCases(s *Suite) (all []*testcase) {
	add := func(name string, what content, needs ...Feature) {
		all = append(all, &testcase{property: ResponseContent, name: name, needs: needs, script: map[string]Response{modelA: what.script(7)}, do: checkContent(what)})
	}
	signedText, signedCall := someText, oneCall
	signedText.Opaque, signedCall.Opaque = s.OpaqueText, s.OpaqueCall
	add("text", content{parts: []llm.Part{someText}})
	add("one call", content{parts: []llm.Part{oneCall}})
	add("parallel calls", content{parts: twoCalls})
	add("text and calls", content{parts: []llm.Part{someText, twoCalls[0], twoCalls[1]}})
	add("a call without arguments", content{parts: []llm.Part{llm.ToolCall{ID: "call_1", Name: "now", Arguments: "{}"}}})
	add("reasoning", content{parts: []llm.Part{s.reasoned(), someText}}, Reasoning)
	add("opaque data", content{parts: []llm.Part{s.reasoned(), signedText, signedCall}}, Reasoning)
	add("media", content{parts: []llm.Part{someText, picture}}, ResponseMedia)
	add("no content", content{})
	add("a refusal", content{parts: []llm.Part{llm.Text{Text: "I cannot help with that.", Refusal: true}}, finish: llm.FinishRefusal}, Refusals)
	add("truncated", content{parts: []llm.Part{someText}, finish: llm.FinishLength})
	add("filtered", content{parts: []llm.Part{someText}, finish: llm.FinishContentFilter}, ContentFilters)
	add("usage", content{parts: []llm.Part{someText}, usage: counted})
	add("cache-read tokens", content{parts: []llm.Part{someText}, usage: llm.Usage{InputTokens: 100, OutputTokens: 50, CacheReadInputTokens: 40}}, CachedUsage)
	add("cache-creation tokens", content{parts: []llm.Part{someText}, usage: llm.Usage{InputTokens: 100, OutputTokens: 50, CacheCreationInputTokens: 30}}, CacheWriteUsage)
	add("reasoning tokens", content{parts: []llm.Part{someText}, usage: llm.Usage{InputTokens: 100, OutputTokens: 50, ReasoningOutputTokens: 20}}, ReasoningUsage)
	return all
}

// checkContent compares a response with its script.
func checkContent(what content) func(w *caseRun) {
	want := what.response()
	return func(w *caseRun) {
		a := w.complete(w.request(modelA))
		if a == nil {
			return
		}
		got := a.response()
		if want.Usage == (llm.Usage{}) {
			got.Usage = llm.Usage{} // not part of the case
		}
		if diff := differ(describe(want), describe(got)); diff != "" {
			w.report(ResponseContent, "%s", diff)
			return
		}
		said := slices.DeleteFunc(slices.Clone(got.Parts), func(p llm.Part) bool { return describePart(p) == "" })
		for i, p := range want.Parts {
			if got := llm.PartOpaque(said[i]); !containsMembers(got, llm.PartOpaque(p)) {
				w.report(ResponseContent, "opaque data of part %d: %s, want %s", i, got, llm.PartOpaque(p))
			}
		}
	}
}

func chunkCases(s *Suite) []*testcase {
	what := rich(s)
	script := map[string]Response{}
	sizes := []int{0, 1, 2, 3, 5, 16}
	for _, size := range sizes {
		script[fmt.Sprintf("model-%d", size)] = what.script(size)
	}
	return []*testcase{
		{property: Chunking, name: "all chunk sizes", script: script, do: func(w *caseRun) {
			var first *result
			for _, size := range sizes {
				a := w.complete(w.request(fmt.Sprintf("model-%d", size)))
				switch {
				case a == nil:
					return
				case first == nil:
					first = a
				}
				w.compare(Chunking, first.String(), a.String(), "the response in chunks of %d bytes differs from that in a single chunk", size)
			}
		}},
		{property: ResponseModes, name: "streaming and non-streaming", script: map[string]Response{modelA: what.script(4), modelB: content{}.script(0)}, do: func(w *caseRun) {
			for _, model := range []string{modelA, modelB} {
				streamed, buffered := w.complete(w.request(model)), w.complete(w.nonStreaming(model))
				if streamed == nil || buffered == nil {
					return
				}
				w.compare(ResponseModes, streamed.String(), buffered.String(), "the non-streaming response differs from the streaming one")
			}
		}},
	}
}

// nonStreaming returns a request for a non-streaming response.
func (w *caseRun) nonStreaming(model string) *llm.Request {
	req := w.request(model)
	req.ResponseMode = llm.NonStreaming
	return req
}

// bothModes returns a request for a streaming and one for a non-streaming response.
func (w *caseRun) bothModes() []*llm.Request {
	return []*llm.Request{w.request(modelA), w.nonStreaming(modelA)}
}

// earlyStopCases stop at every event.
func earlyStopCases(s *Suite) []*testcase {
	play := func(request func(*caseRun) *llm.Request) func(w *caseRun) {
		return func(w *caseRun) {
			first := w.complete(request(w))
			if first == nil {
				return
			}
			for n := range len(first.events) {
				w.stream(context.Background(), request(w), func(heard int) bool { return heard <= n })
				w.checkLeaks(fmt.Sprintf(" after an early stop at event %d", n))
				if again := w.complete(request(w)); again != nil {
					w.compare(EarlyStop, first.String(), again.String(), "after an early stop at event %d, the next response differs", n)
				}
				if w.failed() {
					return
				}
			}
		}
	}
	script := map[string]Response{modelA: rich(s).script(16)}
	return []*testcase{
		{property: EarlyStop, name: "streaming", script: script, do: play(func(w *caseRun) *llm.Request { return w.request(modelA) })},
		{property: EarlyStop, name: "non-streaming", script: script, do: play(func(w *caseRun) *llm.Request { return w.nonStreaming(modelA) })},
	}
}

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
		w.compare(Immutable, other.String(), again.String(), "a changed request gets the old response")
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
			if first != nil && second != nil {
				w.compare(Repeat, first.String(), second.String(), "the second response to the same request differs")
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
			w.compare(Concurrency, alone[i], a.String(), "the concurrent response of %s differs", names[i])
		})
	}
	all.Wait()
}

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
	for _, req := range w.bothModes() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		a := w.stream(ctx, req, nil)
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
		if a.err != nil {
			w.checkCanceled(a, context.Canceled)
		} else {
			w.compare(Cancel, first.String(), a.String(), "canceled at event %d, the response is incomplete without an error", at)
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
		w.compare(Cancel, first.String(), again.String(), "after the context of a response ended, the next response differs")
	}
}

// cancelInStall cancels after the last event.
func cancelInStall(w *caseRun) {
	for _, req := range w.bothModes() {
		ctx, cancel := context.WithCancel(context.Background())
		soon := time.AfterFunc(time.Minute, cancel) //nolint:forbidigo // virtual: it is a bubble's
		w.checkCanceled(w.stream(ctx, req, nil), context.Canceled)
		soon.Stop()
		cancel()
	}
}

func deadlineInStall(w *caseRun) {
	for _, req := range w.bothModes() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) //nolint:forbidigo // virtual: it is a bubble's
		w.checkCanceled(w.stream(ctx, req, nil), context.DeadlineExceeded)
		cancel()
	}
}
