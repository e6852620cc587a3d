package trace

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/looptape/looptape/llm"
)

// Join returns the canonical form of one run from the traces of the processes that ran it, in the order of the
// processes. Each trace after the first has the run that continues the one before, which was
// suspended, stopped with pending calls, or interrupted. If it repeats what that run would have done, the result is
// the canonical form of a run without the interruption.
//
// The run of the first trace is its first one, or the one that the second trace resumes. The run of each
// later trace is the one with a [Resumed] event, which names a run of an earlier trace, or else the first one.
// Without such an event it continues after the last complete step of the run before. Runs
// that calls have started are joined, too.
//
//   - The end of the run before is omitted: what the next run does again, such as the decision to
//     suspend, and runs that calls started after that. Of the events and model calls of hooks after the last
//     response, only those that the next run repeats are omitted.
//   - The start of the next run is omitted: run.start, resumed, and a model.config that the run has.
//   - Steps of the next run follow those before, and resumed calls belong to the last of them.
//   - Requests refer to the messages of the request before. RunEnd counts all runs.
//   - Times of a virtual clock continue.
//
// Traces must be as the loop wrote them: canonical ones do not have the names of the runs. A trace
// without events is skipped. Join returns an error if a trace resumes a run that no
// earlier trace contains, or more than one run; if the run before ended with its final answer; and if a run
// has other calls or messages than the one before. It does not compare messages that a history.rewrite
// replaced. Join does not change its input.
func Join(traces ...[]Event) ([]Event, error) {
	var joined []Event
	run, names := "", map[string]bool{} // of the joined run, now and in the traces
	for i, events := range traces {
		if len(events) == 0 || i == 0 {
			joined = append(joined, events...)
			continue
		}
		next, err := findContinuation(joined, events, run, names)
		if err == nil {
			joined, err = next.join(joined, events, "trace "+strconv.Itoa(i+1)+" ")
		}
		if err != nil {
			return nil, fmt.Errorf("trace: join: trace %d: %w", i+1, err)
		}
		if run = next.into; !hasRun(joined, run) {
			run = next.from // nothing of the first run is complete
		}
		names[next.into], names[next.from] = true, true
	}
	return Canonical(joined), nil
}

// continuation is a run that continues another one.
type continuation struct {
	into, from string
	resumes    bool
}

func hasRun(events []Event, run string) bool {
	return slices.ContainsFunc(events, func(ev Event) bool { return ev.Run == run })
}

// findContinuation finds the run of second that continues one of first: run, if several traces were joined, which has
// the names in these.
func findContinuation(first, second []Event, run string, names map[string]bool) (c continuation, err error) {
	for _, ev := range second {
		r, ok := ev.Body.(Resumed)
		switch {
		case !ok:
		case c.resumes:
			return c, fmt.Errorf("resumes the runs of %q and %q: join the events of one run", c.from, ev.Run)
		default:
			c = continuation{r.Of, ev.Run, true}
		}
	}
	if names[c.into] {
		c.into = run
	}
	switch {
	case c.resumes && !hasRun(first, c.into):
		return c, fmt.Errorf("resumes the run %q, which no earlier trace contains: pass the traces in the order of the processes, as they were written", c.into)
	case c.resumes:
		return c, nil
	}
	c = continuation{into: run, from: second[0].Run}
	if run == "" && len(first) > 0 {
		c.into = first[0].Run
	}
	for _, ev := range first {
		if r, ok := ev.Body.(Resumed); ok && hasRun(second, r.Of) && !hasRun(first, r.Of) {
			return c, fmt.Errorf("contains the run %q, which an earlier trace resumes: pass the traces in the order of the processes", r.Of)
		}
	}
	return c, nil
}

// join appends the events of second to those of first. Runs of second other than c.from get the prefix.
func (c continuation) join(first, second []Event, prefix string) ([]Event, error) {
	j := joiner{continuation: c, step: NoStep, pending: 1, second: map[Purpose]requested{}, sent: map[Purpose]requested{}, usage: map[Purpose]llm.Usage{PurposeAnswer: {}}}
	own, next := ofRun(first, c.into), ofRun(second, c.from)
	if err := j.checkEnd(own); err != nil {
		return nil, err
	}
	kept, tail := cut(own, c.resumes)
	for _, ev := range kept {
		j.read(ev)
	}
	if err := j.check(own, next); err != nil {
		return nil, err
	}
	if len(kept) == 0 {
		return second, nil // nothing of the first run is complete
	}
	if c.resumes {
		kept = append(kept, j.unrepeated(tail, next)...)
	}
	events := withChildren(first, c.into, kept)
	for _, ev := range second {
		if ev.Run == c.from {
			events = j.append(events, ev)
			continue
		}
		rename := func(run string) string {
			if run == c.from {
				return c.into
			}
			return prefix + run // not the name of a run in first
		}
		ev.Run, ev.Body = rename(ev.Run), mapRuns(ev.Body, rename)
		events = append(events, ev)
	}
	return events, nil
}

// ofRun returns the events of a run without deltas.
func ofRun(events []Event, run string) (own []Event) {
	for _, ev := range events {
		if ev.Run == run && ev.Body.Kind() != KindModelDelta {
			own = append(own, ev)
		}
	}
	return own
}

// cut splits the events of a run into what the next run continues, and the rest.
func cut(own []Event, resumes bool) (kept, tail []Event) {
	end := 0
	for i, ev := range own {
		switch ev.Body.(type) {
		case ModelResponse:
			if resumes && ev.Purpose == PurposeAnswer {
				end = i + 1
			}
		case StepEnd:
			if !resumes {
				end = i + 1
			}
		default:
		}
	}
	tail = own[end:]
	for i, ev := range slices.Backward(tail) {
		id, ok := callID(ev.Body)
		if !ok || !resumes || !isDone(tail, id) {
			continue
		}
		for _, ev := range tail[:i+1] { // the calls before the one that waits
			if id, ok := callID(ev.Body); !ok || isDone(tail, id) {
				kept = append(kept, ev)
			}
		}
		tail = tail[i+1:]
		break
	}
	return slices.Concat(own[:end], kept), tail
}

// isDone reports whether the call with this id has its result in events.
func isDone(events []Event, id string) bool {
	return slices.ContainsFunc(events, func(ev Event) bool {
		done, ok := resultID(ev.Body)
		return ok && done == id
	})
}

// resultID returns the ID of the call that has its result with the event.
func resultID(body Body) (id string, ok bool) {
	switch body.(type) {
	case ToolEnd, ToolSkip:
		return callID(body)
	default:
		return "", false
	}
}

// withChildren returns the kept events of a run, with the other runs except those that calls started which are
// not kept.
func withChildren(events []Event, run string, own []Event) (kept []Event) {
	started := map[Parent]bool{} // calls that the kept runs have started
	runs, _ := groups(events)
	for _, g := range runs {
		list := g.events
		if g.name == run {
			list = own
		} else if g.parent != nil && !started[*g.parent] {
			continue
		}
		for _, ev := range list {
			if _, ok := ev.Body.(ToolStart); ok {
				id, _ := callID(ev.Body)
				started[Parent{g.name, id}] = true
			}
		}
		kept = append(kept, list...)
	}
	return kept
}

// joiner appends the events of the second run to those of the first.
type joiner struct {
	continuation          // resumes until the first step of the second run
	partial      bool     // the first run has run some calls of the response that the second run resumes
	separate     bool     // each result has a message
	pending      int      // resumed calls without a result; 1 before the decision to run them
	calls        []string // of the last response of the first run
	step         int      // the last one of the first run
	at           time.Duration
	modelCalls   int
	second, sent map[Purpose]requested // the last request of the second run, as it is and as it is joined
	merged       []llm.Message         // messages with the results of two runs
	usage        map[Purpose]llm.Usage
	finish       llm.FinishReason // of the last response of the first run
}

// requested is the content of a request. A request of the second run has no config before its first one.
type requested struct {
	config   *ModelConfig
	messages []llm.Message
}

// follow returns the state after an event of a model call.
func (r requested) follow(body Body) requested {
	switch b := body.(type) {
	case ModelConfig:
		r.config = &b
	case ModelRequest:
		n := min(b.PrefixMessages, len(r.messages))
		r.messages = slices.Concat(r.messages[:n], b.NewMessages)
	default:
	}
	return r
}

// read reads an event of the first run.
func (j *joiner) read(ev Event) {
	j.step, j.at = max(j.step, ev.Step), max(j.at, ev.At)
	j.sent[ev.Purpose] = j.sent[ev.Purpose].follow(ev.Body)
	switch b := ev.Body.(type) {
	case RunStart:
		word, _ := b.Options.Lookup("tool_message")
		j.separate = word == "one_per_call"
	case ToolEnd, ToolSkip:
		j.partial = j.resumes
	case ModelRequest:
		for _, m := range b.NewMessages {
			if m.Role == llm.RoleTool && len(m.Parts) > 1 {
				j.merged = append(j.merged, m) // perhaps by a join
			}
		}
	case ModelResponse:
		if ev.Purpose == PurposeAnswer {
			j.partial, j.finish, j.calls = false, b.FinishReason, callIDs(b.Message)
		}
	default:
	}
	j.count(ev)
}

// count counts the model calls of both runs.
func (j *joiner) count(ev Event) {
	switch b := ev.Body.(type) {
	case ModelRequest:
		j.modelCalls++
	case ModelResponse:
		j.usage[ev.Purpose] = j.usage[ev.Purpose].Add(b.Usage)
	case ModelError:
		j.usage[ev.Purpose] = j.usage[ev.Purpose].Add(b.Usage)
	default:
	}
}

func callIDs(m llm.Message) (ids []string) {
	for _, c := range m.Calls() {
		ids = append(ids, c.ID)
	}
	return ids
}

// append appends an event of the second run.
func (j *joiner) append(events []Event, ev Event) []Event {
	switch b := ev.Body.(type) {
	case RunStart, Resumed, ModelDelta:
		return events
	case Decision:
		if b.Reason == ReasonToolCalls && j.resumes {
			j.pending = b.ToolCalls
			if j.partial {
				return events // the first run has decided that
			}
		}
	default:
	}
	if j.resumes && j.afterCalls(ev) {
		j.resumes = false
		events = append(events, Event{Run: j.run(), Step: j.step, At: j.at + ev.At, Body: StepEnd{}}) // the calls were the rest of a step
	}
	switch {
	case ev.Step >= 0:
		ev.Step += j.step + 1
	case j.resumes:
		ev.Step = j.step
	default:
	}
	if _, ok := resultID(ev.Body); ok {
		j.pending--
	}
	j.count(ev)
	switch b := ev.Body.(type) {
	case ModelConfig, ModelRequest:
		var ok bool
		if ev.Body, ok = j.request(ev.Purpose, b); !ok {
			return events
		}
	case RunEnd:
		ev.Body = j.end(b)
	default:
	}
	ev.Run = j.run()
	ev.At += j.at
	return append(events, ev)
}

func (j *joiner) run() string { return j.into }

// afterCalls reports whether an event of the second run comes after the step to which the resumed calls
// belong.
func (j *joiner) afterCalls(ev Event) bool {
	if ev.Step >= 0 || ev.Body.Kind() == KindRunEnd {
		return true
	}
	d, ok := ev.Body.(Decision)
	if !ok || j.pending > 0 {
		return false
	}
	switch d.Reason {
	case ReasonToolCalls, ReasonClientTools, ReasonCancel, ReasonDeadline:
		return false // as the loop decides at the end of a step
	default:
		return d.Action != Suspend
	}
}

// request returns a model.config or model.request of the second run that refers to the request before it in the
// joined run. ok is false if that has the same configuration.
func (j *joiner) request(p Purpose, b Body) (body Body, ok bool) {
	j.second[p] = j.second[p].follow(b)
	was := j.sent[p]
	config, isConfig := b.(ModelConfig)
	if isConfig {
		j.sent[p] = was.follow(b)
		return b, was.config == nil || !reflect.DeepEqual(*was.config, config)
	}
	list := j.messages(p, j.second[p].messages)
	n := commonPrefix(was.messages, list)
	j.sent[p] = requested{was.config, list}
	return ModelRequest{n, list[n:]}, true
}

// messages returns messages of the second run as one run has them. The results of the resumed calls are in one
// message with those of the other calls.
func (j *joiner) messages(p Purpose, list []llm.Message) []llm.Message {
	if p != PurposeAnswer || j.separate {
		return list
	}
	var out []llm.Message
	for i := 0; i < len(list); i++ {
		m, end := list[i], i+1
		for ; m.Role == llm.RoleTool && end < len(list) && list[end].Role == llm.RoleTool; end++ {
			m.Parts = slices.Concat(m.Parts, list[end].Parts)
		}
		if end > i+1 && j.isMerged(m, list[:i]) {
			i = end - 1
		} else {
			m = list[i]
		}
		out = append(out, m)
	}
	return out
}

// isMerged reports whether one run has m instead of several messages after before.
func (j *joiner) isMerged(m llm.Message, before []llm.Message) bool {
	if slices.ContainsFunc(j.merged, func(known llm.Message) bool { return equalMessages(known, m) }) {
		return true
	}
	if !j.partial || len(before) == 0 || !slices.Equal(j.calls, callIDs(before[len(before)-1])) {
		return false
	}
	j.merged = append(j.merged, m)
	return true
}

// end returns the end of both runs.
func (j *joiner) end(b RunEnd) RunEnd {
	last, asked := j.second[PurposeAnswer]
	list := j.messages(PurposeAnswer, slices.Concat(last.messages, b.AppendedMessages))
	n := len(j.messages(PurposeAnswer, last.messages))
	if sent := j.sent[PurposeAnswer].messages; !asked && commonPrefix(sent, list) == len(sent) {
		n = len(sent)
	}
	b.AppendedMessages = list[n:]
	if len(b.AppendedMessages) == 0 {
		b.AppendedMessages = nil
	}
	b.Steps, b.FinishReason = b.Steps+j.step+1, cmp.Or(b.FinishReason, j.finish)
	b.ModelCalls, b.Usage, b.UsageBy = j.modelCalls, llm.Usage{}, nil
	for _, u := range j.usage {
		b.Usage = b.Usage.Add(u)
	}
	if len(j.usage) > 1 {
		b.UsageBy = maps.Clone(j.usage)
	}
	return b
}

// commonPrefix counts the messages that a and b begin with.
func commonPrefix(a, b []llm.Message) (n int) {
	for n < min(len(a), len(b)) && equalMessages(a[n], b[n]) {
		n++
	}
	return n
}

func equalMessages(a, b llm.Message) bool {
	return reflect.DeepEqual(a, b) || bytes.Equal(a.AppendJSON(nil), b.AppendJSON(nil))
}
