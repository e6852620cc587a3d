package check

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// PairKind says what the two runs of a pair differ in.
type PairKind int

// The kinds of pair.
const (
	Chunking     PairKind = iota // the transport's bytes were cut elsewhere: INV-10
	ResponseMode                 // one was streamed and the other buffered: INV-12
	Repeat                       // nothing: INV-27
)

// Pair compares the events of two recordings of the same scenario, which may
// hold several runs each, and reports the first difference of each run that the
// kind does not allow: of Chunking in what the model answered, of Delivery in
// messages, results, usage and stop reason, of Repeat in anything that the
// canonical form holds. The violations name runs as the canonical form does, and
// events of the canonical form of b. Neither recording is changed. An unknown
// kind is compared as Repeat is.
func Pair(a, b []trace.Event, kind PairKind) []Violation {
	one, two := split(trace.Canonical(a)), split(trace.Canonical(b))
	var found []Violation
	for i := range max(len(one), len(two)) {
		s := sink{run: "r" + strconv.Itoa(i+1), event: NoEvent, found: &found}
		if i >= len(one) || i >= len(two) {
			s.report(kind.invariant(), "one recording has %d runs and the other %d", len(one), len(two))
			break
		}
		if start, ok := two[i][0].Body.(trace.RunStart); ok {
			s.suppress = start.Suppress
		}
		parted(&s, kind, view(one[i], kind), view(two[i], kind))
	}
	return found
}

func (k PairKind) invariant() invariant {
	switch k {
	case Chunking:
		return invChunking
	case ResponseMode:
		return invOneBehaviour
	case Repeat:
	}
	return invReplay
}

// split parts canonical events by their runs, which stand one after another.
func split(events []trace.Event) [][]trace.Event {
	var runs [][]trace.Event
	for i, from := 0, 0; i < len(events); i++ {
		if i+1 == len(events) || events[i+1].Run != events[i].Run {
			runs = append(runs, events[from:i+1])
			from = i + 1
		}
	}
	return runs
}

// fact is something that the two runs must have in common.
type fact struct {
	event int
	what  string
	text  []byte
}

// parted reports the first fact in which two runs differ.
func parted(s *sink, kind PairKind, a, b []fact) {
	for i := range min(len(a), len(b)) {
		if a[i].what != b[i].what || !bytes.Equal(a[i].text, b[i].text) {
			s.event = b[i].event
			s.report(kind.invariant(), "the runs part at event %d: one has %s, the other %s", s.event, a[i].around(b[i].text), b[i].around(a[i].text))
			return
		}
	}
	switch {
	case len(a) > len(b):
		s.report(kind.invariant(), "the second run ends before %s", a[len(b)].around(nil))
	case len(b) > len(a):
		s.event = b[len(a)].event
		s.report(kind.invariant(), "the first run ends before %s of the second", b[len(a)].around(nil))
	}
}

// around shows a fact where it differs from another.
func (f fact) around(other []byte) string {
	const before, most = 20, 100
	same := 0
	for same < min(len(f.text), len(other)) && f.text[same] == other[same] {
		same++
	}
	from := max(0, same-before)
	to := min(len(f.text), from+most)
	return fmt.Sprintf("the %s …%s…", f.what, f.text[from:to])
}

// view takes from a run what the kind compares.
func view(events []trace.Event, kind PairKind) []fact {
	var out []fact
	for i := range events {
		ev := &events[i]
		add := func(what string, text []byte) { out = append(out, fact{ev.Seq, what, text}) }
		if kind != Chunking && kind != ResponseMode {
			add(string(kindName(ev.Body)), trace.AppendEvent(nil, ev))
			continue
		}
		switch b := ev.Body.(type) {
		case trace.ModelResponse:
			add("turn", answer(b))
		case trace.ModelError:
			add("failure", b.Usage.AppendJSON(llm.AppendParts(nil, b.PartialContent)))
		case trace.ModelRequest:
			if kind == ResponseMode {
				add("request", messages(strconv.AppendInt(nil, int64(b.PrefixMessages), 10), b.NewMessages))
			}
		case trace.ToolEnd:
			if kind == ResponseMode {
				add("result", llm.AppendPart(nil, b.Result))
			}
		case trace.ToolSkip:
			if kind == ResponseMode {
				add("result", llm.AppendPart(nil, b.Result))
			}
		case trace.RunEnd:
			if kind == ResponseMode {
				add("end", messages(b.Usage.AppendJSON([]byte(string(b.StopReason)+" "+string(b.FinishReason))), b.AppendedMessages))
			}
		default:
		}
	}
	return out
}

// answer is all of a turn that the provider's bytes decide.
func answer(b trace.ModelResponse) []byte {
	return b.Usage.AppendJSON(append(b.Message.AppendJSON(nil), " "+string(b.FinishReason)+" "...))
}

func messages(dst []byte, list []llm.Message) []byte {
	for _, m := range list {
		dst = m.AppendJSON(append(dst, ' '))
	}
	return dst
}
