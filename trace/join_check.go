package trace

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/looptape/looptape/llm"
)

// This file decides whether two runs belong together, and which events of hooks both have.

// checkEnd returns an error if the first run ended with its final answer.
func (j *joiner) checkEnd(own []Event) error {
	for _, ev := range own {
		if b, ok := ev.Body.(RunEnd); ok && (b.StopReason == ReasonEndTurn || b.StopReason == ReasonForced) {
			return fmt.Errorf("continues the run %q, which ended with its final answer: leave this trace out", j.into)
		}
	}
	return nil
}

// check returns an error if the second run has other calls or messages than the first.
func (j *joiner) check(own, next []Event) error {
	if j.resumes && len(j.calls) == 0 {
		return fmt.Errorf("resumes the run %q, whose last response has no calls", j.into)
	}
	for _, ev := range next {
		if ev.Step >= 0 || !j.resumes {
			break
		}
		if id, ok := callID(ev.Body); ok && !slices.Contains(j.calls, id) {
			return fmt.Errorf("has the call %q, which the last response of the run %q does not have: pass the traces of one run", id, j.into)
		}
	}
	begin := j.sent[PurposeAnswer].messages
	if len(begin) == 0 {
		begin, _ = firstMessages(own) // of an interrupted first step
	}
	messages, known := firstMessages(next)
	rewritten := slices.ContainsFunc(own, func(ev Event) bool { return ev.Body.Kind() == KindHistoryRewrite })
	if !known || rewritten {
		return nil
	}
	if messages = j.messages(PurposeAnswer, messages); commonPrefix(begin, messages) < len(begin) {
		return fmt.Errorf("has other messages than the run %q, which it continues: pass the traces of one run, in the order of the processes", j.into)
	}
	return nil
}

// firstMessages returns the messages of the first request of a run, or those of its end. ok is false without either, and
// if the run has replaced the messages before.
func firstMessages(own []Event) (messages []llm.Message, ok bool) {
	for _, ev := range own {
		switch b := ev.Body.(type) {
		case HistoryRewrite:
			return nil, false
		case ModelRequest:
			if ev.Purpose == PurposeAnswer {
				return b.NewMessages, true
			}
		case RunEnd:
			return b.AppendedMessages, len(b.AppendedMessages) > 0
		default:
		}
	}
	return nil, false
}

// hookEvents is an event of a hook, or an attempt of one of its model calls. The request contains all messages.
type hookEvents struct {
	events []Event
	config *ModelConfig // of a model call
}

func (h hookEvents) equal(other hookEvents) bool {
	return slices.EqualFunc(h.events, other.events, func(a, b Event) bool {
		return a.Purpose == b.Purpose && reflect.DeepEqual(a.Body, b.Body)
	}) && reflect.DeepEqual(h.config, other.config)
}

// readHooks returns what hooks did in events. last has the requests before.
func readHooks(events []Event, last map[Purpose]requested) (list []hookEvents) {
	last = maps.Clone(last)
	var call *hookEvents // under way
	for _, ev := range events {
		switch b := ev.Body.(type) {
		case Custom, Warning, Unknown, ModelRetry:
			list = append(list, hookEvents{events: []Event{ev}})
		case ModelConfig:
			last[ev.Purpose] = last[ev.Purpose].follow(b)
		case ModelRequest:
			all := last[ev.Purpose].follow(b)
			last[ev.Purpose] = all
			ev.Body = ModelRequest{0, all.messages}
			call = &hookEvents{[]Event{ev}, all.config}
		case ModelResponse, ModelError:
			if call != nil {
				list, call = append(list, hookEvents{append(call.events, ev), call.config}), nil
			}
		default:
		}
	}
	return list
}

// unrepeated returns what hooks did in the first run after its last response, and did not do again in the second run.
func (j *joiner) unrepeated(tail, next []Event) (kept []Event) {
	if i := slices.IndexFunc(tail, func(ev Event) bool { return ev.Body.Kind() == KindDecision }); i >= 0 {
		tail = tail[:i]
	}
	if i := slices.IndexFunc(next, func(ev Event) bool { return ev.Step >= 0 }); i >= 0 {
		next = next[:i]
	}
	again := readHooks(next, map[Purpose]requested{})
	for _, h := range readHooks(tail, j.sent) {
		if i := slices.IndexFunc(again, h.equal); i >= 0 {
			again = slices.Delete(again, i, i+1)
			continue
		}
		for _, ev := range h.events {
			if b, ok := ev.Body.(ModelRequest); ok {
				was := j.sent[ev.Purpose]
				if h.config != nil && (was.config == nil || !reflect.DeepEqual(was.config, h.config)) {
					kept = j.keep(kept, ev, *h.config)
				}
				n := commonPrefix(was.messages, b.NewMessages)
				kept = j.keep(kept, ev, ModelRequest{n, b.NewMessages[n:]})
				continue
			}
			kept = j.keep(kept, ev, ev.Body)
		}
	}
	return kept
}

// keep appends an event of the first run with another body.
func (j *joiner) keep(kept []Event, ev Event, body Body) []Event {
	ev.Body = body
	j.read(ev)
	return append(kept, ev)
}
