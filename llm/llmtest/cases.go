package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
)

// weather is the tool that requests have.
var weather = llm.Tool{
	Name: "weather", Description: "The weather of a city.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`),
}

// The names of models, which choose the answer.
const modelA, modelB = "model-a", "model-b"

// What is said. The texts have what encodings stumble over.
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

// rich is an answer of all that has to do with pieces.
func rich(s *Suite) speech {
	out := speech{parts: []llm.Part{someText, twoCalls[0], twoCalls[1]}, usage: counted}
	if !slices.Contains(s.Unsupported, Reasoning) {
		out.parts = slices.Insert(out.parts, 0, s.reasoned())
	}
	return out
}

// reasoned is reasoning with what the provider wants back with it.
func (s *Suite) reasoned() llm.Part {
	return llm.Reasoning{Text: "Two cities, so two calls. Zürich first.", Opaque: s.Private.Reasoning}
}

// cases are all cases in the order of what they are about.
func cases(s *Suite) []*testcase {
	return slices.Concat(saidCases(s), pieceCases(s), leaveCases(s), cancelCases(), requestCases(), againCases(), errorCases(), echoCases(s), askedCases(), oddCases())
}

func saidCases(s *Suite) (all []*testcase) {
	add := func(name string, what speech, needs ...Feature) {
		all = append(all, &testcase{law: Said, name: name, needs: needs, script: Script{modelA: what.answer(7)}, play: says(what)})
	}
	signedText, signedCall := someText, oneCall
	signedText.Opaque, signedCall.Opaque = s.Private.Text, s.Private.Call
	add("text", speech{parts: []llm.Part{someText}})
	add("one call", speech{parts: []llm.Part{oneCall}})
	add("parallel calls", speech{parts: twoCalls})
	add("text and calls", speech{parts: []llm.Part{someText, twoCalls[0], twoCalls[1]}})
	add("a call without arguments", speech{parts: []llm.Part{llm.ToolCall{ID: "call_1", Name: "now", Arguments: "{}"}}})
	add("reasoning", speech{parts: []llm.Part{s.reasoned(), someText}}, Reasoning)
	add("private data", speech{parts: []llm.Part{s.reasoned(), signedText, signedCall}}, Reasoning)
	add("media", speech{parts: []llm.Part{someText, picture}}, AnsweredMedia)
	add("nothing", speech{})
	add("a refusal", speech{parts: []llm.Part{llm.Text{Text: "I cannot help with that.", Refusal: true}}, finish: llm.FinishRefusal}, Refusals)
	add("cut off", speech{parts: []llm.Part{someText}, finish: llm.FinishLength})
	add("filtered", speech{parts: []llm.Part{someText}, finish: llm.FinishContentFilter}, ContentFilters)
	add("usage", speech{parts: []llm.Part{someText}, usage: counted})
	add("cached tokens", speech{parts: []llm.Part{someText}, usage: llm.Usage{InputTokens: 100, OutputTokens: 50, CacheReadInputTokens: 40}}, CachedUsage)
	add("written tokens", speech{parts: []llm.Part{someText}, usage: llm.Usage{InputTokens: 100, OutputTokens: 50, CacheCreationInputTokens: 30}}, CacheWriteUsage)
	add("reasoning tokens", speech{parts: []llm.Part{someText}, usage: llm.Usage{InputTokens: 100, OutputTokens: 50, ReasoningOutputTokens: 20}}, ReasoningUsage)
	return all
}

// says holds a turn against what was said.
func says(what speech) func(w *world) {
	want := what.turn()
	return func(w *world) {
		a := w.whole(w.request(modelA))
		if a == nil {
			return
		}
		got := a.turn()
		if want.Usage == (llm.Usage{}) {
			got.Usage = llm.Usage{} // the case is not about it
		}
		if diff := differ(describe(want), describe(got)); diff != "" {
			w.report(Said, "%s", diff)
			return
		}
		said := slices.DeleteFunc(slices.Clone(got.Parts), func(p llm.Part) bool { return describePart(p) == "" })
		for i, p := range want.Parts {
			if got := llm.PartOpaque(said[i]); !holds(got, llm.PartOpaque(p)) {
				w.report(Said, "the private data of part %d are %s, want %s", i, got, llm.PartOpaque(p))
			}
		}
	}
}

func pieceCases(s *Suite) []*testcase {
	what := rich(s)
	script := Script{}
	sizes := []int{0, 1, 2, 3, 5, 16}
	for _, size := range sizes {
		script[fmt.Sprintf("model-%d", size)] = what.answer(size)
	}
	return []*testcase{
		{law: Chunking, name: "any pieces", script: script, play: func(w *world) {
			var first *answer
			for _, size := range sizes {
				a := w.whole(w.request(fmt.Sprintf("model-%d", size)))
				switch {
				case a == nil:
					return
				case first == nil:
					first = a
				}
				if diff := differ(first.String(), a.String()); diff != "" {
					w.report(Chunking, "in pieces of %d bytes it is another turn than in one piece; %s", size, diff)
				}
			}
		}},
		{law: ResponseModes, name: "streamed and buffered", script: Script{modelA: what.answer(4), modelB: speech{}.answer(0)}, play: func(w *world) {
			for _, model := range []string{modelA, modelB} {
				streamed, buffered := w.whole(w.request(model)), w.whole(w.buffered(model))
				if streamed == nil || buffered == nil {
					return
				}
				if diff := differ(streamed.String(), buffered.String()); diff != "" {
					w.report(ResponseModes, "the buffered turn is not the streamed one; %s", diff)
				}
			}
		}},
	}
}

// buffered is a request for an answer in one piece.
func (w *world) buffered(model string) *llm.Request {
	req := w.request(model)
	req.ResponseMode = llm.NonStreaming
	return req
}

// leaveCases leave at every event.
func leaveCases(s *Suite) []*testcase {
	play := func(request func(*world, string) *llm.Request) func(w *world) {
		return func(w *world) {
			first := w.whole(request(w, modelA))
			if first == nil {
				return
			}
			for n := range len(first.events) {
				w.ask(context.Background(), request(w, modelA), func(heard int) bool { return heard <= n })
				w.left(fmt.Sprintf(" after event %d, at which the range was left", n))
				if again := w.whole(request(w, modelA)); again != nil {
					if diff := differ(first.String(), again.String()); diff != "" {
						w.report(Leave, "after a range was left at event %d, the next answer is another; %s", n, diff)
					}
				}
				if w.broken() {
					return
				}
			}
		}
	}
	script := Script{modelA: rich(s).answer(16)}
	return []*testcase{
		{law: Leave, name: "streamed", script: script, play: play((*world).simple)},
		{law: Leave, name: "buffered", script: script, play: play((*world).buffered)},
	}
}

// simple is the usual request.
func (w *world) simple(model string) *llm.Request { return w.request(model) }
