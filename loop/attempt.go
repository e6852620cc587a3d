package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// try is what has come of a step's model calls for one purpose.
type try struct {
	purpose trace.Purpose
	n       int // tries of the call under way
	retries int
	err     error // of the last try, if it may be tried again
	cause   string
	after   time.Duration // what the provider asks to wait
	at      time.Time
}

// failed takes a failed attempt. It may be tried again if the failure may pass,
// nothing of the answer was passed on, and Retry.Max, if set, is not reached.
func (t *try) failed(call *ModelCall, err error, facts trace.Error, cfg *Config) {
	call.again = facts.Retryable && !call.Partial && (cfg.Retry.Max == 0 || t.retries < cfg.Retry.Max)
	if call.again {
		t.err, t.cause, t.after, t.at = err, facts.Message, facts.RetryAfter, cfg.Clock.Now()
	}
}

// mayCall reports why no model call may start.
func (r *run) mayCall(call *ModelCall) error {
	if r.ended(call.Step) {
		return context.Cause(r.ctx)
	}
	if r.spent() { // a policy calls again, or for a purpose of its own
		return ErrBudget
	}
	return nil
}

// attempt tells what a model call is: a first one, or the retry of one that
// failed, whoever wants it. It is the one place where retries are recorded and
// waited for. A call for the answer that is neither, since an answer was given or
// the failure was for good, is recorded as a repair.
func (r *run) attempt(ctx context.Context, call *ModelCall) (*try, error) {
	wait := call.wait
	call.wait = 0
	t := r.try(call.Purpose)
	if t.n > 0 && t.err == nil && call.Purpose == trace.PurposeAnswer {
		call.Purpose = trace.PurposeRepair
		t = r.try(call.Purpose)
	}
	if t.err == nil {
		*t = try{purpose: t.purpose}
	} else if err := r.retry(ctx, call, t, wait); err != nil {
		return nil, err
	}
	t.n++
	call.Attempt = t.n
	return t, nil
}

// retry waits as long as the policy and the provider want, from the failure on.
func (r *run) retry(ctx context.Context, call *ModelCall, t *try, wait time.Duration) error {
	left := max(wait, t.after-since(r.cfg.Clock, t.at))
	if limit := r.cfg.Retry.MaxWait; left > limit {
		return fmt.Errorf("not retried, since the provider asks to wait %v, longer than Retry.MaxWait (%v): %w", t.after, limit, t.err)
	}
	call.Attempt = t.n
	r.note(call, trace.ModelRetry{Wait: max(wait, t.after), Reason: t.cause})
	t.retries++
	t.err = nil
	if err := r.cfg.Clock.Sleep(ctx, left); err != nil {
		r.ended(call.Step)
		return err
	}
	return r.mayCall(call) // a wrap may have given another context
}

// try finds the calls of a purpose in this step.
func (r *run) try(p trace.Purpose) *try {
	for i := range r.tries {
		if t := &r.tries[i]; t.purpose == p {
			return t
		}
	}
	r.tries = append(r.tries, try{purpose: p})
	return &r.tries[len(r.tries)-1]
}

// follow looks at the messages of a request that a policy's wrap may have put in
// the place of the history's. Others must be fit to send; for the answer, they
// are a rewrite, and so is the way back from them. Only a retry with the same
// messages is none: the next step's would otherwise have followed what came between.
func (r *run) follow(call *ModelCall) error {
	list, answer := call.Request.Messages, call.Purpose == trace.PurposeAnswer
	own := sameList(list, r.history[:r.sent])
	if !own {
		if err := checkOwnHistory(r.hooks.wrapper(), list); err != nil {
			return err
		}
		r.ids.takeAll(list)
	}
	if !answer || own && r.strayed == nil || r.strayed != nil && r.strayAt == r.step && sameList(list, *r.strayed) {
		return nil
	}
	r.emit(call.Step, trace.HistoryRewrite{Reason: "middleware", By: r.hooks.wrapper()})
	r.strayed = nil
	if !own {
		other := list // so that list need not be on the heap
		r.strayed, r.strayAt = &other, r.step
	}
	return nil
}

// offers looks at the tools of a request that policies may have put in the place
// of the run's.
func (r *run) offers(req *llm.Request) error {
	if len(req.Tools) == 0 || len(req.Tools) == len(r.defs) && &req.Tools[0] == &r.defs[0] {
		return nil
	}
	for i, t := range req.Tools {
		twice := slices.ContainsFunc(req.Tools[:i], func(o llm.Tool) bool { return o.Name == t.Name })
		problem := ""
		switch {
		case t.Name == "":
			problem = "has no name"
		case twice:
			problem = fmt.Sprintf("has the name %q, as one before it; take one of them out", t.Name)
		case t.Parameters != nil && !jsonio.IsObject(jsonio.View(t.Parameters)):
			problem = fmt.Sprintf("(%q) has Parameters that are not a JSON object", t.Name)
		default:
			continue
		}
		who := cmp.Or(strings.Join(r.hooks.wrappers, ", "), "(before the step)") // without a wrap, only there
		return &MiddlewareError{who, fmt.Errorf("its request cannot be sent: Tools[%d] %s", i, problem)}
	}
	return nil
}

// withoutTools is the request of a forced last answer, which offers none.
func withoutTools(req *llm.Request) *llm.Request {
	if len(req.Tools) == 0 {
		return req
	}
	out := *req
	out.Tools, out.ToolChoice = nil, llm.ToolChoice{}
	return &out
}

func sameList(a, b []llm.Message) bool {
	return len(a) == len(b) && commonPrefix(a, b) == len(a)
}
