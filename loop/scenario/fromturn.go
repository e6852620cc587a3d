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
func turnOf(m llm.Message, e trace.ModelTurn) fake.Turn {
	t := fake.Turn{
		Usage: e.Usage, Finish: e.Finish, RawFinish: e.RawFinish, FinishMessage: e.FinishMessage,
		ResponseID: e.ResponseID, Model: e.Model, Opaque: m.Opaque,
	}
	if e.Finish == "" {
		t.Finish = llm.FinishStop
		if len(m.Calls()) > 0 {
			t.Finish = llm.FinishToolCalls
		}
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
	if c.Minted {
		c.ID, c.ProviderID, c.Minted = c.ProviderID, "", false
	}
	return c
}

// simple fills the turn if the parts are what a script's own fields say: one
// reasoning, one text, calls, in this order.
func simple(parts []llm.Part, t *fake.Turn) bool {
	stage := 0
	at := func(n int) bool {
		ok := stage < n || n == 3
		stage = n
		return ok
	}
	for _, p := range parts {
		ok := false
		switch p := p.(type) {
		case llm.Reasoning:
			t.Reasoning, t.ReasoningOpaque = p.Text, p.Opaque
			ok = stage < 1 && at(1) && (p.Text != "" || p.Opaque != nil)
		case llm.Text:
			t.Text, t.TextOpaque, t.Refusal = p.Text, p.Opaque, p.Refusal
			ok = stage < 2 && at(2) && p.Text != ""
		case llm.ToolCall:
			p = asSent(p)
			t.Calls = append(t.Calls, fake.Call{ID: p.ID, Name: p.Name, Args: p.Args, Opaque: p.Opaque, ProviderExecuted: p.ProviderExecuted})
			ok = at(3)
		case llm.Media, llm.ToolResult, llm.Unknown:
		}
		if !ok {
			return false
		}
	}
	return true
}

func failedTurn(e trace.ModelError, delay time.Duration) fake.Turn {
	t := turnOf(llm.Message{Parts: e.Received}, trace.ModelTurn{Finish: llm.FinishStop, Usage: e.Usage})
	t.Delay = delay
	message := e.Error.Message
	where := "no response"
	if e.Error.Status != 0 {
		where = fmt.Sprintf("status %d", e.Error.Status)
	}
	if _, rest, ok := strings.Cut(message, where); ok {
		message = strings.TrimPrefix(strings.TrimPrefix(rest, " "+e.Error.Code), ": ")
	}
	t.Finish = ""
	switch e.Error.Type {
	case "malformed_call":
		t.Finish = llm.FinishMalformedCall
		_, t.FinishMessage, _ = strings.Cut(e.Error.Message, ": ")
	case "deadline", "cancelled":
		t.Stall, t.Delay = true, 0
	default:
		retryable := e.Error.Retryable
		t.Error = &fake.Failure{Status: e.Error.Status, Code: e.Error.Code, Message: message, RetryAfter: e.Error.RetryAfter, Retryable: &retryable}
	}
	return t
}
