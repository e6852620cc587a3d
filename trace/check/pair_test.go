package check_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

var kinds = map[check.PairKind]string{check.Chunking: "INV-10", check.ResponseMode: "INV-12", check.Repeat: "INV-27"}

func TestPairsThatAgree(t *testing.T) {
	same := map[string]func(t *testing.T, s *script){
		"nothing": func(*testing.T, *script) {},
		"no deltas": func(t *testing.T, s *script) {
			s.events = slices.DeleteFunc(s.events, func(ev trace.Event) bool { return ev.Body.Kind() == trace.KindModelDelta })
		},
		"tools finish in another order": func(t *testing.T, s *script) {
			i, j := s.index(t, trace.KindToolEnd, 1), s.index(t, trace.KindToolEnd, 2)
			s.events[i], s.events[j] = s.events[j], s.events[i]
		},
		"another name": func(_ *testing.T, s *script) {
			for i := range s.events {
				s.events[i].Run = "other"
			}
		},
	}
	for name, f := range same {
		for kind := range kinds {
			s := plain()
			f(t, s)
			t.Run(name, func(t *testing.T) { wantNone(t, check.Pair(plain().events, s.events, kind)) })
		}
	}
}

func TestPairsThatPart(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(t *testing.T, s *script)
		seen   []string
	}{
		{"a turn", func(t *testing.T, s *script) {
			change(t, s, 1, func(b *trace.ModelResponse) { b.Message = llm.Assistant(text("other"), c4) })
		}, []string{"INV-10", "INV-12", "INV-27"}},
		{"a finish reason", func(t *testing.T, s *script) {
			change(t, s, 1, func(b *trace.ModelResponse) { b.FinishReason = llm.FinishLength })
		}, []string{"INV-10", "INV-12", "INV-27"}},
		{"a turn's usage", func(t *testing.T, s *script) {
			change(t, s, 2, func(b *trace.ModelResponse) { b.Usage.InputTokens++ })
		}, []string{"INV-10", "INV-12", "INV-27"}},
		{"a turn is missing", func(t *testing.T, s *script) { s.remove(t, trace.KindModelResponse, 2) }, []string{"INV-10", "INV-12", "INV-27"}},
		{"a request", func(t *testing.T, s *script) {
			request(t, s, 1, func(m []llm.Message) { m[1] = llm.User("x") })
		}, []string{"INV-12", "INV-27"}},
		{"what is kept", func(t *testing.T, s *script) {
			change(t, s, 1, func(b *trace.ModelRequest) { b.PrefixMessages++ })
		}, []string{"INV-12", "INV-27"}},
		{"a result", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.ToolEnd) { b.Result.IsError = true })
		}, []string{"INV-12", "INV-27"}},
		{"the stop reason", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.RunEnd) { b.StopReason = trace.ReasonMaxSteps })
		}, []string{"INV-12", "INV-27"}},
		{"the sum", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.RunEnd) { b.Usage.OutputTokens++ })
		}, []string{"INV-12", "INV-27"}},
		{"the last messages", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.RunEnd) { b.AppendedMessages = nil })
		}, []string{"INV-12", "INV-27"}},
		{"a time", func(t *testing.T, s *script) { s.events[5].At = time.Second }, nil},
		{"a time on the virtual clock", func(t *testing.T, s *script) {
			s.events[s.index(t, trace.KindModelResponse, 0)].At = time.Second
		}, []string{"INV-27"}},
		{"a decision's note", func(t *testing.T, s *script) {
			change(t, s, 0, func(b *trace.Decision) { b.Note = "x" })
		}, []string{"INV-27"}},
		{"the end is missing", func(t *testing.T, s *script) { s.remove(t, trace.KindRunEnd, 0) }, []string{"INV-12", "INV-27"}},
		{"a second run", func(_ *testing.T, s *script) {
			s.events = append(s.events, trace.Event{Run: "r2", Body: trace.RunStart{}})
		}, []string{"INV-10", "INV-12", "INV-27"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := plain()
			x.change(t, s)
			for kind, id := range kinds {
				for _, vs := range [][]check.Violation{check.Pair(plain().events, s.events, kind), check.Pair(s.events, plain().events, kind)} {
					if slices.Contains(x.seen, id) {
						wantOne(t, vs, id)
					} else {
						wantNone(t, vs)
					}
				}
			}
		})
	}
}

func TestPairOfFailures(t *testing.T) {
	a, b := clean["retry"](), clean["retry"]()
	change(t, b, 1, func(b *trace.ModelError) { b.PartialContent = []llm.Part{text("x")} })
	wantOne(t, check.Pair(a.events, b.events, check.Chunking), "INV-10")
	a, b = clean["skips"](), clean["skips"]()
	change(t, b, 1, func(b *trace.ToolSkip) { b.Result.Content = nil })
	wantOne(t, check.Pair(a.events, b.events, check.ResponseMode), "INV-12")
	change(t, b, 0, func(b *trace.RunStart) { b.Suppress = map[string]string{"INV-12": "known"} })
	if vs := check.Pair(a.events, b.events, check.ResponseMode); len(vs) != 1 || vs[0].Suppressed != "known" {
		t.Errorf("got %+v, want one that is suppressed", vs)
	}
	wantNone(t, check.Pair(nil, nil, check.Repeat))
}

// Runs of one recording are compared one by one, under their own names.
func TestPairOfTwoRuns(t *testing.T) {
	two := func(f func(a, b *script)) []trace.Event {
		a, b := clean["no tools"](), clean["no tools"]()
		f(a, b)
		for i := range b.events {
			b.events[i].Run = "r2"
		}
		return slices.Concat(a.events, b.events)
	}
	stop := func(s *script) { change(t, s, 0, func(b *trace.RunEnd) { b.StopReason = trace.ReasonMaxSteps }) }
	same := two(func(_, _ *script) {})
	for want, changed := range map[string][]trace.Event{
		"": same, "r1": two(func(a, _ *script) { stop(a) }), "r2": two(func(_, b *script) { stop(b) }),
		"r1 r2": two(func(a, b *script) { stop(a); stop(b) }),
	} {
		var got []string
		for _, v := range check.Pair(same, changed, check.Repeat) {
			got = append(got, v.Run)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the runs %q part, want %s", got, want)
		}
	}
}

// The excerpt of two facts begins a little before they differ.
func TestPairShowsTheDifference(t *testing.T) {
	long := strings.Repeat("0123456789", 20)
	turn := func(words string) []trace.Event {
		s := clean["no tools"]()
		change(t, s, 0, func(b *trace.ModelResponse) { b.Message = llm.Assistant(text(words)) })
		return s.events
	}
	vs := check.Pair(turn(long), turn(long[:50]+"x"+long), check.Chunking)
	wantOne(t, vs, "INV-10")
	want := "the runs differ at event 3: one has the response …" + long[30:130] + "…, the other the response …" + long[30:50] + "x" + long[:79] + "…"
	if vs[0].Message != want {
		t.Errorf("got  %s\nwant %s", vs[0].Message, want)
	}
	vs = check.Pair(turn("short"), turn("shore"), check.Chunking)
	want = `the runs differ at event 3: one has the response …s":[{"type":"text","text":"short"}]} stop {"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":2,"reasoning_output_tokens":1}…, `
	if len(vs) != 1 || !strings.Contains(vs[0].Message, `"shore"}]} `) {
		t.Errorf("got %q, want such as %s", brief(vs), want)
	}
}

func TestPairNamesEvent(t *testing.T) {
	s := plain()
	change(t, s, 1, func(b *trace.Decision) { b.ToolCalls = 7 })
	vs := check.Pair(plain().events, s.events, check.Repeat)
	wantOne(t, vs, "INV-27")
	canonical := trace.Canonical(s.events)
	if ev := canonical[vs[0].Event]; ev.Body.Kind() != trace.KindDecision || ev.Step != 1 {
		t.Errorf("event %d is %+v, want the second decision", vs[0].Event, ev)
	}
	if !strings.Contains(vs[0].Message, `calls","tool_calls":1`) || !strings.Contains(vs[0].Message, `calls","tool_calls":7`) {
		t.Errorf("the message shows too little: %s", vs[0].Message)
	}
}
