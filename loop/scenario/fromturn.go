package scenario

import (
	"fmt"
	"strings"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// turnOf is an assistant's message as a script sends it.
func turnOf(m llm.Message, e trace.ModelResponse) fake.Response {
	t := fake.Response{
		Usage: e.Usage, FinishReason: e.FinishReason, RawFinishReason: e.RawFinishReason, FinishMessage: e.FinishMessage,
		ResponseID: e.ResponseID, Model: e.Model, Opaque: m.Opaque,
	}
	if simple(m.Parts, &t) {
		return t
	}
	t.Reasoning, t.ReasoningOpaque, t.Text, t.TextOpaque, t.Refusal, t.Calls = "", nil, "", nil, false, nil
	for _, p := range m.Parts {
		if c, ok := p.(llm.ToolCall); ok {
			p = asSent(c)
		}
		t.Events = append(t.Events, llm.PartDone{Part: p})
	}
	return t
}

func asSent(c llm.ToolCall) llm.ToolCall {
	if c.Name == loop.UnnamedTool {
		c.Name = ""
	}
	if c.IDGenerated {
		c.ID, c.ProviderID, c.IDGenerated = c.ProviderID, "", false
	}
	return c
}

// simple fills the turn if the parts are what a script's own fields say: one
// reasoning, one text, calls, in this order.
func simple(parts []llm.Part, t *fake.Response) bool {
	stage := 0
	for _, p := range parts {
		ok := false
		switch p := p.(type) {
		case llm.Reasoning:
			t.Reasoning, t.ReasoningOpaque = p.Text, p.Opaque
			ok = stage < 1 && (p.Text != "" || p.Opaque != nil)
			stage = 1
		case llm.Text:
			t.Text, t.TextOpaque, t.Refusal = p.Text, p.Opaque, p.Refusal
			ok = stage < 2 && p.Text != ""
			stage = 2
		case llm.ToolCall:
			p = asSent(p)
			t.Calls = append(t.Calls, fake.Call{ID: p.ID, Name: p.Name, Arguments: p.Arguments, Opaque: p.Opaque, ProviderExecuted: p.ProviderExecuted})
			ok, stage = true, 3
		case llm.Media, llm.ToolResult, llm.Unknown:
		}
		if !ok {
			return false
		}
	}
	return true
}

func failedTurn(e trace.ModelError, delay time.Duration) fake.Response {
	t := turnOf(llm.Message{Parts: e.PartialContent}, trace.ModelResponse{Usage: e.Usage})
	t.Delay = delay
	switch e.Error.Type {
	case "malformed_call":
		t.FinishReason = llm.FinishMalformedCall
		_, t.FinishMessage, _ = strings.Cut(e.Error.Message, ": ")
	case "deadline", "cancelled":
		t.Stall, t.Delay = true, 0
	default:
		t.Error = failure(e.Error)
	}
	return t
}

// failure is what makes a scripted model fail with these words, which are those of
// an llm.APIError.
func failure(e trace.Error) *fake.Failure {
	f := &fake.Failure{Status: e.Status, Code: e.Code, Message: e.Message, RetryAfter: e.RetryAfter, Retryable: &e.Retryable}
	ways := []string{fake.ConnectionReset, fake.ConnectionClosed}
	where := "connection"
	switch {
	case e.Status != 0:
		where = fmt.Sprintf("status %d", e.Status)
	case strings.Contains(e.Message, "no response"):
		where, ways = "no response", nil
	}
	_, said, ok := strings.Cut(e.Message, where)
	if !ok {
		return f
	}
	said = strings.TrimPrefix(said, " "+e.Code)
	for _, way := range ways {
		beneath := (&fake.Failure{Connection: way}).APIError().Err.Error()
		if before, ok := strings.CutSuffix(said, ": "+beneath); ok {
			f.Connection, said = way, before
		}
	}
	if i := strings.LastIndex(said, " (request "); i >= 0 && strings.HasSuffix(said, ")") {
		f.RequestID = said[i+len(" (request ") : len(said)-1]
		said = said[:i]
	}
	f.Message = strings.TrimPrefix(said, ": ")
	return f
}
