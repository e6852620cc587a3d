package trace

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/looptape/looptape/llm"
)

// Join returns the canonical form of one run from two: a run that was suspended, stopped with pending calls,
// or interrupted, and the run that continues it, often in another process. If the second run repeats
// what the first would have done, this is the canonical form of a run without the interruption.
//
// The second run is the first run of second, or the one with a [Resumed] event, which names the first
// one. Without such an event the second run continues after the last complete step of the first. Runs
// that calls have started are joined, too. To join more runs, join the result with the next.
//
//   - The end of the first run is omitted: what the second run does again, such as the decision to
//     suspend, and runs that calls started after that. Model calls of hooks after the last response
//     are omitted, too.
//   - The start of the second run is omitted: run.start, resumed, and a model.config that the first run has.
//   - Steps of the second run follow those of the first, and resumed calls belong to the last of them.
//   - Requests of the second run refer to the messages of the first. RunEnd counts both runs.
//   - Times of a virtual clock continue.
//
// Join does not change its input.
func Join(first, second []Event) []Event {
	if len(first) == 0 || len(second) == 0 {
		return Canonical(slices.Concat(first, second))
	}
	into, from, resumes := first[0].Run, second[0].Run, false
	for _, ev := range second {
		if r, ok := ev.Body.(Resumed); ok {
			from, resumes = ev.Run, true
			if slices.ContainsFunc(first, func(ev Event) bool { return ev.Run == r.Of }) {
				into = r.Of
			}
			break
		}
	}
	kept := unfinished(first, into, resumes)
	if !slices.ContainsFunc(kept, func(ev Event) bool { return ev.Run == into }) {
		return Canonical(second) // nothing of the first run is complete
	}
	j := joiner{run: into, resumes: resumes, step: NoStep, configs: map[Purpose]ModelConfig{}, sent: map[Purpose][]llm.Message{}, usage: map[Purpose]llm.Usage{PurposeAnswer: {}}}
	for _, ev := range kept {
		if ev.Run == into {
			j.read(ev)
		}
	}
	for _, ev := range second {
		if ev.Run == from {
			kept = j.append(kept, ev)
			continue
		}
		rename := func(run string) string {
			if run == from {
				return into
			}
			return "joined " + run // not the name of a run in first
		}
		ev.Run, ev.Body = rename(ev.Run), mapRuns(ev.Body, rename)
		kept = append(kept, ev)
	}
	return Canonical(kept)
}

// unfinished returns the events of a run and of the runs that its calls started, without what a second
// run does again.
func unfinished(events []Event, run string, resumes bool) []Event {
	var own []Event
	for _, ev := range events {
		if ev.Run == run {
			own = append(own, ev)
		}
	}
	end := 0 // of what is kept
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
	tail := own[end:]
	own = own[:end:end]
	for i, ev := range slices.Backward(tail) {
		if id, ok := callID(ev.Body); ok && resumes && isDone(tail, id) {
			own = append(own, tail[:i+1]...) // the calls before the one that waits
			break
		}
	}
	started := map[Parent]bool{} // calls that the kept runs have started
	kept := []Event{}
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

// isDone reports whether the call with this id has its result in events.
func isDone(events []Event, id string) bool {
	return slices.ContainsFunc(events, func(ev Event) bool {
		switch b := ev.Body.(type) {
		case ToolEnd:
			return b.ToolCallID == id
		case ToolSkip:
			return b.ToolCallID == id
		default:
			return false
		}
	})
}

// joiner appends the events of the second run to those of the first.
type joiner struct {
	run     string
	resumes bool // until the first step of the second run
	partial bool // the first run has run some calls of the response that the second run resumes
	step    int  // the last one of the first run
	at      time.Duration
	calls   int
	configs map[Purpose]ModelConfig
	sent    map[Purpose][]llm.Message // of the last request
	merged  int                       // number of messages from which on the second run has one more
	usage   map[Purpose]llm.Usage
	finish  llm.FinishReason // of the last response of the first run
}

// read reads an event of the first run.
func (j *joiner) read(ev Event) {
	j.step, j.at = max(j.step, ev.Step), max(j.at, ev.At)
	switch b := ev.Body.(type) {
	case ToolEnd, ToolSkip:
		j.partial = j.resumes
	case ModelConfig:
		j.configs[ev.Purpose] = b
	case ModelRequest:
		j.calls++
		j.sent[ev.Purpose] = append(j.sent[ev.Purpose][:b.PrefixMessages:b.PrefixMessages], b.NewMessages...)
	case ModelResponse:
		if ev.Purpose == PurposeAnswer {
			j.partial, j.finish = false, b.FinishReason
		}
		j.usage[ev.Purpose] = j.usage[ev.Purpose].Add(b.Usage)
	case ModelError:
		j.usage[ev.Purpose] = j.usage[ev.Purpose].Add(b.Usage)
	default:
	}
}

// append appends an event of the second run.
func (j *joiner) append(events []Event, ev Event) []Event {
	if _, ok := ev.Body.(RunStart); ok {
		return events
	}
	if _, ok := ev.Body.(Resumed); ok {
		return events
	}
	if _, ok := ev.Body.(StepStart); j.resumes && (ok || ev.Body.Kind() == KindRunEnd) {
		j.resumes = false
		events = append(events, Event{Run: j.run, Step: j.step, At: j.at + ev.At, Body: StepEnd{}}) // the calls were the rest of a step
	}
	switch {
	case ev.Step >= 0:
		ev.Step += j.step + 1
	case j.resumes:
		ev.Step = j.step
	default:
	}
	switch b := ev.Body.(type) {
	case Decision:
		if b.Reason == ReasonToolCalls && j.partial && j.resumes {
			return events // the first run has decided that
		}
	case ModelConfig:
		known, ok := j.configs[ev.Purpose]
		delete(j.configs, ev.Purpose)
		if ok && reflect.DeepEqual(known, b) {
			return events
		}
	case ModelRequest:
		j.calls++
		ev.Body = j.request(ev.Purpose, b)
	case ModelResponse:
		j.usage[ev.Purpose] = j.usage[ev.Purpose].Add(b.Usage)
	case ModelError:
		j.usage[ev.Purpose] = j.usage[ev.Purpose].Add(b.Usage)
	case RunEnd:
		ev.Body = j.end(b)
	default:
	}
	ev.Run = j.run
	ev.At += j.at
	return append(events, ev)
}

// request returns a request that refers to the last one of the first run if it continues its messages.
func (j *joiner) request(p Purpose, b ModelRequest) ModelRequest {
	switch n, added := j.added(p, b.NewMessages); {
	case b.PrefixMessages == 0 && n > 0:
		b = ModelRequest{n, added}
	case p != PurposeAnswer || j.merged == 0:
	case b.PrefixMessages >= j.merged:
		b.PrefixMessages--
	default:
		j.merged = 0 // other messages
	}
	delete(j.sent, p) // later requests refer to this one
	return b
}

// added returns the messages of the second run without those of the last request of the first run, and
// the number of these. The results of the resumed calls are in one message with those of the
// other calls.
func (j *joiner) added(p Purpose, messages []llm.Message) (known int, added []llm.Message) {
	sent := j.sent[p]
	if len(sent) == 0 || len(messages) < len(sent) || !reflect.DeepEqual(sent, messages[:len(sent)]) {
		return 0, messages
	}
	added = slices.Clone(messages[len(sent):])
	for i := 1; j.partial && p == PurposeAnswer && i < len(added); i++ {
		if before := added[i-1]; before.Role == llm.RoleTool && added[i].Role == llm.RoleTool {
			before.Parts = slices.Concat(before.Parts, added[i].Parts)
			added[i-1], added = before, slices.Delete(added, i, i+1)
			j.partial, j.merged = false, len(sent)+i+1
		}
	}
	return len(sent), added
}

// end returns the end of both runs.
func (j *joiner) end(b RunEnd) RunEnd {
	_, b.AppendedMessages = j.added(PurposeAnswer, b.AppendedMessages)
	b.Steps, b.FinishReason = b.Steps+j.step+1, cmp.Or(b.FinishReason, j.finish)
	b.ModelCalls, b.Usage, b.UsageBy = j.calls, llm.Usage{}, nil
	for _, u := range j.usage {
		b.Usage = b.Usage.Add(u)
	}
	if len(j.usage) > 1 {
		b.UsageBy = maps.Clone(j.usage)
	}
	return b
}
