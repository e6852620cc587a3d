package check

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// PairKind is how the two runs of a pair may differ.
type PairKind int

// The kinds of pairs.
const (
	Chunking     PairKind = iota // in the chunks of the transport bytes: INV-10
	ResponseMode                 // one is streaming, the other not: INV-12
	Repeat                       // in nothing: INV-27
)

// Pair compares the events of two recordings of the same scenario, which may have several runs
// each. It reports the first difference of each run that the kind does not allow: for Chunking
// in the responses, for ResponseMode in messages, results, usage and stop reason, for Repeat in
// the canonical form. The violations have the names of the runs in the canonical form, and the
// events of the canonical form of b. Pair does not change the recordings. An unknown kind is
// Repeat.
func Pair(a, b []trace.Event, kind PairKind) []Violation {
	one, two := splitRuns(trace.Canonical(a)), splitRuns(trace.Canonical(b))
	var found []Violation
	for i := range max(len(one), len(two)) {
		s := sink{run: "r" + strconv.Itoa(i+1), event: NoEvent, found: &found}
		if i >= len(one) || i >= len(two) {
			s.report(kind.invariant(), "one recording has %d runs, the other %d", len(one), len(two))
			break
		}
		if start, ok := two[i][0].Body.(trace.RunStart); ok {
			s.suppress = start.Suppress
		}
		compare(&s, kind.invariant(), kind.facts(one[i]), kind.facts(two[i]))
	}
	return found
}

func (k PairKind) invariant() invariant {
	switch k {
	case Chunking:
		return invChunking
	case ResponseMode:
		return invOneBehavior
	case Repeat:
	}
	return invReplay
}

// splitRuns splits canonical events by run. The events of a run are consecutive.
func splitRuns(events []trace.Event) [][]trace.Event {
	var runs [][]trace.Event
	for i, from := 0, 0; i < len(events); i++ {
		if i+1 == len(events) || events[i+1].Run != events[i].Run {
			runs = append(runs, events[from:i+1])
			from = i + 1
		}
	}
	return runs
}

type fact struct {
	event int
	name  string
	text  []byte
}

func compare(s *sink, inv invariant, a, b []fact) {
	for i := range min(len(a), len(b)) {
		if a[i].name != b[i].name || !bytes.Equal(a[i].text, b[i].text) {
			s.event = b[i].event
			s.report(inv, "the runs differ at event %d: one has %s, the other %s", s.event, a[i].excerpt(b[i].text), b[i].excerpt(a[i].text))
			return
		}
	}
	switch {
	case len(a) > len(b):
		s.report(inv, "the second run ends before %s", a[len(b)].excerpt(nil))
	case len(b) > len(a):
		s.event = b[len(a)].event
		s.report(inv, "the first run ends before %s of the second", b[len(a)].excerpt(nil))
	}
}

func (f fact) excerpt(other []byte) string {
	const before, maxLength = 20, 100
	same := 0
	for same < min(len(f.text), len(other)) && f.text[same] == other[same] {
		same++
	}
	from := max(0, same-before)
	to := min(len(f.text), from+maxLength)
	return fmt.Sprintf("the %s …%s…", f.name, f.text[from:to])
}

func (k PairKind) facts(events []trace.Event) []fact {
	var out []fact
	for i := range events {
		ev := &events[i]
		add := func(name string, text []byte) { out = append(out, fact{ev.Seq, name, text}) }
		if k != Chunking && k != ResponseMode {
			add(string(kindName(ev.Body)), ev.AppendJSON(nil))
			continue
		}
		switch b := ev.Body.(type) {
		case trace.ModelResponse:
			add("response", b.Usage.AppendJSON(append(b.Message.AppendJSON(nil), " "+string(b.FinishReason)+" "...)))
			continue
		case trace.ModelError:
			add("failure", b.Usage.AppendJSON(llm.AppendParts(nil, b.PartialContent)))
			continue
		default:
		}
		if k == Chunking {
			continue
		}
		switch b := ev.Body.(type) {
		case trace.ModelRequest:
			add("request", appendMessages(strconv.AppendInt(nil, int64(b.PrefixMessages), 10), b.NewMessages))
		case trace.ToolEnd:
			add("result", llm.AppendPart(nil, b.Result))
		case trace.ToolSkip:
			add("result", llm.AppendPart(nil, b.Result))
		case trace.RunEnd:
			add("end", appendMessages(b.Usage.AppendJSON([]byte(string(b.StopReason)+" "+string(b.FinishReason))), b.AppendedMessages))
		default:
		}
	}
	return out
}

func appendMessages(dst []byte, list []llm.Message) []byte {
	for _, m := range list {
		dst = m.AppendJSON(append(dst, ' '))
	}
	return dst
}
