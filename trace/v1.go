package trace

import (
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// Version 1 of the format had other names for some kinds, members and values.
// These tables map them to those of version 2; nothing else here knows version 1.
var (
	v1Kinds = map[Kind]Kind{
		"model.setup": KindModelConfig, "model.turn": KindModelResponse, "args.resolved": KindToolArguments, "rewrite": KindHistoryRewrite,
	}
	v1Members = map[Kind]jsonio.Renames{
		KindModelRequest:   {"kept": "prefix_messages", "new": "new_messages"},
		KindModelDelta:     {"what": "type", "call": "tool_call_id"},
		KindModelResponse:  {"finish": "finish_reason", "raw_finish": "raw_finish_reason"},
		KindModelError:     {"received": "partial_content"},
		KindModelRetry:     {"cause": "reason"},
		KindDecision:       {"cause": "reason", "calls": "tool_calls"},
		KindToolArguments:  {"call": "tool_call_id", "args": "arguments", "cause": "reason"},
		KindToolStart:      {"call": "tool_call_id", "args": "arguments"},
		KindToolEnd:        {"call": "tool_call_id"},
		KindToolSkip:       {"call": "tool_call_id", "cause": "reason"},
		KindAbandoned:      {"call": "tool_call_id"},
		KindHistoryRewrite: {"cause": "reason"},
		KindCanceled:       {"cause": "reason"},
		KindWarning:        {"call": "tool_call_id"},
		KindRunEnd:         {"stop": "stop_reason", "finish": "finish_reason", "calls": "model_calls", "appended": "appended_messages"},
	}
	v1Parent = jsonio.Renames{"call": "tool_call_id"}
)

// valueNames maps the values that have other names in another version.
type valueNames struct {
	reasons  map[Reason]Reason
	skips    map[string]string
	actions  map[Action]Action
	deltas   map[DeltaKind]DeltaKind
	purposes map[Purpose]Purpose
}

// v1Words leads from version 1 to version 2, and v2Words back.
var (
	v1Words = valueNames{
		reasons: map[Reason]Reason{
			"calls": ReasonToolCalls, "none": ReasonEndTurn, "cap": ReasonMaxSteps, "guard": ReasonRunawayGuard, "policy": ReasonMiddleware, "hand_off": ReasonHandoff,
		},
		skips:    map[string]string{"malformed_args": SkipMalformedArguments, "invalid_args": SkipInvalidArguments, "cut": SkipTruncated},
		actions:  map[Action]Action{"go_on": Continue},
		deltas:   map[DeltaKind]DeltaKind{"args": DeltaArguments},
		purposes: map[Purpose]Purpose{"judge": PurposeGrade},
	}
	v2Words = valueNames{inverse(v1Words.reasons), inverse(v1Words.skips), inverse(v1Words.actions), inverse(v1Words.deltas), inverse(v1Words.purposes)}
)

func inverse[T comparable](names map[T]T) map[T]T {
	out := make(map[T]T, len(names))
	for was, now := range names {
		out[now] = was
	}
	return out
}

// beginIn returns the empty body of a kind in a line of d's version. A line of
// unknown version with a kind of version 1 has version 1.
func (x *decoder) beginIn(d *jsonio.Dec, kind Kind) bodyReader {
	x.members = nil
	if d.Version < 2 {
		if now, ok := v1Kinds[kind]; ok {
			kind, d.Version = now, 1
		}
		x.members = v1Members[kind]
	}
	return x.begin(kind)
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
		b.Reason = string(current(w.reasons, Reason(b.Reason)))
		ev.Body = b
	case ToolSkip:
		b.Reason = current(w.skips, b.Reason)
		ev.Body = b
	case RunEnd:
		b.StopReason = current(w.reasons, b.StopReason)
		b.UsageBy = currentKeys(w.purposes, b.UsageBy)
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

// v1Settings renames the members of settings, whose schema does not have them.
var v1Settings = strings.NewReplacer(`"stop_sequences":`, `"stop":`, `"parallel_tool_calls":`, `"parallel_calls":`, `"reasoning_effort":`, `"reasoning":`)

func current[T comparable](names map[T]T, v T) T {
	if now, ok := names[v]; ok {
		return now
	}
	return v
}

func currentKeys(names map[Purpose]Purpose, by map[Purpose]llm.Usage) map[Purpose]llm.Usage {
	if by == nil {
		return nil
	}
	out := make(map[Purpose]llm.Usage, len(by))
	for p, u := range by {
		p = current(names, p)
		out[p] = out[p].Add(u)
	}
	return out
}
