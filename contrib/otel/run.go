package otelloop

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// run turns the events of one run into spans and metrics. One goroutine adds the events. Others
// use toolContext and the contexts of start and wrapTool.
type run struct {
	*telemetry

	live  bool            // the run is not a recorded one
	outer context.Context // has the parent of the run's span
	at    func(time.Duration) time.Time

	operation                 // the span of the run
	last            time.Time // of the newest event
	ended           bool      // the span has ended
	isStreaming     bool      // the run requests streaming responses, unless deltas do not show it
	isNonStreaming  bool      // the run declares it
	requests        map[trace.Purpose]*request
	answer          llm.Message // the last response of a step
	answerReason    llm.FinishReason
	chat            *modelCall // under way; nil if there is none
	retryWait       time.Duration
	base            atomic.Pointer[context.Context] // the context that the Start hook got
	current         atomic.Pointer[context.Context] // base, or the span chat on it
	mu              sync.Mutex
	tools           []*toolCall          // calls that run, the oldest first; two may have one id
	agentAttributes []attribute.KeyValue // of metrics
	inferenceCalls  int64                // attempts of model calls
	toolCalls       int64                // calls that ran
}

// operation is a span that has not ended.
type operation struct {
	ctx   context.Context // has the span
	span  oteltrace.Span
	begun time.Time
}

// request is the last request for a purpose.
type request struct {
	config     []attribute.KeyValue
	content    []attribute.KeyValue
	model      string
	messages   []attribute.Value // content
	hasRequest bool
}

type modelCall struct {
	operation

	purpose    trace.Purpose
	model      string
	firstChunk time.Duration
	isChunked  bool // a delta came
}

type toolCall struct {
	operation

	id, name string
}

// skipped is the outcome of a call whose tool did not run.
const skipped = "skipped"

// add adds the next event of the run.
func (r *run) add(ev *trace.Event) {
	r.last = r.at(ev.At)
	if r.span == nil {
		start, _ := ev.Body.(trace.RunStart)
		r.begin(ev.Run, &start)
	}
	switch body := ev.Body.(type) {
	case trace.ModelConfig:
		r.configure(ev.Purpose, &body)
	case trace.ModelRequest:
		r.beginModelCall(ev, &body)
	case trace.ModelDelta:
		if c := r.chat; c != nil && !c.isChunked {
			c.isChunked, c.firstChunk = true, r.last.Sub(c.begun)
		}
	case trace.ModelResponse:
		if ev.Purpose == trace.PurposeAnswer {
			r.answer, r.answerReason = body.Message, body.FinishReason
		}
		if r.chat != nil { // otherwise middleware replaced the response
			r.endModelCall(&body, nil)
		}
	case trace.ModelError:
		if r.chat != nil {
			r.endModelCall(&trace.ModelResponse{Usage: body.Usage}, &body)
		}
	case trace.ModelRetry:
		r.retryWait = body.Wait
	case trace.ToolStart:
		r.toolCalls++
		r.beginTool(ev, body.ToolCallID, body.Name, body.Arguments)
	case trace.ToolArguments:
		if c := r.tool(body.ToolCallID); c != nil {
			c.span.SetAttributes(r.arguments(body.Arguments)...)
		}
	case trace.Abandoned:
		if c := r.tool(body.ToolCallID); c != nil {
			c.span.SetAttributes(attribute.Bool("looptape.tool.abandoned", true))
		}
	case trace.ToolEnd:
		if c := r.toolOfResult(body.ToolCallID, body.Result.Name); c != nil {
			r.endTool(c, &body.Result, string(body.Outcome), string(body.Outcome))
		}
	case trace.ToolSkip:
		c := r.beginTool(ev, body.ToolCallID, body.Name, "")
		r.endTool(c, &body.Result, skipped, cmp.Or(body.Reason, skipped))
	case trace.Resumed:
		r.span.SetAttributes(words("looptape.resumed.run", body.Of)...)
	case trace.RunEnd:
		r.end(&body)
	default:
	}
}

// begin begins the span of the run.
func (r *run) begin(name string, start *trace.RunStart) {
	declared, _ := start.Options.Lookup("delivery")
	r.isNonStreaming = declared == string(llm.NonStreaming)
	r.isStreaming = r.live && !r.isNonStreaming
	r.requests = map[trace.Purpose]*request{}
	r.agentAttributes = words("gen_ai.agent.name", r.cfg.Agent)
	attributes := append(words("gen_ai.operation.name", "invoke_agent", "gen_ai.provider.name", r.cfg.Provider, "looptape.run", name), r.agentAttributes...)
	if p := start.Parent; p != nil {
		attributes = append(attributes, words("looptape.parent.run", p.Run, "looptape.parent.tool_call_id", p.ToolCallID)...)
	}
	r.operation = r.open(r.outer, spanName("invoke_agent", r.cfg.Agent), oteltrace.SpanKindInternal, attributes)
}

// open begins a span at the time of the newest event.
func (r *run) open(parent context.Context, name string, kind oteltrace.SpanKind, attributes []attribute.KeyValue) operation {
	ctx, span := r.tracer.Start(parent, name, oteltrace.WithTimestamp(r.last), oteltrace.WithSpanKind(kind), oteltrace.WithAttributes(attributes...))
	return operation{ctx, span, r.last}
}

// close ends the span of an operation. It returns its duration.
func (r *run) close(o *operation) time.Duration {
	o.span.End(oteltrace.WithTimestamp(r.last))
	return r.last.Sub(o.begun)
}

// failed sets the status of a span to an error. The message is content.
func (r *run) failed(o *operation, kind, message string) attribute.KeyValue {
	if r.cfg.Content == ContentOff {
		message = ""
	}
	o.span.SetStatus(codes.Error, strings.ToValidUTF8(message, "\uFFFD"))
	a := attribute.String("error.type", kind)
	o.span.SetAttributes(a)
	return a
}

func (r *run) request(p trace.Purpose) *request {
	q := r.requests[p]
	if q == nil {
		q = &request{}
		r.requests[p] = q
	}
	return q
}

// reasoningLevel is the attribute with the reasoning effort.
const reasoningLevel = "gen_ai.request.reasoning.level"

// configure keeps the attributes of the next requests for a purpose.
func (r *run) configure(p trace.Purpose, c *trace.ModelConfig) {
	q := r.request(p)
	q.model = c.Model
	s := &c.Settings
	q.config = words(reasoningLevel, s.ReasoningEffort)
	if s.MaxTokens != 0 {
		q.config = append(q.config, attribute.Int("gen_ai.request.max_tokens", s.MaxTokens))
	}
	if s.Temperature != nil {
		q.config = append(q.config, attribute.Float64("gen_ai.request.temperature", *s.Temperature))
	}
	if s.TopP != nil {
		q.config = append(q.config, attribute.Float64("gen_ai.request.top_p", *s.TopP))
	}
	if s.Seed != nil {
		q.config = append(q.config, attribute.Int64("gen_ai.request.seed", *s.Seed))
	}
	if len(s.StopSequences) > 0 {
		q.config = append(q.config, attribute.StringSlice("gen_ai.request.stop_sequences", validTexts(s.StopSequences)))
	}
	if s.OutputSchema != nil {
		q.config = append(q.config, attribute.String("gen_ai.output.type", "json"))
	}
	if q.content = nil; r.records() {
		q.content = r.cfg.Content.configuration(c)
	}
}

// records reports whether the spans of the run have content.
func (r *run) records() bool { return r.cfg.Content != ContentOff && r.span.IsRecording() }

func (r *run) beginModelCall(ev *trace.Event, body *trace.ModelRequest) {
	q := r.request(ev.Purpose)
	isFirst := ev.Purpose == trace.PurposeAnswer && !q.hasRequest
	q.hasRequest = true
	attributes := words("gen_ai.operation.name", "chat", "gen_ai.provider.name", r.cfg.Provider, "gen_ai.request.model", q.model,
		"gen_ai.agent.name", r.cfg.Agent, "looptape.purpose", word(string(ev.Purpose)))
	attributes = append(attributes, attribute.Int("looptape.step", ev.Step), attribute.Int("looptape.attempt", ev.Attempt))
	if r.retryWait > 0 {
		attributes = append(attributes, attribute.Float64("looptape.retry.wait", r.retryWait.Seconds()))
		r.retryWait = 0
	}
	attributes = append(attributes, q.config...)
	if isFirst {
		r.span.SetAttributes(words("gen_ai.request.model", q.model)...)
		for _, a := range q.config {
			if a.Key != reasoningLevel { // which the conventions have for model calls only
				r.span.SetAttributes(a)
			}
		}
	}
	if r.records() {
		keep := max(0, min(body.PrefixMessages, len(q.messages)))
		q.messages = append(q.messages[:keep:keep], r.cfg.Content.messages(body.NewMessages)...)
		content := append(q.content[:len(q.content):len(q.content)], r.cfg.Content.list(inputMessages, q.messages))
		attributes = append(attributes, content...)
		if isFirst {
			r.span.SetAttributes(content...)
		}
	}
	r.inferenceCalls++
	r.chat = &modelCall{purpose: ev.Purpose, model: q.model, operation: r.open(r.ctx, spanName("chat", q.model), oteltrace.SpanKindClient, attributes)}
	r.enter(r.chat.span)
}

// endModelCall ends the model call under way. A failed one has no response but its usage: the part of a
// response that came is in no later request, and readers would take it for a response.
func (r *run) endModelCall(body *trace.ModelResponse, failed *trace.ModelError) {
	c := r.chat
	r.chat = nil
	r.enter(r.span)
	measured := words("gen_ai.operation.name", "chat", "gen_ai.provider.name", r.cfg.Provider, "gen_ai.request.model", c.model, "gen_ai.response.model", body.Model)
	attributes := append(words("gen_ai.response.model", body.Model, "gen_ai.response.id", body.ResponseID), usage(body.Usage)...)
	if r.isStreaming || c.isChunked && !r.isNonStreaming {
		attributes = append(attributes, attribute.Bool("gen_ai.request.stream", true))
		if c.isChunked {
			attributes = append(attributes, attribute.Float64("gen_ai.response.time_to_first_chunk", c.firstChunk.Seconds()))
			record(c.ctx, r.metrics.firstChunk, c.firstChunk, measured)
		}
	}
	r.metrics.usage(c.ctx, body.Usage, measured)
	if failed != nil {
		measured = append(measured, r.failed(&c.operation, errorType(&failed.Error), failed.Error.Message))
	} else {
		reason := finishReason(body.FinishReason, body.RawFinishReason)
		attributes = append(attributes, attribute.StringSlice("gen_ai.response.finish_reasons", []string{reason}))
		if r.records() {
			attributes = append(attributes, r.cfg.Content.output(body.Message, reason))
		}
	}
	c.span.SetAttributes(attributes...)
	record(c.ctx, r.metrics.modelCall, r.close(&c.operation), measured)
}

func (r *run) beginTool(ev *trace.Event, id, name, arguments string) *toolCall {
	attributes := words("gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", name, "gen_ai.tool.call.id", id, "gen_ai.tool.type", "function",
		"gen_ai.agent.name", r.cfg.Agent)
	if ev.Step != trace.NoStep {
		attributes = append(attributes, attribute.Int("looptape.step", ev.Step))
	}
	if arguments != "" {
		attributes = append(attributes, r.arguments(arguments)...)
	}
	c := &toolCall{id: id, name: name, operation: r.open(r.ctx, spanName("execute_tool", name), oteltrace.SpanKindInternal, attributes)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tools = append(r.tools, c)
	return c
}

// arguments returns the attribute with the arguments of a tool call, if it is requested.
func (r *run) arguments(arguments string) []attribute.KeyValue {
	if !r.records() {
		return nil
	}
	return []attribute.KeyValue{r.cfg.Content.attribute("gen_ai.tool.call.arguments", r.cfg.Content.embed(arguments))}
}

// endTool ends a tool call. Kind is the type of its error, if it has one.
func (r *run) endTool(c *toolCall, result *llm.ToolResult, outcome, kind string) {
	r.mu.Lock()
	r.tools = slices.DeleteFunc(r.tools, func(other *toolCall) bool { return other == c })
	r.mu.Unlock()
	measured := words("gen_ai.tool.name", c.name, "gen_ai.tool.type", "function", "gen_ai.agent.name", r.cfg.Agent)
	c.span.SetAttributes(words("looptape.tool.outcome", word(outcome))...)
	isError := result.IsError
	switch trace.Outcome(outcome) {
	case "", trace.OutcomeOK, trace.OutcomeNotRun:
		kind = string(trace.OutcomeError)
	case trace.OutcomeError, trace.OutcomePanic, trace.OutcomeTimeout, trace.OutcomeCanceled:
		isError = true // also in a trace that omits the flag of the result
	default:
	}
	switch {
	case isError:
		measured = append(measured, r.failed(&c.operation, word(kind), result.Text()))
	case r.records():
		c.span.SetAttributes(r.cfg.Content.attribute("gen_ai.tool.call.result", r.cfg.Content.resultValue(result)))
	}
	if d := r.close(&c.operation); outcome != skipped {
		record(c.ctx, r.metrics.toolCall, d, measured)
	}
}

// end ends the run. Operations that have not ended have the same error.
func (r *run) end(body *trace.RunEnd) {
	if r.ended {
		return
	}
	r.ended = true
	incomplete := trace.Error{Type: "incomplete"}
	if r.chat != nil {
		r.endModelCall(&trace.ModelResponse{}, &trace.ModelError{Error: incomplete})
	}
	r.mu.Lock()
	open := r.tools
	r.tools = nil
	r.mu.Unlock()
	for _, c := range open {
		r.failed(&c.operation, incomplete.Type, "")
		r.close(&c.operation)
	}
	attributes := append(words("looptape.stop_reason", word(string(body.StopReason))), usage(body.Usage)...)
	measured := r.agentAttributes
	if body.Error != nil {
		measured = append(measured[:len(measured):len(measured)], r.failed(&r.operation, errorType(body.Error), body.Error.Message))
	}
	if r.answer.Parts != nil {
		reason := finishReason(r.answerReason, "")
		attributes = append(attributes, attribute.StringSlice("gen_ai.response.finish_reasons", []string{reason}))
		if r.records() {
			attributes = append(attributes, r.cfg.Content.output(r.answer, reason))
		}
	}
	r.span.SetAttributes(attributes...)
	r.metrics.inferenceCalls.Record(r.ctx, r.inferenceCalls, metric.WithAttributes(r.agentAttributes...))
	r.metrics.toolCalls.Record(r.ctx, r.toolCalls, metric.WithAttributes(r.agentAttributes...))
	record(r.ctx, r.metrics.agentRun, r.close(&r.operation), measured)
	r.requests, r.answer = nil, llm.Message{} // an exported trace may have many runs
}

// tool returns the call that runs with an id; nil if there is none. Of several it is the one that began last.
func (r *run) tool(id string) *toolCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range slices.Backward(r.tools) {
		if c.id == id {
			return c
		}
	}
	return nil
}

// toolOfResult returns the call that ends with a result; nil if there is none. Of several with the id, it is the
// first one of that name, or otherwise the first one.
func (r *run) toolOfResult(id, name string) (first *toolCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.tools {
		switch {
		case c.id != id:
		case c.name == name:
			return c
		case first == nil:
			first = c
		}
	}
	return first
}

// toolContext returns the context with the span of a call that runs; nil if it does not.
func (r *run) toolContext(id string) context.Context {
	if c := r.tool(id); c != nil {
		return c.ctx
	}
	return nil
}

// start is the Start hook. The span of its context is that of the model call under way, otherwise that
// of the run.
func (r *run) start(ctx context.Context) (context.Context, error) {
	r.base.Store(&ctx)
	r.enter(r.span)
	return &runContext{ctx, &r.current}, nil
}

// enter makes a span the one of the context that start returned.
func (r *run) enter(span oteltrace.Span) {
	if base := r.base.Load(); base != nil {
		ctx := oteltrace.ContextWithSpan(*base, span)
		r.current.Store(&ctx)
	}
}

// wrapTool is the WrapTool hook. The span of the context of a tool is that of its call.
func (r *run) wrapTool(next loop.ToolFunc) loop.ToolFunc {
	return func(ctx context.Context, call loop.Call) (loop.Output, error) {
		if c := r.tool(call.ID); c != nil {
			ctx = oteltrace.ContextWithSpan(ctx, c.span)
		}
		return next(ctx, call)
	}
}

// runContext is a context whose values are those of another one, which changes.
type runContext struct {
	context.Context

	values *atomic.Pointer[context.Context]
}

// Value implements [context.Context].
func (c *runContext) Value(key any) any { return (*c.values.Load()).Value(key) }

// spanName returns the name of a span by the conventions.
func spanName(operation, of string) string {
	return strings.ToValidUTF8(strings.TrimSuffix(operation+" "+of, " "), "\uFFFD")
}

// words returns attributes of pairs of names and texts. It omits those that are empty.
func words(pairs ...string) (list []attribute.KeyValue) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, attribute.String(pairs[i], strings.ToValidUTF8(pairs[i+1], "\uFFFD")))
		}
	}
	return list
}

func validTexts(list []string) []string {
	valid := make([]string, len(list))
	for i, text := range list {
		valid[i] = strings.ToValidUTF8(text, "\uFFFD")
	}
	return valid
}

// usage returns the counts of tokens that a provider sent.
func usage(u llm.Usage) (list []attribute.KeyValue) {
	count := func(name string, n int64) {
		if n > 0 {
			list = append(list, attribute.Int64("gen_ai.usage."+name, n))
		}
	}
	count("input_tokens", u.InputTokens)
	count("output_tokens", u.OutputTokens)
	count("cache_read.input_tokens", u.CacheReadInputTokens)
	count("cache_creation.input_tokens", u.CacheCreationInputTokens)
	count("reasoning.output_tokens", u.ReasoningOutputTokens)
	return list
}

// finishReason returns a finish reason by the conventions.
func finishReason(reason llm.FinishReason, raw string) string {
	switch {
	case reason == llm.FinishToolCalls:
		return "tool_call"
	case (reason == "" || reason == llm.FinishUnknown) && raw != "":
		return word(raw)
	}
	return word(cmp.Or(string(reason), string(llm.FinishUnknown)))
}

// errorType returns the code of the provider, the status, or the type of an error.
func errorType(e *trace.Error) string {
	switch {
	case isWord.MatchString(e.Code):
		return e.Code
	case e.Status != 0:
		return strconv.Itoa(e.Status)
	}
	return word(e.Type)
}

// isWord matches texts that are no content.
var isWord = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// word returns a short name, or the fallback value of the conventions for any other text. It keeps the
// empty text.
func word(text string) string {
	if text == "" || isWord.MatchString(text) {
		return text
	}
	return "_OTHER"
}
