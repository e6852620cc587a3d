package trace

import (
	"github.com/looptape/looptape/llm"
)

// Version 1 of the format had other names for some kinds, members and values. The tags v1 of the
// types contain the names of the members.
var v1Kinds = map[Kind]Kind{
	"model.setup": KindModelConfig, "model.turn": KindModelResponse, "args.resolved": KindToolArguments, "rewrite": KindHistoryRewrite,
}

// valueNames maps the values that have other names in another version.
type valueNames struct{ reasons, skips, actions, deltas, purposes map[string]string }

// v1Words maps the values of version 1 to those of version 2, and v2Words in the other direction.
var (
	v1Words = valueNames{
		reasons: map[string]string{
			"calls": string(ReasonToolCalls), "none": string(ReasonEndTurn), "cap": string(ReasonMaxSteps), "guard": string(ReasonRunawayGuard),
			"policy": string(ReasonMiddleware), "hand_off": string(ReasonHandoff),
		},
		skips:    map[string]string{"malformed_args": SkipMalformedArguments, "invalid_args": SkipInvalidArguments, "cut": SkipTruncated},
		actions:  map[string]string{"go_on": string(Continue)},
		deltas:   map[string]string{"args": DeltaArguments},
		purposes: map[string]string{"judge": string(PurposeGrade)},
	}
	v2Words = valueNames{inverse(v1Words.reasons), inverse(v1Words.skips), inverse(v1Words.actions), inverse(v1Words.deltas), inverse(v1Words.purposes)}
)

func inverse(names map[string]string) map[string]string {
	out := make(map[string]string, len(names))
	for was, now := range names {
		out[now] = was
	}
	return out
}

// replace replaces the values of an event.
func (w valueNames) replace(ev *Event) {
	ev.Purpose = current(w.purposes, ev.Purpose)
	switch b := ev.Body.(type) {
	case ModelDelta:
		b.Type = current(w.deltas, b.Type)
		ev.Body = b
	case Decision:
		b.Action, b.Reason = current(w.actions, b.Action), current(w.reasons, b.Reason)
		ev.Body = b
	case Canceled:
		b.Reason = current(w.reasons, b.Reason)
		ev.Body = b
	case ToolSkip:
		b.Reason = current(w.skips, b.Reason)
		ev.Body = b
	case RunEnd:
		b.StopReason = current(w.reasons, b.StopReason)
		by := b.UsageBy
		b.UsageBy = nil
		for p, u := range by {
			if b.UsageBy == nil {
				b.UsageBy = make(map[Purpose]llm.Usage, len(by))
			}
			p = current(w.purposes, p)
			b.UsageBy[p] = b.UsageBy[p].Add(u)
		}
		ev.Body = b
	default:
	}
}

// FormatTextV1 returns the text form that version 1 has for events. It is for
// comparisons with texts of that version.
func FormatTextV1(events []Event) string {
	f := formatter{kindWidth: 15, renamed: v1Text}
	for _, ev := range events {
		d, decided := ev.Body.(Decision)
		v2Words.replace(&ev)
		if decided && d.Reason == ReasonToolCalls { // which the text form shows as a number
			b, _ := ev.Body.(Decision)
			b.Reason = d.Reason
			ev.Body = b
		}
		f.event(&ev)
	}
	return string(f.dst)
}

// v1Text maps the names in the text form to those of version 1.
var v1Text = map[string]string{
	"model.config": "model.setup", "model.response": "model.turn", "tool.arguments": "args.resolved", "history.rewrite": "rewrite",
	"prefix_messages": "kept", "tool_call_id": "call", "partial_content": "received", "id_generated": "minted",
	"finish_reason": "finish", "raw_finish_reason": "raw_finish", "tool_calls": "calls", "model_calls": "calls",
	"cache_read_input_tokens": "cached", "cache_creation_input_tokens": "cache_write", "reasoning_output_tokens": "reasoning",
}

// v1Settings maps the names of settings to those of version 1.
var v1Settings = map[string]string{
	"stop_sequences": "stop", "parallel_tool_calls": "parallel_calls", "reasoning_effort": "reasoning",
}

func current[T ~string](names map[string]string, v T) T {
	if now, ok := names[string(v)]; ok {
		return T(now)
	}
	return v
}
