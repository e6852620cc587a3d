package importer

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Spent is what a run took, as far as its recording tells it; all else is 0.
type Resources struct {
	Usage   llm.Usage
	Latency time.Duration
	Cost    float64 // in the money of the recording, mostly dollars
}

// Spent returns what the run took. Of a trace it is what all model calls took, and when the
// last event happened. Of other recordings it is what stands beside the messages: Inspect's
// model_usage, of all models, and total_time; promptfoo's tokenUsage, latencyMs and cost;
// SWE-agent's info.model_stats; and usage, or the AI SDK's totalUsage or that of its steps,
// as providers spell it, of which tokens in and out are read; the usage of a conversation
// over HTTP is whole.
func (r *Run) Resources() (s Resources) {
	for _, ev := range r.Events {
		switch body := ev.Body.(type) {
		case trace.ModelResponse:
			s.Usage = s.Usage.Add(body.Usage)
		case trace.ModelError:
			s.Usage = s.Usage.Add(body.Usage)
		}
		s.Latency = ev.At
	}
	for _, model := range membersOf(r.Meta["model_usage"]) {
		s.Usage = s.Usage.Add(tokens(model))
	}
	stats := memberOf(r.Meta["info"], "model_stats")
	for _, raw := range []json.RawMessage{r.Meta["totalUsage"], r.Meta["usage"], r.Meta["tokenUsage"], stats} {
		if s.Usage == (llm.Usage{}) {
			s.Usage = tokens(raw)
		}
	}
	if s.Usage == (llm.Usage{}) {
		for _, step := range elementsOf(r.Meta["steps"]) {
			s.Usage = s.Usage.Add(tokens(memberOf(step, "usage")))
		}
	}
	s.Cost = max(amount(r.Meta["cost"]), amount(memberOf(stats, "instance_cost")))
	s.Latency = max(s.Latency,
		time.Duration(amount(r.Meta["latencyMs"])*float64(time.Millisecond)),
		time.Duration(amount(r.Meta["total_time"])*float64(time.Second)))
	return s
}

// tokens reads the tokens in and out, as they are called by many, and what is told of them
// in the spelling of llm.
func tokens(usage json.RawMessage) (u llm.Usage) {
	for to, names := range map[*int64][2]string{
		&u.CacheReadInputTokens:     {"cache_read_input_tokens", "cached"}, // the second names are those of version 1
		&u.CacheCreationInputTokens: {"cache_creation_input_tokens", "cache_write"},
		&u.ReasoningOutputTokens:    {"reasoning_output_tokens", "reasoning"},
	} {
		*to = int64(max(amount(memberOf(usage, names[0])), amount(memberOf(usage, names[1]))))
	}
	for _, name := range []string{"input_tokens", "inputTokens", "prompt_tokens", "promptTokens", "prompt", "tokens_sent", "input"} {
		u.InputTokens = max(u.InputTokens, int64(amount(memberOf(usage, name))))
	}
	for _, name := range []string{"output_tokens", "outputTokens", "completion_tokens", "completionTokens", "completion", "tokens_received", "output"} {
		u.OutputTokens = max(u.OutputTokens, int64(amount(memberOf(usage, name))))
	}
	return u
}

// amount reads a number that something may come to; all else is 0.
func amount(raw json.RawMessage) float64 {
	const most = 1e9 // seconds fit a Duration
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > most {
		return 0
	}
	return v
}
