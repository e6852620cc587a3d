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

func responseFrom(m llm.Message, e trace.ModelResponse) fake.Response {
	t := fake.Response{
		Usage: e.Usage, FinishReason: e.FinishReason, RawFinishReason: e.RawFinishReason, FinishMessage: e.FinishMessage,
		ResponseID: e.ResponseID, Model: e.Model, Opaque: m.Opaque,
	}
	if plain := t; setContent(m.Parts, &plain) {
		return plain
	}
	for _, p := range m.Parts {
		if c, ok := p.(llm.ToolCall); ok {
			p = asReceived(c)
		}
		t.Events = append(t.Events, llm.PartDone{Part: p})
	}
	return t
}

func asReceived(c llm.ToolCall) llm.ToolCall {
	if c.Name == loop.UnnamedTool {
		c.Name = ""
	}
	if c.IDGenerated {
		c.ID, c.ProviderID, c.IDGenerated = c.ProviderID, "", false
	}
	return c
}

// setContent sets the fields for one reasoning, one text and calls, if the parts are these.
func setContent(parts []llm.Part, t *fake.Response) bool {
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
			p = asReceived(p)
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

func failedResponse(e trace.ModelError, delay time.Duration) fake.Response {
	t := responseFrom(llm.Message{Parts: e.PartialContent}, trace.ModelResponse{Usage: e.Usage})
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

// failure returns the failure with this message, which is that of an llm.APIError.
func failure(e trace.Error) *fake.Failure {
	f := &fake.Failure{Status: e.Status, Code: e.Code, Message: e.Message, RetryAfter: e.RetryAfter, Retryable: &e.Retryable}
	connections := []string{fake.ConnectionReset, fake.ConnectionClosed}
	where := "connection"
	switch {
	case e.Status != 0:
		where = fmt.Sprintf("status %d", e.Status)
	case strings.Contains(e.Message, "no response"):
		where, connections = "no response", nil
	}
	_, message, ok := strings.Cut(e.Message, where)
	if !ok {
		return f
	}
	message = strings.TrimPrefix(message, " "+e.Code)
	for _, connection := range connections {
		cause := (&fake.Failure{Connection: connection}).APIError().Err.Error()
		if before, ok := strings.CutSuffix(message, ": "+cause); ok {
			f.Connection, message = connection, before
		}
	}
	if i := strings.LastIndex(message, " (request "); i >= 0 && strings.HasSuffix(message, ")") {
		f.RequestID = message[i+len(" (request ") : len(message)-1]
		message = message[:i]
	}
	f.Message = strings.TrimPrefix(message, ": ")
	return f
}
