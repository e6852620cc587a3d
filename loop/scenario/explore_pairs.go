package scenario

import (
	"bytes"
	"context"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/trace"
)

// sentRequest is a request, and the number of bytes of its messages among those that were sent.
type sentRequest struct {
	request *llm.Request
	from    int // the message from which on they are written
	bytes   int
}

// Stream implements [llm.Model]: it records the request, and the world responds. Messages that the request before has, too,
// are recorded once.
func (x *exploration) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	x.late = x.late || x.ctx.Err() != nil
	s := sentRequest{request: req}
	if n := len(x.sent); n > 0 {
		before := x.sent[n-1].request.Messages
		for s.from < min(len(before), len(req.Messages)) && sameParts(before[s.from], req.Messages[s.from]) {
			s.from++
		}
	}
	n := len(x.sentBytes)
	x.sentBytes = appendMessages(x.sentBytes, req.Messages[s.from:])
	s.bytes = len(x.sentBytes) - n
	x.sent = append(x.sent, s)
	x.limit()
	return x.world.Stream(ctx, req)
}

// sameParts reports whether two messages share their parts.
func sameParts(a, b llm.Message) bool {
	return a.Role == b.Role && len(a.Parts) == len(b.Parts) && len(a.Parts) > 0 && &a.Parts[0] == &b.Parts[0]
}

func appendMessages(dst []byte, list []llm.Message) []byte {
	for i := range list {
		dst = append(list[i].AppendJSON(dst), '\n')
	}
	return dst
}

// checkSent reports a request that was changed after it was sent.
func (x *exploration) checkSent(report func(invariant, format string, args ...any)) {
	was := x.sentBytes
	for i, s := range x.sent {
		x.buf = x.buf[:0]
		if s.from <= len(s.request.Messages) {
			x.buf = appendMessages(x.buf, s.request.Messages[s.from:])
		}
		if !bytes.Equal(x.buf, was[:s.bytes]) || s.from > len(s.request.Messages) {
			report("INV-06", "request %d was changed after it was sent", i+1)
			return
		}
		was = was[s.bytes:]
	}
}

// checkPairs compares a run of at most one choice with the one that differs only in the chunks of a response (INV-10), or in
// the response mode (INV-12).
func (x *exploration) checkPairs(list []explore.Choice, report func(invariant, format string, args ...any)) {
	own := x.result()
	if len(list) == 1 && otherChunks(list[0].Option) && !x.hasChunks() {
		if plain, failed := x.resultOf(nil, x.cfg.ResponseMode); !failed && !bytes.Equal(own, plain) {
			report("INV-10", "the run differs from the one in which the response comes in other chunks")
		}
	}
	if x.ofOneMode() || len(list) == 1 && !inBothModes(list[0]) {
		return
	}
	mode := llm.NonStreaming
	if x.cfg.ResponseMode == llm.NonStreaming {
		mode = llm.Streaming
	}
	if other, _ := x.resultOf(list, mode); other != nil && !bytes.Equal(own, other) {
		report("INV-12", "the run differs from the one with responses that are %s", mode)
	}
}

// otherChunks reports whether a variant of a response differs only in its chunks.
func otherChunks(option string) bool {
	return option == "comes in chunks of one byte" || strings.HasPrefix(option, "call ") && strings.HasSuffix(option, " comes in one event")
}

// hasChunks reports whether the script has arguments in chunks: joined, they can be others, such as chunks that grow (QO-12).
func (x *exploration) hasChunks() bool {
	chunked := func(r fake.Response) bool {
		return slices.ContainsFunc(r.Calls, func(c fake.Call) bool { return c.Chunks != nil })
	}
	return slices.ContainsFunc(x.script.Models, func(m fake.ModelScript) bool {
		return slices.ContainsFunc(m.Responses, func(r fake.Response) bool { return chunked(r) || slices.ContainsFunc(r.Attempts, chunked) })
	})
}

// ofOneMode reports whether the script has sequences of events that a non-streaming response cannot have.
func (x *exploration) ofOneMode() bool {
	ofEvents := func(r fake.Response) bool {
		return r.Events != nil || slices.ContainsFunc(r.Calls, func(c fake.Call) bool { return c.OmitEnd })
	}
	return slices.ContainsFunc(x.script.Models, func(m fake.ModelScript) bool {
		return slices.ContainsFunc(m.Responses, func(r fake.Response) bool { return ofEvents(r) || slices.ContainsFunc(r.Attempts, ofEvents) })
	})
}

// ofBothModes matches the variants of a response that are the same in both response modes. Others are sequences of
// events that a non-streaming response cannot have, or failures between events.
var ofBothModes = regexp.MustCompile(`^(is empty|has no finish|finishes with .*|fails before the first event .*|call \d+ (has an empty (id|name)|has the id of call 1|has an id of an earlier response|calls an unknown tool|has (no )?arguments.*|has its arguments twice))$`)

// inBothModes reports whether a choice means the same in both response modes.
func inBothModes(c explore.Choice) bool {
	return !strings.HasPrefix(c.At, "after model.delta") && (!strings.HasPrefix(c.At, "model call ") || ofBothModes.MatchString(c.Option))
}

// resultOf returns the result of the run with these choices, or nil if it does not have them. failed reports whether a
// model call failed.
func (x *exploration) resultOf(list []explore.Choice, mode llm.ResponseMode) (result []byte, failed bool) {
	y := &exploration{script: x.script, world: x.world, second: true}
	y.adjust = func(c *loop.Config) {
		if x.adjust != nil {
			x.adjust(c)
		}
		c.ResponseMode = mode
	}
	y.configure()
	if _, unused := explore.Replay(y, list); len(unused) > 0 {
		return nil, false
	}
	return y.result(), slices.ContainsFunc(y.events, func(ev trace.Event) bool { return ev.Body.Kind() == trace.KindModelError })
}

// result returns the messages, results, usage and stop reason of the last run.
func (x *exploration) result() []byte {
	var out []byte
	for _, ev := range x.events {
		switch ev.Body.(type) {
		case trace.ModelResponse, trace.ToolEnd, trace.RunEnd:
			only := trace.Event{Run: ev.Run, Body: ev.Body}
			out = append(only.AppendJSON(out), '\n')
		}
	}
	return out
}
