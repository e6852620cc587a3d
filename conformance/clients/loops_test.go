package clients

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
)

// loop is the agent loop of another project. It runs until the final text, and runs the tool itself.
type loop func(t *testing.T, base string, stream bool, tool func(args string) (string, error)) (final string, err error)

// play runs a loop with the scenario. The loop must reach the end, run each call once, and send back
// all content of responses.
func (s script) play(t *testing.T, run loop, stream bool) {
	l, final, err := s.start(t, run, stream)
	if err != nil {
		t.Fatal(err)
	}
	if last := s.signs.turns()[2].Text; final != last {
		t.Errorf("the final text is %q, want %q", final, last)
	}
	l.quiet(t, 3)
	requests := l.asked(t)
	last := requests[len(requests)-1]
	if first := last.Messages[0]; last.System == nil && first.Role == llm.RoleSystem {
		last.System, last.Messages = llm.SystemText(first.Text()), last.Messages[1:]
	}
	if diff := gocmp.Diff(separated(s.signs.history(), s.signs.unnamed), separated(last.Messages, s.signs.unnamed)); diff != "" {
		t.Errorf("what the loop sent last (-want +got):\n%s", diff)
	}
	if last.System.Text() != system || len(last.Tools) != 1 || (last.ResponseMode == llm.Streaming) != stream {
		t.Errorf("the last request has the system prompt %q, %d tools, delivery %q", last.System.Text(), len(last.Tools), last.ResponseMode)
	}
}

// separated returns the messages for loops that separate the texts of a response from its calls and add
// missing ids of calls.
func separated(messages []llm.Message, unnamed bool) []llm.Message {
	order := func(p llm.Part) int {
		if _, ok := p.(llm.ToolCall); ok {
			return 1
		}
		return 0
	}
	messages = spoken(messages)
	for _, m := range messages {
		slices.SortStableFunc(m.Parts, func(a, b llm.Part) int { return cmp.Compare(order(a), order(b)) })
		for i, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				if unnamed {
					p.ID, p.IDGenerated = "", false
					m.Parts[i] = p
				}
			case llm.ToolResult:
				if unnamed {
					p.ID = ""
					m.Parts[i] = p
				}
			}
		}
	}
	return messages
}

// flawed runs a loop that is known to omit content of responses. The loop reaches the end, or the
// server rejects a request. broken are the invariants that its requests violate.
func (s script) flawed(t *testing.T, run loop, stream bool, refused string, broken ...string) {
	l, _, err := s.start(t, run, stream)
	r := l.wire.Report()
	if (err != nil) != (refused != "") || refused != "" && (len(r.RejectedRequests) != 1 || r.RejectedRequests[0].ID != refused) {
		t.Errorf("%v; refused %+v, want %q", err, r.RejectedRequests, refused)
	}
	if diff := gocmp.Diff(broken, slices.Sorted(maps.Keys(r.Counts))); diff != "" {
		t.Errorf("the invariants that are broken (-want +got):\n%s", diff)
	}
}

// start runs a loop with the scenario and checks that it runs each received call once.
func (s script) start(t *testing.T, run loop, stream bool) (l *lab, final string, err error) {
	t.Helper()
	l = open(t, s.signs.turns()...)
	var mu sync.Mutex
	var ran, want []string
	final, err = run(t, l.base(s.provider), stream, func(args string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		ran = append(ran, reencode(args))
		return runTool(args)
	})
	heard := min(len(l.sent), 2)
	if r := l.wire.Report(); len(r.RejectedRequests) > 0 {
		heard = r.RejectedRequests[0].Request - 1
	}
	for _, turn := range s.signs.turns()[:heard] {
		for _, c := range turn.Calls {
			want = append(want, reencode(c.Arguments))
		}
	}
	slices.SortFunc(want, cmp.Compare) // loops run calls concurrently
	slices.SortFunc(ran, cmp.Compare)
	if diff := gocmp.Diff(want, ran); diff != "" {
		t.Errorf("the calls that ran (-want +got):\n%s", diff)
	}
	return l, final, err
}
