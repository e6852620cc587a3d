package agentloop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/looptape/looptape/internal/responsehook"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/internal/dialect"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

type run struct {
	*Loop
	id        string
	in        Input
	input     []llm.Message // input that the history does not contain yet
	opts      Options
	began     time.Time
	kernel    *loop.Run
	report    *Report
	response  Response // the response so far
	reason    string   // reason of the guardrail that triggered
	tripped   bool
	unchecked bool // true if the guardrails of the output have not finished with the response

	marks     bool           // the system prompt has a cache mark
	resumes   []llm.ToolCall // calls to run first, until the history has their results
	response0 int            // the index of their response in the history
	added     int            // Loop.added at the last tools that were sent
	splices   int            // splices of the history when the kernel last had all of it,
	known     int            // and the number of its messages at that time
	latency   time.Duration
	notes     map[string]*note

	step    int       // the current step,
	attempt int       // the number of its model calls,
	failed  time.Time // and the time at which the last one failed

	mu      sync.Mutex
	stopped bool
	abort   context.CancelCauseFunc // ends the current model call
}

// note is what the hooks have reported about a call.
type note struct {
	latency time.Duration
	metrics map[string]middleware.Metric
	skipped bool
	err     error
}

// begin begins a run in the order of the reference loop.
func (l *Loop) begin(ctx context.Context, in Input, opts *Options, delivery llm.ResponseMode) (*run, error) {
	r := &run{Loop: l, in: in, input: in.messages(), notes: map[string]*note{}, opts: *cmp.Or(opts, &Options{})}
	l.mu.Lock()
	l.current = cmp.Or(l.current, r)
	busy := l.current != r
	l.mu.Unlock()
	if busy {
		return nil, ErrRunning
	}
	defer func() {
		if r.kernel == nil { // also after a panic in caller code
			r.release(nil)
		}
	}()
	if err := r.prepare(ctx, delivery); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *run) prepare(ctx context.Context, delivery llm.ResponseMode) (err error) {
	settings := r.cfg.Settings
	if r.opts.Cache != nil {
		settings.Cache = r.opts.Cache
	}
	if r.marks, err = settings.marksCache(); err != nil {
		return err
	}
	if f := r.cfg.SystemFunc; f != nil {
		text, err := f(ctx)
		if err != nil {
			return fmt.Errorf("agentloop: the system prompt: %w", err)
		}
		r.setSystem(text)
	}
	r.id = r.newID()
	r.began = r.clock.Now()
	r.report = &Report{ID: r.id, Model: r.cfg.Model, StartedAt: r.began.UnixMilli(), UserMessage: r.in, Steps: []StepReport{}}
	if err := r.emitStep(ctx, OnRunStart, 0, r.in); err != nil {
		return err
	}
	if err := r.takePending(); err != nil {
		return err
	}
	return r.start(ctx, delivery)
}

// takePending appends the input to the history. Calls without results come first: they run
// again if they wait for a decision, unless they are dropped, and all others get an error
// result.
func (r *run) takePending() error {
	response, open := r.history.Open()
	waits := slices.ContainsFunc(open, func(c llm.ToolCall) bool { return r.approvals.Has(c.ID) })
	switch {
	case len(open) == 0:
	case waits && r.cfg.DropPending && len(r.input) > 0:
		if _, err := r.history.SpliceRange(response, r.history.Len(), r.input[0]); err != nil {
			return err
		}
		r.input = r.input[1:]
		for _, c := range open {
			r.approvals.Delete(c.ID)
		}
	case waits:
		r.resumes, r.response0 = open, response
		return nil
	default:
		text := []llm.Part{llm.Text{Text: "the run ended before this call had a result"}}
		results := make([]llm.ToolResult, len(open))
		for i, c := range open {
			results[i] = llm.ToolResult{ID: c.ID, Name: c.Name, IsError: true, Content: text}
		}
		r.history.Append(llm.ToolResults(results...), history.Meta{})
		r.joinResults(response)
	}
	for _, m := range r.input {
		r.history.Append(m, history.Meta{})
	}
	r.input = nil
	return nil
}

func (r *run) start(ctx context.Context, delivery llm.ResponseMode) error {
	tools, added := r.toolsNow()
	r.added, r.splices = added, r.history.Splices()
	in := loop.Input{ID: r.id, Messages: r.history.Messages()}
	r.known = len(in.Messages)
	cfg := r.kernelConfig(tools)
	cfg.ResponseMode, cfg.OnStep = delivery, r.onStep
	own := r.cfg.Settings
	cfg.Settings = llm.Settings{
		MaxTokens: cmp.Or(r.opts.MaxTokens, own.MaxTokens), Temperature: cmp.Or(r.opts.Temperature, own.Temperature),
		ReasoningEffort: cmp.Or(r.opts.Thinking, own.Thinking),
	}
	cfg.Middleware = r.middleware()
	agent, err := loop.New(llm.ModelFunc(r.callModel), cfg)
	if err != nil {
		return err
	}
	if r.resumes != nil {
		in.Resume = &loop.Resume{Of: r.suspended, Then: r.input}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kernel = agent.Start(ctx, in)
	if r.stopped {
		r.kernel.Stop()
	}
	return nil
}

func (r *run) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	if r.kernel != nil {
		r.kernel.Stop()
	}
	if r.abort != nil {
		r.abort(ErrStopped)
	}
}

// release lets the next run begin and stores the report of this run.
func (r *run) release(report *Report) {
	r.Loop.mu.Lock()
	defer r.Loop.mu.Unlock()
	if report != nil {
		r.reports = append(r.reports, report)
	}
	r.current = nil
}

// ended finishes the run after look, which executes it, even if look panics or exits.
func (r *run) ended(ctx context.Context, look func()) (response *Response, err error) {
	defer func() {
		res, failure := r.kernel.Wait()
		response, err = r.finish(ctx, res, failure)
	}()
	look()
	return nil, nil
}

// finish stores the report, lets the next run begin and emits onRunComplete.
func (r *run) finish(ctx context.Context, res *loop.Result, err error) (*Response, error) {
	now := r.clock.Now()
	out, rep := &r.response, r.report
	if res.StopReason == trace.ReasonApproval {
		r.suspended = r.id
	}
	out.Usage, out.Reason, out.Err = res.Usage, reasonOf(res.StopReason, err), err
	r.mu.Lock()
	stopped := r.stopped
	r.mu.Unlock()
	if errors.Is(err, loop.ErrIterationStopped) || stopped && errors.Is(err, context.Canceled) {
		out.Reason, out.Err = Stopped, nil
	}
	if err != nil && r.unchecked {
		out.Content = nil
	}
	if r.tripped {
		out.Content = []llm.Part{llm.Text{Text: r.reason}}
	}
	rep.Reason, rep.FinalText, rep.TotalUsage = out.Reason, out.Text(), usageOf(res.Usage)
	rep.CompletedAt, rep.TotalMs = now.UnixMilli(), dialect.Milliseconds(now.Sub(r.began))
	rep.ModelCalls, rep.StepCount = res.ModelCalls, res.ToolSteps
	if out.Err != nil {
		rep.Error = out.Err.Error()
	}
	r.release(rep)
	err = r.emitStep(context.WithoutCancel(ctx), OnRunComplete, 0, rep)
	if r.cfg.Reject {
		err = errors.Join(out.Err, err)
	}
	return out, err
}

// callModel calls the model with the conversation id, until the agent or the signal stops it.
func (r *run) callModel(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(context.WithValue(ctx, conversationKey{}, r.ID()))
		defer cancel(nil)
		if signal := r.opts.Signal; signal != nil {
			defer context.AfterFunc(signal, func() { cancel(context.Cause(signal)) })()
			if signal.Err() != nil {
				cancel(context.Cause(signal))
			}
		} else {
			r.setAbort(cancel)
			defer r.setAbort(nil)
		}
		c := modelCall{run: r, cancel: cancel}
		c.ctx = responsehook.With(ctx, c.responded)
		if err := c.begin(req); err != nil {
			yield(nil, err)
			return
		}
		for ev, err := range r.model.Stream(c.ctx, req) {
			if err = c.event(ev, err); !yield(ev, err) || err != nil {
				return
			}
		}
		err := c.failure
		if err == nil {
			err = c.emit(OnModelResponse, r.clock.Now().Sub(c.began), &c.response)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// modelCall emits the events of a call of the client.
type modelCall struct {
	*run
	ctx      context.Context
	cancel   context.CancelCauseFunc
	began    time.Time
	status   int   // of the HTTP response
	started  bool  // the response has begun, or is not streaming
	failure  error // of a subscriber, when the response began
	response Response
}

func (c *modelCall) emit(name string, took time.Duration, data any) error {
	named, _ := c.model.(interface{ Provider() string })
	ev := Event{Name: name, Run: c.id, Step: c.step, Attempt: c.attempt, Status: c.status, Time: took, Data: data}
	if named != nil {
		ev.Provider = named.Provider()
	}
	return c.Loop.emit(c.ctx, ev)
}

func (c *modelCall) begin(req *llm.Request) error {
	c.attempt++
	if c.attempt > 1 {
		if err := c.emit(OnModelRetry, c.clock.Now().Sub(c.failed), nil); err != nil {
			return err
		}
	}
	c.began, c.response.Model, c.started = c.clock.Now(), req.Model, req.ResponseMode == llm.NonStreaming
	return c.emit(OnModelRequest, 0, req)
}

// event returns the error of an item of the stream, or that of a subscriber.
func (c *modelCall) event(ev llm.Event, err error) error {
	if c.failure != nil {
		return c.failure
	}
	if err != nil {
		c.failed = c.clock.Now()
		if api, ok := errors.AsType[*llm.APIError](err); ok {
			c.status = cmp.Or(api.Status, c.status)
		}
		return cmp.Or(c.emit(OnModelError, c.failed.Sub(c.began), err), err)
	}
	switch e := ev.(type) {
	case llm.Usage:
		c.response.Usage = c.response.Usage.Update(e)
	case llm.Finish:
		c.response.Model, c.response.FinishReason = cmp.Or(e.Model, c.response.Model), e.Reason
	default:
	}
	c.start()
	return c.failure
}

// responded is called when the header of an HTTP response has arrived.
func (c *modelCall) responded(status int) {
	if c.status = status; status >= 200 && status <= 299 {
		c.start()
	}
}

// start reports that a streaming response begins, once. An error of a subscriber ends the call.
func (c *modelCall) start() {
	if !c.started {
		c.started = true
		if c.failure = c.emit(OnModelStart, c.clock.Now().Sub(c.began), nil); c.failure != nil {
			c.cancel(c.failure)
		}
	}
}

func (r *run) setAbort(f context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abort = f
	if f != nil && r.stopped {
		f(ErrStopped)
	}
}

type conversationKey struct{}

// ConversationID returns the conversation id from the context of a model call.
func ConversationID(ctx context.Context) (id string, ok bool) {
	id, ok = ctx.Value(conversationKey{}).(string)
	return id, ok
}
