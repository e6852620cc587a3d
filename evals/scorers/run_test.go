package scorers

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// traced is a trace of these events, in order.
func traceRun(bodies ...trace.Body) *importer.Run {
	run := &importer.Run{Name: "r1"}
	for i, body := range bodies {
		run.Events = append(run.Events, trace.Event{Seq: i, Run: "r1", Step: trace.NoStep, At: time.Duration(i) * time.Second, Body: body})
	}
	return run
}

func response(text string, finish llm.FinishReason) trace.ModelResponse {
	return trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: text}), FinishReason: finish}
}

// messagesRun returns a run of messages with metadata.
func messagesRun(meta map[string]string, messages ...llm.Message) *importer.Run {
	run := &importer.Run{Name: "run-1", Messages: messages, Meta: map[string]json.RawMessage{}}
	for name, raw := range meta {
		run.Meta[name] = json.RawMessage(raw)
	}
	return run
}

func TestCounts(t *testing.T) {
	failed := llm.ToolResults(llm.ToolResult{ID: "", Content: []llm.Part{llm.Text{Text: "gone"}}, IsError: true})
	run := callsOf("a")
	run.Messages = append(run.Messages, failed, llm.Assistant(llm.Text{Text: "sorry"}))
	measured := messagesRun(map[string]string{"usage": `{"prompt_tokens":30,"completion_tokens":12}`, "total_time": `1.5`})
	for _, c := range []struct {
		kind, settings string
		run            *importer.Run
		want           string
	}{
		{"steps", ``, run, "2 2 steps"},
		{"steps", `{"at_most":2}`, run, "1 2 steps"},
		{"steps", `{"at_most":1}`, run, "0 want at most 1, got 2 steps"},
		{"errors", ``, run, "1 1 errors"},
		{"errors", `{"at_most":0}`, run, "0 want at most 0, got 1 errors"},
		{"tokens", ``, measured, "42 42 tokens"},
		{"tokens", ``, run, "error: the token usage of the run is unknown"},
		{"latency", ``, measured, "1.5 1.5 seconds"},
		{"latency", `{"at_most":1}`, traceRun(response("x", llm.FinishStop), trace.RunEnd{}), "1 1 seconds"},
		{"latency", ``, run, "error: the duration of the run is unknown"},
		{"finish", ``, traceRun(response("x", llm.FinishLength), response("y", llm.FinishStop)), "1 stop"},
		{"finish", ``, traceRun(response("x", llm.FinishLength)), `0 want ["stop"], got "length"`},
		{"finish", `{"expected":["stop","length"]}`, traceRun(response("x", llm.FinishLength)), "1 length"},
		{"finish", ``, run, "error: the recording has no finish reasons"},
		{"refusal", ``, messagesRun(nil, llm.Assistant(llm.Text{Text: "No.", Refusal: true}), llm.Assistant(llm.Text{Text: "Well."})), `1 refused: "No."`},
		{"refusal", ``, traceRun(response("x", llm.FinishRefusal)), "1 finish reason refusal"},
		{"refusal", ``, traceRun(response("x", llm.FinishContentFilter)), "1 finish reason content_filter"},
		{"refusal", ``, traceRun(response("x", llm.FinishRefusal), response("y", llm.FinishStop)), "0 no refusal"},
		{"refusal", `{"patterns":["z","(?i)i cannot"]}`, answerRun("I cannot."), `1 (?i)i cannot matches "I cannot."`},
		{"refusal", `{"patterns":["z"]}`, answerRun("I can."), "0 no refusal"},
		{"refusal", ``, messagesRun(nil), "error: the recording has no model response"},
	} {
		wantPrefix(t, c.kind+" "+c.settings, scoreText(t, c.kind, c.settings, c.run), c.want)
	}
}

func TestCost(t *testing.T) {
	const prices = `{"prices":{"m":{"input":2,"output":10,"cached":0.5,"cache_write":4,"reasoning":20},"n":{"input":1,"output":3}}}`
	usage := llm.Usage{InputTokens: 1_000_000, OutputTokens: 300_000, CacheReadInputTokens: 400_000, CacheCreationInputTokens: 100_000, ReasoningOutputTokens: 100_000}
	setup := func(model string) trace.Body { return trace.ModelConfig{Model: model} }
	for _, c := range []struct {
		name string
		run  *importer.Run
		want string
	}{
		// 0.5·2 + 0.4·0.5 + 0.1·4 + 0.2·10 + 0.1·20
		{"each price", traceRun(trace.ModelResponse{Model: "m", Usage: usage}), "5.6 5.6 in all"},
		// 1·1 + 0.3·3
		{"the usual prices", traceRun(setup("m"), trace.ModelResponse{Model: "n", Usage: usage}), "1.9 1.9 in all"},
		{"all calls", traceRun(setup("n"), trace.ModelError{Usage: usage}, setup("m"), trace.ModelResponse{Usage: usage}, trace.ModelResponse{Model: "x"}), "7.5 "},
		{"no price", traceRun(trace.ModelResponse{Model: "x", Usage: usage}), `error: missing price of the model "x"`},
		{"no usage", traceRun(trace.ModelResponse{Model: "m"}), "error: the token usage of the run is unknown"},
		{"a list", messagesRun(map[string]string{"model": `"n"`, "usage": `{"prompt_tokens":1000000,"completion_tokens":1000000}`}), "4 "},
		{"a list without model", messagesRun(map[string]string{"usage": `{"prompt_tokens":1}`}), `error: missing price of the model ""`},
		{"a list without usage", messagesRun(map[string]string{"model": `"n"`}), `error: the token usage of the run is unknown`},
	} {
		wantPrefix(t, c.name, scoreText(t, "cost", prices, c.run), c.want)
	}
	other := traceRun(setup("m"), response("x", llm.FinishStop), trace.ModelResponse{Usage: llm.Usage{OutputTokens: 1e6}})
	other.Events[2].Purpose = trace.PurposeSummary
	wantPrefix(t, "the model of another purpose", scoreText(t, "cost", prices, other), `error: missing price of the model ""`)
	other.Events[0].Purpose = trace.PurposeSummary
	wantPrefix(t, "the model of its purpose", scoreText(t, "cost", prices, other), "10 ")
}

func TestInvariants(t *testing.T) {
	broken := messagesRun(nil, llm.User("Go"), llm.ToolResults(llm.ToolResult{ID: "a"}))
	wantPrefix(t, "a list that holds", scoreText(t, "invariants", ``, answerRun("x")), "1 no violation")
	wantPrefix(t, "a broken list", scoreText(t, "invariants", ``, broken), "0 INV-01: a result is for the call")
	if scorer, err := newScorer("invariants", invariantsSettings{}); err != nil || !slices.Equal(scorer.Score(t.Context(), broken)[0].Findings, []string{"INV-01"}) {
		t.Errorf("got the error %v, or other findings than INV-01", err)
	}
	wantPrefix(t, "an ignored one", scoreText(t, "invariants", `{"ignore":["INV-01"]}`, broken), "1 ")
	again := llm.ToolCall{ID: "a", Name: "f"}
	reused := messagesRun(nil, llm.User("Go"), llm.Assistant(again), llm.ToolResults(llm.ToolResult{ID: "a"}), llm.Assistant(again), llm.ToolResults(llm.ToolResult{ID: "a"}))
	wantPrefix(t, "a note", scoreText(t, "invariants", ``, reused), "1 only notes, such as INV-04: the id")
	reused.Protocol = "anthropic-messages"
	wantPrefix(t, "an error of the protocol", scoreText(t, "invariants", ``, reused), "0 INV-04: the id")
	reused.Protocol = ""
	wantPrefix(t, "a note if strict", scoreText(t, "invariants", `{"strict":true}`, reused), "0 INV-04: the id")
	whole := traceRun(trace.RunStart{}, trace.RunEnd{StopReason: trace.ReasonEndTurn})
	wantPrefix(t, "a trace that holds", scoreText(t, "invariants", ``, whole), "1 ")
	wantPrefix(t, "a trace without its end", scoreText(t, "invariants", ``, traceRun(trace.RunStart{})), "0 INV-13: ")
	wantPrefix(t, "a suppressed one", scoreText(t, "invariants", ``, traceRun(trace.RunStart{Suppress: map[string]string{"INV-13": "killed"}})), "1 ")
	whole.Events[1].Seq = 5
	wantPrefix(t, "a trace that lacks events", scoreText(t, "invariants", ``, whole), "error: the run cannot be checked completely: ")
}

func TestState(t *testing.T) {
	const state = `{"orders":[{"id":1,"n":2.0},{"id":2,"n":3}],"at":"noon"}`
	run := messagesRun(map[string]string{"info": `{"state":` + state + `,"goal":{"orders":[{"id":1,"n":2}]}}`})
	events := traceRun(trace.Custom{Name: "state", Data: json.RawMessage(`1`)}, trace.Custom{Name: "state", Data: json.RawMessage(state)}, trace.Custom{Name: "other", Data: json.RawMessage(`2`)})
	for _, c := range []struct {
		settings string
		run      *importer.Run
		want     string
	}{
		{`{"at":"/info/state","expected":` + state + `}`, run, "1 the state expected"},
		{`{"at":"/info/state","expected":{"orders":[{"n":2},{"n":3}]},"ignore":["/at","/orders/*/id"]}`, run, "1 "},
		{`{"at":"/info/state","expected":{"orders":[{"n":2},{"n":4}]},"ignore":["/at","/orders/*/id"]}`, run, "0 /orders/1/n: want 4, got 3"},
		{`{"at":"/info/state/orders/1/n","expected":3}`, run, "1 "},
		{`{"at":"/info/state/orders","expected_at":"/info/goal/orders"}`, run, `0 : want [{"id":1,"n":2}], got [`},
		{`{"at":"/info/state/orders/0","expected_at":"/info/goal/orders/0"}`, run, "1 "},
		{`{"event":"state","expected":` + state + `}`, events, "1 "},
		{`{"event":"none","expected":1}`, events, `error: the recording has no state in an event "none"`},
		{`{"at":"/none","expected":1}`, run, "error: the recording has nothing at /none"},
		{`{"at":"/info/none","expected":1}`, run, "error: the recording has nothing at /info/none"},
		{`{"at":"/info/state/orders/2","expected":1}`, run, "error: the recording has nothing at /info/state/orders/2"},
		{`{"at":"/info/state/orders/-1","expected":1}`, run, "error: the recording has nothing at"},
		{`{"at":"/info/state/orders/00","expected":1}`, run, "error: the recording has nothing at"},
		{`{"at":"/info/state/at/x","expected":1}`, run, "error: the recording has nothing at"},
		{`{"at":"/info/state","expected_at":"/none"}`, run, "error: the recording has nothing at /none"},
		{`{"at":"/bad","expected":1}`, messagesRun(map[string]string{"bad": "{"}), "error: bad of the recording: unexpected EOF"},
	} {
		wantPrefix(t, c.settings, scoreText(t, "state", c.settings, c.run), c.want)
	}
}
