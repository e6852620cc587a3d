package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// brokenRecords are runs in which two records disagree: a result and what the model gets, a
// response and its echo, a count and the counted events, a number and its place.
var brokenRecords = []brokenRun{
	// INV-01: a call has one result, which is its own.
	{"INV-01", "plain", "another result is recorded", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[1] = llm.ToolResults(good("c1"), said("c2", "x"), good("c3")) })
	}},
	{"INV-01", "plain", "a result is recorded as nothing", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[1] = llm.ToolResults(good("c1"), llm.ToolResult{ID: "c2"}, good("c3")) })
	}},
	{"INV-01", "plain", "a result is recorded as a refusal", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) {
			m[1].Parts[0] = llm.ToolResult{ID: "c1", Content: []llm.Part{llm.Text{Text: "ok c1", Refusal: true}}}
		})
	}},
	{"INV-01", "plain", "a result is recorded with a signature", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) {
			m[1].Parts[0] = llm.ToolResult{ID: "c1", Content: []llm.Part{llm.Text{Text: "ok c1", Opaque: secret}}}
		})
	}},
	{"INV-01", "plain", "a result is recorded with an empty signature", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) {
			m[1].Parts[0] = llm.ToolResult{ID: "c1", Content: []llm.Part{llm.Unknown{Kind: "x", Raw: secret}}}
		})
	}},
	{"INV-01", "plain", "a result with a signature is recorded without", func(t *testing.T, s *script) {
		change(t, s, 1, func(b *trace.ToolEnd) { b.Result.Content = []llm.Part{llm.Text{Text: "ok c1", Opaque: secret}} })
	}},
	{"INV-01", "plain", "a picture is recorded as another", func(t *testing.T, s *script) {
		change(t, s, 1, func(b *trace.ToolEnd) { b.Result.Content = []llm.Part{llm.Media{URL: "a"}} })
		request(t, s, 1, func(m []llm.Message) {
			m[1].Parts[0] = llm.ToolResult{ID: "c1", Content: []llm.Part{llm.Media{URL: "b"}}}
		})
	}},
	{"INV-01", "cap", "another result is recorded at the end", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.AppendedMessages[1] = llm.ToolResults(said("c1", "x")) })
	}},
	{"INV-01", "middleware answers a call", "another output is recorded", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[1] = llm.ToolResults(said("c1", "x")) })
	}},
	// INV-23: an error is the result of its own call and of no other.
	{"INV-23", "plain", "a result is recorded as an error", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[1] = llm.ToolResults(good("c1"), bad("c2"), good("c3")) })
	}},
	{"INV-23", "cap", "a result is recorded as an error at the end", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.AppendedMessages[1] = llm.ToolResults(bad("c1")) })
	}},
	{"INV-23", "cap", "an error of a tool that returned is recorded as no error", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ToolEnd) { b.Result.IsError = true })
	}},
	// INV-01: a call of the response has a result, and a result has its call.
	{"INV-01", "plain", "a call is left out, and its result", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) {
			m[0].Parts = slices.Delete(m[0].Parts, 3, 4)
			m[1] = llm.ToolResults(good("c1"), good("c3"))
		})
	}},
	{"INV-01", "one at a time", "the last call is left out, and its result", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[0], m[1] = llm.Assistant(c1), llm.ToolResults(good("c1")) })
	}},
	{"INV-01", "one at a time", "a call is made up, and its result", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) {
			m[0], m[1] = llm.Assistant(c1, c2, c3), llm.ToolResults(good("c1"), good("c2"), good("c3"))
		})
	}},
	{"INV-01", "cap", "a call has another id at the end", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) {
			b.AppendedMessages = []llm.Message{llm.Assistant(c2), llm.ToolResults(good("c2"))}
		})
	}},
	{"INV-01", "no tools", "a call is made up at the end", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.AppendedMessages = []llm.Message{llm.Assistant(text("hi"), c1)} })
	}},
	// INV-07: the same at the end of a run.
	{"INV-07", "client tools", "a pending call is left out, and another is not", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.Pending, b.AppendedMessages = b.Pending[:1], []llm.Message{llm.Assistant(c1)} })
	}},
	// INV-05: the history grows by the response.
	{"INV-05", "plain", "other words are sent back", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[0].Parts[1] = text("thought") })
	}},
	{"INV-05", "plain", "no words are sent back", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[0].Parts = slices.Delete(m[0].Parts, 1, 2) })
	}},
	{"INV-05", "plain", "a refusal is sent back for the words", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[0].Parts[1] = llm.Text{Text: "thinking", Refusal: true} })
	}},
	{"INV-05", "plain", "other words at the end", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.AppendedMessages = []llm.Message{llm.Assistant(text("undone"))} })
	}},
	{"INV-05", "plain", "spaces in the arguments that are sent back", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[0].Parts[3] = llm.ToolCall{ID: "c2", Name: "g", Arguments: `{"id": "c2"}`} })
	}},
	{"INV-05", "plain", "another tool is sent back", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[0].Parts[4] = llm.ToolCall{ID: "c3", Name: "g", Arguments: c3.Arguments} })
	}},
	{"INV-05", "plain", "other words twice are said once", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[0].Parts[1] = text("thought") })
		change(t, s, 0, func(b *trace.RunEnd) { b.AppendedMessages = []llm.Message{llm.Assistant(text("undone"))} })
	}},
	{"INV-05", "middleware substitutes two responses", "other words of the last", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[2].Parts[0] = text("y") })
	}},
	{"INV-05", "middleware changes the response", "other words of it", func(t *testing.T, s *script) {
		change(t, s, 1, func(b *trace.ModelResponse) { b.Message = llm.Assistant(text("y"), c2) })
	}},
	{"INV-01", "middleware substitutes two responses", "another result of the last", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[3] = llm.ToolResults(said("c2", "y")) })
	}},
	{"INV-05", "plain", "words for none", func(t *testing.T, s *script) {
		change(t, s, 2, func(b *trace.ModelResponse) {
			b.Message = llm.Assistant(text(" "), llm.Text{Text: "no", Refusal: true})
		})
	}},
	{"INV-05", "cap", "text in addition to a call without text", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) {
			b.AppendedMessages = []llm.Message{llm.Assistant(text("x"), c1), b.AppendedMessages[1]}
		})
	}},
	{"INV-05", "plain", "reasoning that is not signed is left out", func(t *testing.T, s *script) {
		change(t, s, 2, func(b *trace.ModelResponse) { b.Message = llm.Assistant(llm.Reasoning{Text: "hm"}, text("done")) })
	}},
	{"INV-05", "one at a time", "reasoning before the calls is changed", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ModelResponse) { b.Message = llm.Assistant(llm.Reasoning{Text: "hm"}, c1, c2) })
		request(t, s, 1, func(m []llm.Message) { m[0] = llm.Assistant(llm.Reasoning{Text: "hmm"}, c1, c2) })
	}},
	{"INV-05", "cap", "a call that the provider ran is left out", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ModelResponse) { b.Message = llm.Assistant(ranThere, c1) })
	}},
	{"INV-05", "calls that the provider ran", "one more is sent back", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) {
			b.AppendedMessages[0].Parts = append(slices.Clone(b.AppendedMessages[0].Parts), ranThere)
		})
	}},
	{"INV-05", "calls that the provider ran", "the result is changed", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) {
			p := b.AppendedMessages[0].Parts
			b.AppendedMessages[0].Parts = []llm.Part{p[0], said("srv", "x"), p[2]}
		})
	}},
	{"INV-05", "calls that the provider ran", "its arguments are changed", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) {
			p := b.AppendedMessages[0].Parts
			b.AppendedMessages[0].Parts = []llm.Part{llm.ToolCall{ID: "srv", Name: "search", Arguments: `{"a":1}`, ProviderExecuted: true}, p[1], p[2]}
		})
	}},
	{"INV-05", "plain", "a picture is left out", func(t *testing.T, s *script) {
		change(t, s, 2, func(b *trace.ModelResponse) { b.Message = llm.Assistant(llm.Media{URL: "a"}, text("done")) })
	}},
	{"INV-05", "cap", "another id of the provider's", func(t *testing.T, s *script) {
		c := c1
		c.ProviderID, c.IDGenerated = "p1", true
		change(t, s, 0, func(b *trace.ModelResponse) { b.Message = llm.Assistant(c) })
	}},
	// INV-18: the usage of a run is the sum of its parts.
	{"INV-18", "plain", "a step too many", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.Steps++ })
	}},
	{"INV-18", "plain", "a step too few", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.Steps-- })
	}},
	{"INV-18", "retry", "retries do not count as model calls", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.ModelCalls = 1 })
	}},
	{"INV-18", "usage by purpose", "only a judge's calls count", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.ModelCalls = 2 })
	}},
	{"INV-18", "plain", "two counts are said as one", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.Steps, b.ModelCalls = 7, 7 })
	}},
	// INV-14: events are in order.
	{"INV-14", "plain", "a number comes twice", func(_ *testing.T, s *script) { misnumber(s, 5, 4) }},
	{"INV-14", "plain", "a number is too small", func(_ *testing.T, s *script) { misnumber(s, 5, 2) }},
	{"INV-14", "plain", "a number is 0", func(_ *testing.T, s *script) { misnumber(s, 5, 0) }},
	{"INV-14", "plain", "a number is below 0", func(_ *testing.T, s *script) { misnumber(s, 0, -1) }},
	{"INV-14", "plain", "a number comes late", func(_ *testing.T, s *script) { s.events[10].Seq, s.events[11].Seq = 11, 10 }},
	{"INV-14", "plain", "the numbers go back twice", func(_ *testing.T, s *script) {
		for i := range s.events[5:] {
			s.events[5+i].Seq = i
		}
		s.events[12].Seq = 3
		for i := 13; i < len(s.events); i++ {
			s.events[i].Seq = i - 6
		}
	}},
}

// misnumber gives an event the number of another, and those after it the numbers
// from its own on.
func misnumber(s *script, at, number int) {
	s.number(0)
	s.events[at].Seq = number
	for i := at + 1; i < len(s.events); i++ {
		s.events[i].Seq = i - 1
	}
}

var ranThere = llm.ToolCall{ID: "p", Name: "search", ProviderExecuted: true}

func said(id, words string) llm.ToolResult {
	return llm.ToolResult{ID: id, Name: "f", Content: []llm.Part{text(words)}}
}

// TestRecordsThatMayDiffer checks differences that are not violations.
func TestRecordsThatMayDiffer(t *testing.T) {
	for _, x := range []struct {
		clean, what string
		change      func(t *testing.T, s *script)
	}{
		{"plain", "nothing is counted", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.RunEnd) { b.Steps, b.ModelCalls = 0, 0 })
		}},
		{"plain", "no event is numbered", func(_ *testing.T, s *script) {
			for i := range s.events {
				s.events[i].Seq = 0
			}
		}},
		{"plain", "the numbers begin later", func(_ *testing.T, s *script) {
			for i := range s.events {
				s.events[i].Seq = 10 + i
			}
		}},
		{"plain", "space around the words", func(t *testing.T, s *script) {
			change(t, s, 2, func(b *trace.ModelResponse) { b.Message = llm.Assistant(text("\ndone "), text(" ")) })
		}},
		{"plain", "the words in pieces", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.RunEnd) { b.AppendedMessages = []llm.Message{llm.Assistant(text("do"), text("ne"))} })
		}},
		{"plain", "white space for no text, in addition to a refusal", func(t *testing.T, s *script) {
			refusal := llm.Text{Text: "no", Refusal: true}
			change(t, s, 2, func(b *trace.ModelResponse) { b.Message = llm.Assistant(text(" "), refusal) })
			change(t, s, 0, func(b *trace.RunEnd) { b.AppendedMessages = []llm.Message{llm.Assistant(refusal)} })
		}},
		{"plain", "reasoning in pieces, with space", func(t *testing.T, s *script) {
			change(t, s, 2, func(b *trace.ModelResponse) {
				b.Message = llm.Assistant(llm.Reasoning{Text: "h"}, llm.Reasoning{}, llm.Reasoning{Text: "m\n"}, llm.Reasoning{Text: "m"}, text("done"))
			})
			change(t, s, 0, func(b *trace.RunEnd) {
				b.AppendedMessages = []llm.Message{llm.Assistant(llm.Reasoning{Text: " hm\nm"}, text("done"))}
			})
		}},
		{"plain", "the words before a signature in pieces, with space", func(t *testing.T, s *script) {
			change(t, s, 2, func(b *trace.ModelResponse) {
				b.Message = llm.Assistant(text(" all"), text(" is"), llm.Reasoning{Opaque: secret}, text(" done "))
			})
			change(t, s, 0, func(b *trace.RunEnd) {
				b.AppendedMessages = []llm.Message{llm.Assistant(text("all is"), llm.Reasoning{Opaque: secret}, text(" done"))}
			})
		}},
		{"cap", "words move around a call, in a turn with a signature", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.ModelResponse) { b.Message = llm.Assistant(llm.Reasoning{Opaque: secret}, text("so"), c1) })
			change(t, s, 0, func(b *trace.RunEnd) {
				b.AppendedMessages = []llm.Message{llm.Assistant(llm.Reasoning{Opaque: secret}, c1, text("so")), b.AppendedMessages[1]}
			})
		}},
		{"plain", "a picture of the model's", func(t *testing.T, s *script) {
			m := llm.Assistant(llm.Media{URL: "a"}, text("done"))
			change(t, s, 2, func(b *trace.ModelResponse) { b.Message = m })
			change(t, s, 0, func(b *trace.RunEnd) { b.AppendedMessages = []llm.Message{llm.Assistant(m.Parts[1], m.Parts[0])} })
		}},
		{"cap", "the provider's id is the call's", func(t *testing.T, s *script) {
			c := c1
			c.ProviderID = c.ID
			change(t, s, 0, func(b *trace.ModelResponse) { b.Message = llm.Assistant(c) })
		}},
		{"cap", "a call without a name gets one", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.ModelResponse) {
				b.Message = llm.Assistant(llm.ToolCall{ID: "c1", Arguments: c1.Arguments})
			})
		}},
		{"plain", "a rewrite changes the results and the words", func(t *testing.T, s *script) {
			request(t, s, 1, func(m []llm.Message) {
				m[0].Parts[1] = text("thought")
				m[1] = llm.ToolResults(said("c1", "x"), bad("c2"), good("c3"))
			})
			s.insert(s.index(t, trace.KindModelRequest, 1), trace.HistoryRewrite{Reason: "middleware"})
			s.number(0)
		}},
		{"cap", "a rewrite before the end", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.RunEnd) {
				b.AppendedMessages = []llm.Message{llm.Assistant(text("x"), c1), llm.ToolResults(bad("c1"))}
			})
			s.insert(s.index(t, trace.KindRunEnd, 0), trace.HistoryRewrite{Reason: "middleware"})
			s.number(0)
		}},
		{"failures without a flag", "an error is recorded by its text alone", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.ToolEnd) { b.Result.IsError = true })
		}},
		{"plain", "a picture", func(t *testing.T, s *script) {
			change(t, s, 1, func(b *trace.ToolEnd) { b.Result.Content = []llm.Part{llm.Media{Data: []byte("a")}} })
			request(t, s, 1, func(m []llm.Message) {
				m[1].Parts[0] = llm.ToolResult{ID: "c1", Content: []llm.Part{llm.Media{Data: []byte("a")}}}
			})
		}},
		{"plain", "a result without content", func(t *testing.T, s *script) {
			change(t, s, 1, func(b *trace.ToolEnd) { b.Result.Content = []llm.Part{} })
			request(t, s, 1, func(m []llm.Message) { m[1].Parts[0] = llm.ToolResult{ID: "c1"} })
		}},
		{"no tools", "the last turn is not appended", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.RunEnd) { b.AppendedMessages = nil })
		}},
		{"client tools", "a pending call's turn is not appended", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.RunEnd) { b.AppendedMessages = nil })
		}},
		{"middleware changes the response", "an empty one", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.ModelResponse) { b.Message = llm.Assistant() })
		}},
		{"cancel", "a count of what was not recorded", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.RunEnd) { b.Steps, b.ModelCalls = 7, 7 })
		}},
		{"model failure", "a count of what was not recorded", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.RunEnd) { b.Steps, b.ModelCalls = 7, 7 })
		}},
		{"middleware substitutes the response", "counts of nothing", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.RunEnd) { b.ModelCalls = 0 })
		}},
	} {
		t.Run(x.clean+": "+x.what, func(t *testing.T) {
			s := clean[x.clean]()
			x.change(t, s)
			wantNone(t, s.check())
		})
	}
}

// TestRepairedArguments checks that only arguments which a provider accepts
// must be sent back unchanged.
func TestRepairedArguments(t *testing.T) {
	for args, want := range map[string]bool{`{"a":1`: true, `[]`: true, "": true, `"x"`: true, `{"a": 1}`: false} {
		s := bare("r1").ask().reply(llm.Assistant(llm.ToolCall{ID: "c1", Name: "f", Arguments: args}))
		s.history[1] = llm.Assistant(llm.ToolCall{ID: "c1", Name: "f", Arguments: "{}"})
		s.results(good("c1")).done().ask().reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
		if got := len(s.check()) == 0; got != want {
			t.Errorf("%s: repaired without a warning: %v, want %v", args, got, want)
		}
	}
}

// TestFaintFindings checks that a possible consequence of another violation is not
// reported in addition to it.
func TestFaintFindings(t *testing.T) {
	s := plain()
	change(t, s, 0, func(b *trace.ToolStart) { b.Arguments = "{}" })
	change(t, s, 0, func(b *trace.RunEnd) { b.Steps, b.ModelCalls = 7, 7 })
	request(t, s, 1, func(m []llm.Message) { m[0].Parts[1] = text("thought") })
	misnumber(s, 5, 0)
	wantOne(t, s.check(), "INV-09")

	s = plain()
	change(t, s, 0, func(b *trace.RunEnd) { b.Steps = 7 })
	request(t, s, 1, func(m []llm.Message) { m[0].Parts[1] = text("thought") })
	misnumber(s, 5, 0)
	var got []string
	for _, v := range s.check() {
		got = append(got, fmt.Sprint(v.Invariant, " ", v.Event))
	}
	want := []string{"INV-14 0", fmt.Sprint("INV-05 ", s.index(t, trace.KindModelRequest, 1)-1), fmt.Sprint("INV-18 ", len(s.events)-2)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
	if other := (&script{events: append(s.events[:len(s.events)-1:len(s.events)-1], plain().events[0])}).check(); len(other) != 2 {
		t.Errorf("of a run without an end: %q, want that and a second start alone", brief(other))
	}
}

// TestRepairedIDs checks that a response with invalid ids may be sent back with other
// ids, and that its results may have these.
func TestRepairedIDs(t *testing.T) {
	for name, made := range map[string][]llm.Part{
		"empty": {call("", "f"), c2}, "twice in a response": {c1, call("c1", "g")}, "of an earlier response": {c3, c2},
	} {
		t.Run(name, func(t *testing.T) {
			s := bare("r1").ask().reply(llm.Assistant(c3)).results(good("c3")).done().ask().reply(llm.Assistant(made...))
			s.history[len(s.history)-1] = llm.Assistant(call("m1", "f"), call("m2", "g"))
			s.results(good("m1"), good("m2")).done().ask().reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
			vs := s.check()
			for _, v := range vs {
				if v.Invariant != "INV-04" && !strings.Contains(v.Message, `"c2"`) && !strings.Contains(v.Message, `"c1"`) {
					t.Errorf("got %q", brief(vs))
				}
			}
			if vs[0].Invariant != "INV-04" {
				t.Errorf("got %q", brief(vs))
			}
		})
	}
}

// TestOneIDTwiceInAResponse checks that two calls with one id in one response violate only
// INV-04, whatever their deltas.
func TestOneIDTwiceInAResponse(t *testing.T) {
	one := func(what string) trace.ModelDelta { return trace.ModelDelta{Type: what, ToolCallID: "c1"} }
	begins, args, ends := one(trace.DeltaCall), one(trace.DeltaArguments), one(trace.DeltaCallEnd)
	for name, x := range map[string]struct {
		deltas []trace.ModelDelta
		calls  int
		want   []string // invariant and event
	}{
		"one after the other":   {[]trace.ModelDelta{begins, args, ends, begins, args, ends}, 2, []string{"INV-04 9"}},
		"side by side":          {[]trace.ModelDelta{begins, begins, args, ends, args, ends}, 2, []string{"INV-04 9"}},
		"without their ends":    {[]trace.ModelDelta{begins, args, begins, args}, 2, []string{"INV-04 7"}},
		"begun three times":     {[]trace.ModelDelta{begins, ends, begins, ends, begins}, 2, []string{"INV-14 7", "INV-04 8"}},
		"begun three times ago": {[]trace.ModelDelta{begins, begins, begins}, 3, []string{"INV-04 6"}},
		"one call begun twice":  {[]trace.ModelDelta{begins, ends, begins}, 1, []string{"INV-14 5"}},
		"no call begun twice":   {[]trace.ModelDelta{begins, begins}, 0, []string{"INV-14 4"}},
		"a delta too many":      {[]trace.ModelDelta{begins, ends, begins, ends, args}, 2, []string{"INV-14 7", "INV-04 8"}},
		"an end too many":       {[]trace.ModelDelta{begins, ends, begins, ends, ends}, 2, []string{"INV-14 7", "INV-04 8"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := bare("r1").ask()
			for _, d := range x.deltas {
				s.attempt(1, d)
			}
			m := llm.Assistant(slices.Repeat([]llm.Part{c1}, x.calls)...)
			if x.calls == 0 {
				m = llm.Assistant(text("a"))
			}
			s.reply(m)
			s.results(slices.Repeat([]llm.ToolResult{good("c1")}, x.calls)...)
			if x.calls == 0 {
				s.history = s.history[:2]
			}
			s.done().ask().reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
			var got []string
			for _, v := range s.check() {
				got = append(got, fmt.Sprint(v.Invariant, " ", v.Event))
			}
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOneIDTwiceInAFailedResponse is the same for a truncated response.
func TestOneIDTwiceInAFailedResponse(t *testing.T) {
	for calls, want := range []string{"INV-14", "INV-14", ""} {
		s := begin("r1", nil).ask()
		for range 2 {
			s.attempt(1, trace.ModelDelta{Type: trace.DeltaCall, ToolCallID: "c1"})
		}
		s.attempt(1, trace.ModelError{PartialContent: slices.Repeat([]llm.Part{c1}, calls)}).done().end(trace.ReasonError)
		vs := s.check()
		if want == "" {
			wantNone(t, vs)
		} else {
			wantOne(t, vs, want)
		}
	}
}
